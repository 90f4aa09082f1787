package learner

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// Rounds holds what the learners in rounds agree on (diffusion, km, polar).
type Rounds struct {
	Count int `toml:"count"` // rounds in all; 0: as long as there is budget
	// Seconds is when a round ends at the latest; it ends at once when all
	// neighbours were heard.
	Seconds float64 `toml:"seconds"`
	Step    float64 `toml:"step"` // the step size: mu of diffusion, g of km, a_0 of polar
}

const (
	maxRounds = 1 << 32 // of Rounds.Count
	lastRound = 1 << 62 // of all: no liar may take a number from which there is no next
)

// last is the last round there can be.
func (r Rounds) last() uint64 {
	if r.Count > 0 {
		return uint64(r.Count)
	}
	return lastRound
}

func (c *checker) rounds(t *Task) {
	if t.Learner == "diffusion" || t.Learner == "km" || t.Learner == "polar" {
		c.check(t.Rounds.Count >= 0 && t.Rounds.Count <= maxRounds, "rounds.count", "must be between 0 and %d", maxRounds)
		c.check(t.Rounds.Seconds > 0 && t.Rounds.Seconds <= 1e7, "rounds.seconds", "must be positive and at most 1e7")
		c.positive("rounds.step", t.Rounds.Step)
		return
	}
	c.check(t.Rounds == Rounds{}, "rounds", "belongs to the learners diffusion, km and polar; leave it out")
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
// have acknowledged, or at a public deadline. An edge counts in a round if both
// happened: so the ends of an edge that lost a message mostly agree that it is
// out. Not always, since the acknowledgement itself may be lost, and no number of
// further ones could mend that (it is the two generals' problem): each
// acknowledgement says whether its sender used the edge in the round before, and
// the rounds in which the two ends differ are counted.
//
// An agent that hears of a later round than its next one was away, and goes on
// there. One that has nothing to release, because it has no records or no budget,
// publishes the public mix, and begins a round only once a neighbour has: so the
// rounds end with the last budget.
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
	degree     int // as told to the others

	published []float64 // the newest broadcast: immutable
	// model is public: the newest broadcast, and from the end of its round on the
	// mix of all; immutable.
	model               []float64
	publishedStd, std   float64
	dropped, asymmetric uint64
}

// letters are what one neighbour sent for this round and for a later one.
type letters struct {
	member    bool     // the neighbour was live when the round began
	now, next *Message // models; nil: none
	acked     bool
	used      uint64 // the last round in which the edge counted here
}

func newRounds(c Config, s scheme) (rounds, error) {
	r := rounds{
		scheme: s, task: c.Task, policy: c.Policy, made: c.Made,
		hood: neighbourhood{self: c.Self}, letters: map[ID]*letters{},
		model: make([]float64, c.Task.Dimension()),
	}
	r.published = r.model
	if c.Resume == nil {
		return r, nil
	}
	if len(c.Resume.Model) != len(r.model) || !finite(c.Resume.Model) {
		return r, fmt.Errorf("learner: the saved model does not fit the task, which has %d parameters", len(r.model))
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
	if err := r.training.check(add, r.task.Dimension()); err != nil {
		return err
	}
	r.training.add(add)
	r.training.drop(drop)
	return nil
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

// advance ends the round if it is over and begins the next if there is one, and
// says what comes of it, after the messages that wait already.
func (r *rounds) advance(now time.Duration, send []Message) Output {
	out := Output{Send: send, Next: Never}
	for r.asked == nil {
		newest := r.newest()
		if r.collecting {
			if now < r.deadline && newest <= r.round+1 && !r.complete() {
				break
			}
			r.finish()
		}
		if !r.begin(now, max(r.round+1, newest), newest, &out) {
			break
		}
	}
	if r.collecting {
		out.Next = r.deadline
	}
	return out
}

// newest is the latest round any neighbour has begun after this one, 0 if none.
func (r *rounds) newest() (round uint64) {
	for _, l := range r.letters {
		if l.next != nil {
			round = max(round, l.next.Round)
		}
	}
	return round
}

// complete reports whether nobody is waited for.
func (r *rounds) complete() bool {
	for i := range r.hood.edges {
		if l := r.letters[r.hood.edges[i].Peer]; l.member && r.hood.edges[i].Live && !l.counts() {
			return false
		}
	}
	return true
}

// counts reports whether both ends have heard each other, as far as this one can
// know.
func (l *letters) counts() bool { return l.member && l.now != nil && l.acked }

// begin asks the door for the round's release, or publishes the public mix if
// there is nothing to release and a neighbour is that far. It reports whether the
// round has begun.
func (r *rounds) begin(now time.Duration, round, newest uint64, out *Output) bool {
	if !r.hood.listened() || round > r.task.Rounds.last() {
		return false
	}
	r.beginning = round
	if q := r.scheme.query(); q != nil {
		q.Round = round
		r.asked, out.Ask = q, q
		return true
	}
	if newest < round {
		return false
	}
	out.Send = r.publish(now, r.model, r.std, out.Send)
	return true
}

// Released implements [Agent].
func (r *rounds) Released(now time.Duration, a privacy.Answer) Output {
	q := r.asked
	if q == nil {
		return r.advance(now, nil)
	}
	r.asked = nil
	r.training.refused(q.Sums, a.Cohorts)
	if a.Exhausted() {
		return r.advance(now, nil)
	}
	model, std := r.scheme.released(a)
	r.made++
	return r.advance(now, r.publish(now, model, std, nil))
}

// publish begins the round with its broadcast and acknowledges what is there
// already.
func (r *rounds) publish(now time.Duration, model []float64, std float64, send []Message) []Message {
	model = slices.Clone(model)
	project(model, r.task.Radius)
	r.model, r.published, r.std, r.publishedStd = model, model, std, std
	r.round, r.collecting, r.degree = r.beginning, true, 0
	r.deadline = now + time.Duration(r.task.Rounds.Seconds*float64(time.Second))
	var acks []Message
	for i := range r.hood.edges {
		e := &r.hood.edges[i]
		l := r.letters[e.Peer]
		l.member, l.now, l.acked = e.Live, nil, false
		if l.next != nil && l.next.Round <= r.round {
			if l.next.Round == r.round {
				l.now = l.next
			}
			l.next = nil
		}
		if l.member {
			r.degree++
		}
		if l.member && l.now != nil {
			acks = append(acks, r.ack(e.Peer, l))
		}
	}
	send = append(send, Message{
		From: r.hood.self, Kind: KindModel, Round: r.round, Degree: max(1, r.degree), NoiseStd: std, Real: model,
	})
	return append(send, acks...)
}

// ack tells a neighbour that its model of this round was heard, and whether the
// edge counted in the round before.
func (r *rounds) ack(peer ID, l *letters) Message {
	return Message{From: r.hood.self, To: peer, Kind: KindAck, Round: r.round, Real: []float64{r.lastUse(l)}}
}

// lastUse is 1 if the edge counted here in the round before, else 0.
func (r *rounds) lastUse(l *letters) float64 {
	if l.used > 0 && l.used == r.round-1 {
		return 1
	}
	return 0
}

// finish combines what was heard over the edges that count.
func (r *rounds) finish() {
	r.collecting = false
	m := mix{self: 1, others: make([]float64, len(r.model))}
	for i := range r.hood.edges {
		l := r.letters[r.hood.edges[i].Peer]
		if !l.member {
			continue
		}
		if !l.counts() {
			r.dropped++
			continue
		}
		l.used = r.round
		w := metropolis(max(1, r.degree), l.now.Degree)
		m.self -= w
		floats.AddScaled(m.others, w, l.now.Real)
		m.std = math.Hypot(m.std, w*l.now.NoiseStd)
	}
	m.self = max(0, m.self) // a rounding below, on a full graph of few
	r.model = slices.Clone(m.others)
	floats.AddScaled(r.model, m.self, r.published)
	r.std = math.Hypot(m.std, m.self*r.publishedStd)
	r.scheme.combined(m)
}

// metropolis is the weight of an edge between agents of the given degrees (the
// Metropolis rule; Vlaski and Sayed, section 1): each end knows it, it is the same
// at both, and all of an agent's together leave its own at least 1/(1 + degree).
func metropolis(own, other int) float64 { return 1 / (1 + float64(max(own, other))) }
