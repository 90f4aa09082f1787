// Package learner is the mathematics of p2pnode: losses, local fits and the agents that
// learn together. An [Agent] is a pure state machine: values in, values out, no clock,
// no goroutine, no IO. A driver (the node over libp2p, or the simulator under virtual
// time) calls it and carries out what it asks for.
//
// Notation follows Bellet, Guerraoui, Taziki, Tommasi, "Personalized and Private
// Peer-to-Peer Machine Learning" (AISTATS 2018): n agents, agent i holds m_i records,
// W_ij are edge weights, D_i = sum_j W_ij, mu trades the neighbours' models against the
// local data, c_i is the confidence.
package learner

import (
	"errors"
	"slices"
	"time"

	"p2pnode/privacy"
)

// ID names an agent. It is opaque to this package; the network edge supplies
// the peer ID.
type ID string

// Seq is the arrival number of a record on its device. It starts at 1 and no number is
// used twice. 0: the record is not stored, as one that was just encoded.
type Seq uint64

// Kind says what a message carries.
type Kind uint8

// The kinds of messages.
const (
	KindModel    Kind = 1 // a shared model, broadcast to every neighbour
	KindAck      Kind = 2 // to one neighbour: the sender heard its model of this round
	KindGradient Kind = 3 // polar, client to one server: an obfuscated gradient
	KindMask     Kind = 4 // polar, server to one server: the masks it must take off
	KindMasked   Kind = 5 // polar, server to one server: a masked state
)

// Directed reports whether messages of this kind go to one peer. It is false for models
// and for values that are no kind.
func (k Kind) Directed() bool { return k >= KindAck && k <= KindMasked }

// Message is what one agent sends to others. Its identity is (From, Kind, Round): a
// second request gets the same bytes.
type Message struct {
	From, To ID     // To == "" is a broadcast; else an encrypted stream to one peer
	Kind     Kind   // says what Real or Ring holds
	Round    uint64 // strictly increasing per From and Kind (and To), starting at 1
	Attempt  uint32 // the attempt at masking this round, from 0; there is one release a round all the same
	Degree   int    // in rounds: the number of the sender's neighbours, for Metropolis weights
	// NoiseStd is the standard deviation of the privacy noise in each coordinate of
	// Real. It is public: it follows from the mechanism and from what the sender
	// received, never from the records.
	NoiseStd float64
	// Real must not change, once it was returned, while anybody can still look at it: a
	// neighbour may hold the newest one, and so does the agent that sent it. See
	// [Workspace].
	Real []float64
	Ring []uint64 // or elements of Z_2^64: shares and masks
}

// Record is one labelled example. X is already encoded by [Task.Encode]: its length is
// [Task.Width] and its l2 norm is at most [Task.FeatureNorm]. Y is already clamped to
// the task's range and centred, or it is the number of a class.
type Record struct {
	Seq    Seq
	Cohort privacy.Cohort
	X      []float64 // immutable
	Y      float64
	// Key names the thing that the record is about, if the task has a feature of the
	// kind "key"; see [Task.Encode]. 0: none.
	Key uint64
	// Cells holds the cells that the record was made from, on their way to the store. A
	// record read from the store has none, so memory holds only what the agent learns
	// from.
	Cells Cells
}

// Fold is of how many records, in order of arrival, one is held out.
const Fold = 5

// HeldOut reports whether the record is kept from training, so that the report to the
// owner can be measured on it: every fifth record in order of arrival. The rule looks
// at the arrival number only, so it says nothing about the record's content. A record
// that is not stored has no number, 0, and is not held out.
func (s Seq) HeldOut() bool { return s > 0 && s%Fold == 0 }

// Edge is a symmetric link of the similarity graph, as one of its ends sees it.
type Edge struct {
	Peer   ID
	Weight float64 // W_ij > 0, the same number at both ends
	Live   bool    // the peer listens now; an agent without a live edge releases nothing
}

// Query asks the door for a release: one clipped, quantised sum per cohort.
type Query struct {
	Round     uint64
	Mechanism privacy.Mechanism
	Sums      []privacy.Sum
	// Passes is how many gradients of every record the sums took, which follows from
	// public values only; 0 counts as 1. With the number of slots and coordinates it
	// says how much work the release was. The driver sends the release at a time
	// computed from that, so the sending time does not tell how long the work took.
	Passes int
}

// Output is what an agent wants done after an input. The driver sends Send in order,
// passes Ask to the door, hands the door's answer to Released, and sets its one timer
// to Next.
type Output struct {
	Send []Message
	Ask  *Query
	Next time.Duration // absolute, on the clock of now; Never disarms the timer
}

// Never is the Next of an agent that waits only for messages.
const Never = time.Duration(1<<63 - 1)

// The errors of [Agent.Receive]. The driver counts them and drops the message.
var (
	ErrStranger = errors.New("learner: message from an agent that is not a neighbour")
	ErrStale    = errors.New("learner: message of a round already heard")
	ErrShape    = errors.New("learner: message of the wrong kind or dimension, or with a number that none has")
)

// Agent is one participant's learning algorithm. All methods must be called
// from one goroutine. The sequence of calls with their arguments is the trace
// of the agent; the same trace on an agent constructed alike gives bit-identical
// state, on the same binary.
type Agent interface {
	// Neighbours replaces the agent's edges. The agent forgets the models of peers that
	// are no longer neighbours.
	Neighbours(now time.Duration, edges []Edge) Output
	// Records adds and drops training records, after they were made durable. Added
	// records come in order of arrival; held-out ones are ignored. A dropped record
	// keeps its slot (m does not change) but no longer contributes; after a restart it
	// is added with a nil X. If a record does not fit the task, Records returns an
	// error and changes nothing.
	Records(add []Record, drop []Seq) error
	// Receive takes a neighbour's message. If it returns ErrStranger, ErrStale or
	// ErrShape, it has changed nothing.
	Receive(now time.Duration, m Message) (Output, error)
	// Tick is called when the clock reaches Output.Next.
	Tick(now time.Duration) Output
	// Released hands over the door's answer to the pending Query.
	Released(now time.Duration, a privacy.Answer) Output
	// State returns a copy of everything the agent needs to go on after a restart.
	// Nothing in it is private: no records, no noise.
	State() State
}

// State is the durable, public part of an agent.
type State struct {
	Round    uint64    // number of the last release; 0 before the first
	Model    Vector    // the shared model, length Task.Dimension
	NoiseStd float64   // of the noise in Model, per coordinate
	Heard    []Heard   // newest model of each neighbour, sorted by Peer
	Fit      *Fit      `json:",omitempty"` // learner "propagation": its one release
	Estimate *Estimate `json:",omitempty"` // under the graph rule "released"
	// For learners in rounds, counted over neighbours and rounds. Dropped: edges left
	// out because something did not arrive in time. Asymmetric: edges that one end used
	// and the other did not, as far as this agent was told.
	Dropped, Asymmetric uint64 `json:",omitempty"`
}

// Heard is the newest shared model received from a neighbour and, where there is noise, the
// mean of its models up to the agent's own last step.
type Heard struct {
	Peer     ID
	Weight   float64
	Round    uint64
	NoiseStd float64
	Model    Vector
	Mean     Vector `json:",omitempty"`
	Models   int    `json:",omitempty"` // how many are in Mean
}

// message is the message in which the model came, as far as it is known, with a copy of the
// model.
func (h *Heard) message() *Message {
	return &Message{From: h.Peer, Kind: KindModel, Round: h.Round, NoiseStd: h.NoiseStd, Real: slices.Clone(h.Model)}
}
