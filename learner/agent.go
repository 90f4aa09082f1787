// Package learner is the mathematics of p2pnode: losses, local fits and the
// agents that learn together. An [Agent] is a pure state machine: values in,
// values out, no clock, no goroutine, no IO. A driver (the node over libp2p, or
// the simulator under virtual time) feeds it and carries out what it asks.
//
// Notation follows Bellet, Guerraoui, Taziki, Tommasi, "Personalized and
// Private Peer-to-Peer Machine Learning" (AISTATS 2018): n agents, agent i
// holds m_i records, W_ij are edge weights, D_i = sum_j W_ij, mu trades the
// neighbours' models against the local data, c_i is the confidence.
package learner

import (
	"errors"
	"time"

	"p2pnode/privacy"
)

// ID names an agent. It is opaque to this package; the network edge supplies
// the peer ID.
type ID string

// Seq is the arrival number of a record on its device. It starts at 1 and is
// never used again.
type Seq uint64

// Kind says what a message carries.
type Kind uint8

// The kinds of messages.
const (
	KindModel    Kind = 1 // a shared model, broadcast to every neighbour
	KindAck      Kind = 2 // to one neighbour: its model of this round was heard
	KindGradient Kind = 3 // polar, client to one server: an obfuscated gradient
	KindMask     Kind = 4 // polar, server to one server: the masks it must take off
	KindMasked   Kind = 5 // polar, server to one server: a masked state
)

// Directed reports whether messages of the kind go to one peer. It is false for models
// and for what is no kind.
func (k Kind) Directed() bool { return k >= KindAck && k <= KindMasked }

// Message is what one agent says to others. Its identity is (From, Kind,
// Round): a second request gets the same bytes.
type Message struct {
	From, To ID     // To == "" is a broadcast; else an encrypted stream to one peer
	Kind     Kind   // what Real or Ring holds
	Round    uint64 // strictly increasing per From and Kind (and To), starting at 1
	Attempt  uint32 // of masking again, from 0; one release a round all the same
	Degree   int    // in rounds: how many neighbours the sender counts, for Metropolis weights
	// NoiseStd is the standard deviation of the privacy noise in each
	// coordinate of Real. It is public: it follows from the mechanism and from
	// what was received, never from the records.
	NoiseStd float64
	// Real is immutable once returned, as long as anybody can still look at it: the
	// newest one taken from each neighbour, and what the agent said last. See
	// [Workspace].
	Real []float64
	Ring []uint64 // or elements of Z_2^64: shares and masks
}

// Record is one labelled example. X is already encoded by [Task.Encode]: its
// length is [Task.Width] and its l2 norm is at most [Task.FeatureNorm].
// Y is already clamped to the task's range and centred, or the number of a class.
type Record struct {
	Seq    Seq
	Cohort privacy.Cohort
	X      []float64 // immutable
	Y      float64
	// Key is what the record is about, of tasks with a feature of the kind "key"; see
	// [Task.Encode]. 0: none.
	Key uint64
	// Cells is what the record was made from, on its way to the store; a record that
	// comes from there has none, so that memory holds what is learned from only.
	Cells Cells
}

// HeldOut reports whether the record is kept from training, for the report to
// the owner: every fifth in order of arrival. The rule looks at the arrival
// number only, so it says nothing about the record's content.
func (s Seq) HeldOut() bool { return s%5 == 0 }

// Edge is a symmetric link of the similarity graph, as one of its ends sees it.
type Edge struct {
	Peer   ID
	Weight float64 // W_ij > 0, the same number at both ends
	Live   bool    // the peer is listening now; with no live edge an agent releases nothing
}

// Query asks the door for a release: one clipped, quantised sum per cohort.
type Query struct {
	Round     uint64
	Mechanism privacy.Mechanism
	Sums      []privacy.Sum
	// Passes is how many gradients of every record the sums have taken, from public
	// things only; 0 counts as 1. With the number of slots and coordinates it says how
	// much work the release was, so that when it goes out need not tell how long it took.
	Passes int
}

// Output is what an agent wants done after an input. The driver sends Send in
// order, takes Ask to the door and hands the door's answer to Released, and
// re-arms its one timer to Next.
type Output struct {
	Send []Message
	Ask  *Query
	Next time.Duration // absolute, on the clock of now; Never disarms the timer
}

// Never is the Next of an agent that waits for nothing but messages.
const Never = time.Duration(1<<63 - 1)

// The errors of [Agent.Receive]. The driver counts them and drops the message.
var (
	ErrStranger = errors.New("learner: message from an agent that is not a neighbour")
	ErrStale    = errors.New("learner: message of a round already heard")
	ErrShape    = errors.New("learner: message of the wrong kind or dimension, or not finite")
)

// Agent is one participant's learning algorithm. All methods must be called
// from one goroutine. The sequence of calls with their arguments is the trace
// of the agent; the same trace on an agent constructed alike gives bit-identical
// state, on the same binary.
type Agent interface {
	// Neighbours replaces the agent's edges. Models heard from peers that are
	// no longer neighbours are forgotten.
	Neighbours(now time.Duration, edges []Edge) Output
	// Records adds and drops training records, after they were made durable.
	// Added records come in order of arrival; held-out ones are ignored. A
	// dropped record keeps its slot (m does not change) but no longer
	// contributes; after a restart it is added with a nil X. Records that do not
	// fit the task are an error, and then nothing is changed.
	Records(add []Record, drop []Seq) error
	// Receive takes a neighbour's message, or returns ErrStranger, ErrStale or
	// ErrShape and changes nothing.
	Receive(now time.Duration, m Message) (Output, error)
	// Tick is called when the clock reaches Output.Next.
	Tick(now time.Duration) Output
	// Released hands over the door's answer to the pending Query.
	Released(now time.Duration, a privacy.Answer) Output
	// State returns a copy of everything needed to go on after a restart, and
	// nothing private: no records, no noise.
	State() State
}

// State is the durable, public part of an agent.
type State struct {
	Round    uint64    // of the last release; 0 before the first
	Model    Vector    // the shared model, length Task.Dimension
	NoiseStd float64   // of Model, per coordinate
	Heard    []Heard   // newest model per neighbour, sorted by Peer
	Fit      *Fit      `json:",omitempty"` // learner "propagation": its one release
	Estimate *Estimate `json:",omitempty"` // under the graph rule "released"
	// Of learners in rounds, counted over neighbours and rounds: edges that were left
	// out because something did not arrive in time, and edges that one end used and
	// the other did not, as far as this agent was told.
	Dropped, Asymmetric uint64 `json:",omitempty"`
}

// Heard is the newest shared model received from a neighbour.
type Heard struct {
	Peer     ID
	Weight   float64
	Round    uint64
	NoiseStd float64
	Model    Vector
}
