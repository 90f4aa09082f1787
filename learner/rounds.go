package learner

import (
	"fmt"
	"math"
	"slices"
	"time"

	"p2pnode/privacy"
)

// Rounds holds what the agents of a learner in rounds agree on.
type Rounds struct {
	Count int `toml:"count"` // rounds in all; 0: as long as there is budget
	// Seconds is the longest duration of a round, at least 0.1. Once a neighbour has gone on to the
	// next round, half of that time is left, and a tenth once all have. A round ends at
	// once when all were heard, and soon when all but a third were. A node that starts,
	// or was cut off, listens for a tenth of Seconds before it begins a round that
	// nobody else has begun.
	Seconds float64 `toml:"seconds"`
	Step    float64 `toml:"step"` // the step size: mu of diffusion, g of km, a_0 of polar
}

const (
	maxRounds = math.MaxInt32 // bound on Rounds.Count, which is an int on 32-bit processors too
	lastRound = maxStep       // without Rounds.Count; rounds of a restored directory are far above it
)

// last is the number of the last possible round.
func (r Rounds) last() uint64 {
	if r.Count > 0 {
		return uint64(r.Count)
	}
	return lastRound
}

// seconds converts a time of the task to a duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// rounds checks the task's table "rounds", for learners that take it.
func (c *checker) rounds(t *Task) {
	c.check(t.Rounds.Count >= 0 && t.Rounds.Count <= maxRounds, "rounds.count", "must be between 0 and %d", maxRounds)
	c.check(t.Rounds.Seconds >= leastRound && t.Rounds.Seconds <= 1e7, "rounds.seconds", "must be between %v and 1e7", leastRound)
	c.positive("rounds.step", t.Rounds.Step)
}

// scheme is the part in which learners in rounds differ.
type scheme interface {
	// query returns what the next round releases, or nil if it has nothing that a
	// budget could pay for.
	query() *Query
	// released returns the model to publish, as a new slice, and the standard deviation
	// of the noise in it. The model is a public function of the answer, which is not
	// exhausted, and of what was published before; the scheme may keep a private state
	// beside it.
	released(a privacy.Answer) (model []float64, std float64)
	// refused reports whether the scheme can ask for a cheaper release after the door
	// refused one. If so, it is asked again; else the cohorts of the query are retired.
	refused() bool
	// combined takes note of the result of the round.
	combined(m mix)
}

// mix is the result of a round: the own weight a_kk, and the neighbours' part, sum over
// l != k of a_lk psi_l, with the standard deviation of the noise in it.
type mix struct {
	self   float64
	others []float64
	std    float64
}

// rounds is the part of an agent that keeps its neighbours and itself in step over a
// network that loses and delays messages. In round k an agent releases, broadcasts its
// model with the round and its degree, and acknowledges to each neighbour the model it
// heard from it. The round ends when all live neighbours were heard and have
// acknowledged, or at a public deadline, which moves closer once a neighbour has gone
// on; so agents that lost step catch up with the others. An edge counts in a round if
// both happened, so the ends of an edge that lost a message mostly agree that it does
// not count. They do not always agree, since the acknowledgement itself may be lost,
// and no number of further ones could mend that (it is the two generals' problem). Each
// acknowledgement therefore says whether its sender used the edge in the round before,
// and the agent counts the rounds in which the two ends differ.
//
// A third of the neighbours may lie about their round, or be silent; see [maxFaulty] and
// [progress]. When all but these were heard, the round ends as soon as the [gracePeriod] for
// the others is over, and the agent does not wait for those that were silent in the
// last round. An agent that hears of a later round than its next one from more than maxFaulty
// of its neighbours, and at least two, was away, and goes on there. If fewer say so, it
// believes them after a time that grows with how far ahead they are; and after the same
// time it goes on from a round that its neighbours have not come to. It spends no
// budget meanwhile. So an agent that believed the lie of its only neighbour waits for
// the others.
//
// The others let an agent into their present round as long as their own weights stay at
// least 0, which allows one agent at a time. An agent that has nothing to release,
// because it has no records or no budget, publishes the public mix, and begins a round
// only after a neighbour has; so the rounds end with the last budget.
type rounds struct {
	scheme   scheme
	task     *Task
	policy   privacy.Policy
	made     int // number of releases so far, for the policy
	training training
	hood     neighbourhood
	inboxes  map[ID]*inbox // one for each edge; looked up, never iterated

	round      uint64 // the last round begun
	asked      *Query // waiting for the door, for round beginning
	beginning  uint64
	collecting bool // the round is in progress
	deadline   time.Duration
	next       time.Duration // the time of the timer
	grace      gracePeriod
	since      time.Duration // when the agent began the round, or began to listen
	most       uint64        // progress.most, as it was last
	walked     uint64        // how often that has risen since
	mayBegin   time.Duration // when the agent may begin a round of its own accord; 0: see begin
	ended      time.Duration // when the last round ended
	ranks      []uint64      // working memory of progress
	scratch    []float64     // of taken
	degree     int           // as sent to the others
	members    int           // number of neighbours in the round, at most degree + 1

	published []float64 // the newest broadcast: immutable
	// model is public: the newest broadcast and, from the end of its round on, the mix
	// of all; immutable.
	model               []float64
	publishedStd, std   float64
	mixed               []float64 // the state that the newest broadcast went out from: immutable
	mixedStd            float64
	drawn               float64 // standard deviation of the noise that the last release added
	dropped, asymmetric uint64
}

// inbox holds one neighbour's messages for this round and for a later one.
type inbox struct {
	member    bool     // the edge is in the round
	now, next *Message // models; nil: none
	acked     bool
	silent    bool   // the edge did not count in the last round, and nothing has arrived since
	used      uint64 // the last round in which the edge counted at this end
}

func newRounds(c Config, s scheme) (rounds, error) {
	r := rounds{
		scheme: s, task: c.Task, policy: c.Policy, made: c.Made,
		hood: neighbourhood{self: c.Self}, inboxes: map[ID]*inbox{},
		model: make([]float64, c.Task.Dimension()), next: Never,
		grace: newGracePeriod(seconds(c.Task.Rounds.Seconds)), training: training{spent: c.Spent},
	}
	r.published = r.model
	if c.Resume == nil {
		return r, nil
	}
	last := c.Task.Rounds.last()
	if c.Resume.Round > last { // see [Task.Stranded]
		return r, fmt.Errorf("learner: round %d lies beyond the last, and nobody would follow there", c.Resume.Round)
	}
	for _, h := range c.Resume.Heard {
		if h.Round > last {
			return r, fmt.Errorf("learner: the saved model of %s is of round %d, which lies beyond the last", h.Peer, h.Round)
		}
	}
	r.model = slices.Clone(c.Resume.Model)
	r.published = r.model
	r.round, r.std, r.publishedStd = c.Resume.Round, c.Resume.NoiseStd, c.Resume.NoiseStd
	r.dropped, r.asymmetric = c.Resume.Dropped, c.Resume.Asymmetric
	if err := r.hood.resume(c.Resume.Heard, len(r.model)); err != nil {
		return r, err
	}
	r.renewInboxes()
	return r, nil
}

// Neighbours implements [Agent].
func (r *rounds) Neighbours(now time.Duration, edges []Edge) Output {
	r.hood.set(edges)
	r.renewInboxes()
	return r.advance(now, nil)
}

// renewInboxes keeps the inboxes of those that are still neighbours.
func (r *rounds) renewInboxes() {
	old := r.inboxes
	r.inboxes = make(map[ID]*inbox, len(r.hood.edges))
	for i := range r.hood.edges {
		peer := r.hood.edges[i].Peer
		if r.inboxes[peer] = old[peer]; old[peer] == nil {
			r.inboxes[peer] = &inbox{}
		}
	}
}

// Records implements [Agent].
func (r *rounds) Records(add []Record, drop []Seq) error {
	return r.training.change(r.task, add, drop)
}

// Tick implements [Agent].
func (r *rounds) Tick(now time.Duration) Output { return r.advance(now, nil) }

// State implements [Agent].
func (r *rounds) State() State {
	return State{
		Round: r.round, Model: slices.Clone(r.model), NoiseStd: r.std, Heard: r.hood.heard(),
		Dropped: r.dropped, Asymmetric: r.asymmetric,
	}
}
