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
	// Seconds is when a round ends at the latest; half of that after a neighbour went
	// on to the next, a tenth after all did; it ends at once when all were heard, and
	// soon when all but a third were. A node that starts, or was cut off, listens for a
	// tenth of that before it begins a round that nobody else has begun.
	Seconds float64 `toml:"seconds"`
	Step    float64 `toml:"step"` // the step size: mu of diffusion, g of km, a_0 of polar
}

const (
	maxRounds = math.MaxInt32 // of Rounds.Count, which is an int on small processors too
	lastRound = maxStep       // without Rounds.Count; rounds of a restored directory lie far above it
)

// last is the last round there can be.
func (r Rounds) last() uint64 {
	if r.Count > 0 {
		return uint64(r.Count)
	}
	return lastRound
}

// seconds is a time of the task as a duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// rounds checks the task's table of that name, for learners that take it.
func (c *checker) rounds(t *Task) {
	c.check(t.Rounds.Count >= 0 && t.Rounds.Count <= maxRounds, "rounds.count", "must be between 0 and %d", maxRounds)
	c.check(t.Rounds.Seconds > 0 && t.Rounds.Seconds <= 1e7, "rounds.seconds", "must be positive and at most 1e7")
	c.positive("rounds.step", t.Rounds.Step)
}

// scheme is what learners in rounds differ in.
type scheme interface {
	// query returns what the next round has to release, or nil if it has nothing
	// that a budget could pay for.
	query() *Query
	// released returns the model to publish, a new slice, and the standard
	// deviation of the noise in it. It is a public function of the answer, which is
	// not exhausted, and of what was published before; the scheme may keep a
	// private state beside it.
	released(a privacy.Answer) (model []float64, std float64)
	// refused reports whether what the door has refused can be had for less: then the
	// scheme is asked again, else the cohorts of the query are retired.
	refused() bool
	// combined takes note of what the round heard.
	combined(m mix)
}

// mix is what a round came to: the own weight a_kk, and what the neighbours add,
// sum over l != k of a_lk psi_l, with the standard deviation of the noise in it.
type mix struct {
	self   float64
	others []float64
	std    float64
}

// rounds is the part of an agent that keeps its neighbours and itself in step
// over a network that loses and delays. In round k an agent releases, broadcasts
// its model with the round and its degree, and acknowledges to each neighbour the
// model it heard from it. The round ends when all live neighbours were heard and
// have acknowledged, or at a public deadline, which is nearer once a neighbour has
// gone on: so agents that lost step catch up with the others. An edge counts in a round if both
// happened: so the ends of an edge that lost a message mostly agree that it is
// out. Not always, since the acknowledgement itself may be lost, and no number of
// further ones could mend that (it is the two generals' problem): each
// acknowledgement says whether its sender used the edge in the round before, and
// the rounds in which the two ends differ are counted.
//
// A third of the neighbours may lie about where they are, or be silent; see [few] and
// [standing]. With all but these heard the round ends when [patience] with the others does,
// and who was silent in the last round is not waited for. An agent that hears of a later
// round than its next one from more than few of its neighbours, and two, was away, and goes on
// there. What fewer say it believes the later the further they are ahead, and as much
// later it goes on from where its neighbours have not come. It spends nothing
// meanwhile. So one whose only neighbour lied, and who believed it, waits for the others.
//
// The others let it into the round they are in as long as their own weights stay at least
// 0, which is for one at a time. One that has nothing to release, because it has no
// records or no budget, publishes the public mix, and begins a round only once a neighbour
// has: so the rounds end with the last budget.
type rounds struct {
	scheme   scheme
	task     *Task
	policy   privacy.Policy
	made     int // releases, for the policy
	training training
	hood     neighbourhood
	letters  map[ID]*letters // of every edge; looked up, never iterated

	round      uint64 // the last one begun
	asked      *Query // at the door, for round beginning
	beginning  uint64
	collecting bool // the round is going on
	deadline   time.Duration
	next       time.Duration // of the timer
	patience   patience
	since      time.Duration // when it began the round, or to listen
	patient    time.Duration // when it may begin a round of its own accord; 0: see begin
	ended      time.Duration // when the last round did
	ranks      []uint64      // working memory of standing
	distances  []float64     // of radius
	degree     int           // as told to the others
	members    int           // neighbours in the round, at most degree + 1

	published []float64 // the newest broadcast: immutable
	// model is public: the newest broadcast, and from the end of its round on the
	// mix of all; immutable.
	model               []float64
	publishedStd, std   float64
	dropped, asymmetric uint64
}

// letters are what one neighbour sent for this round and for a later one.
type letters struct {
	member    bool     // the edge is in the round
	now, next *Message // models; nil: none
	acked     bool
	silent    bool   // the edge did not count in the last round, and nothing has come since
	used      uint64 // the last round in which the edge counted here
}

func newRounds(c Config, s scheme) (rounds, error) {
	r := rounds{
		scheme: s, task: c.Task, policy: c.Policy, made: c.Made,
		hood: neighbourhood{self: c.Self}, letters: map[ID]*letters{},
		model: make([]float64, c.Task.Dimension()), next: Never,
		patience: newPatience(seconds(c.Task.Rounds.Seconds)),
	}
	r.published = r.model
	if c.Resume == nil {
		return r, nil
	}
	if c.Resume.Round > c.Task.Rounds.last() { // see [Task.Stranded]
		return r, fmt.Errorf("learner: round %d lies beyond the last, and nobody would follow there", c.Resume.Round)
	}
	r.model = slices.Clone(c.Resume.Model)
	r.published = r.model
	r.round, r.std, r.publishedStd = c.Resume.Round, c.Resume.NoiseStd, c.Resume.NoiseStd
	r.dropped, r.asymmetric = c.Resume.Dropped, c.Resume.Asymmetric
	if err := r.hood.resume(c.Resume.Heard, len(r.model)); err != nil {
		return r, err
	}
	r.renewLetters()
	return r, nil
}

// Neighbours implements [Agent].
func (r *rounds) Neighbours(now time.Duration, edges []Edge) Output {
	r.hood.set(edges)
	r.renewLetters()
	return r.advance(now, nil)
}

// renewLetters keeps the letters of those who are still neighbours.
func (r *rounds) renewLetters() {
	old := r.letters
	r.letters = make(map[ID]*letters, len(r.hood.edges))
	for i := range r.hood.edges {
		peer := r.hood.edges[i].Peer
		if r.letters[peer] = old[peer]; old[peer] == nil {
			r.letters[peer] = &letters{}
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
