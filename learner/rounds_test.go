package learner

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// roundsPlayer is agent "a" of learner diffusion with the live neighbours b and c, and
// a hand that answers its queries.
type roundsPlayer struct {
	*testing.T
	agent *diffusion
	now   time.Duration
	sent  []Message // since the last look
	asked int
	next  time.Duration
}

func newRoundsPlayer(t *testing.T, change func(*Config)) *roundsPlayer {
	t.Helper()
	task := plainTask("squared", 2)
	task.Learner, task.Diffusion.Noise = "diffusion", "iid"
	task.Rounds = Rounds{Count: 50, Seconds: 10, Step: 0.5}
	c := Config{Self: "a", Task: task, Policy: repeated(must(privacy.NewGaussian(1, 3))), WakeMean: 1, Schedule: source()}
	if change != nil {
		change(&c)
	}
	p := &roundsPlayer{T: t, agent: must(New(c)).(*diffusion), next: Never}
	if err := p.agent.Records(testRecords(1, 1, 12), nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// take answers what is asked with a sum of zeros and keeps what is sent.
func (p *roundsPlayer) take(out Output) {
	for out.Ask != nil {
		p.asked++
		p.sent = append(p.sent, out.Send...)
		s := out.Ask.Sums[0]
		out = p.agent.Released(p.now, privacy.Answer{Sum: make([]float64, 2), Slots: s.Slots(), Cohorts: []privacy.Cohort{s.Cohort()}})
	}
	p.sent, p.next = append(p.sent, out.Send...), out.Next
}

// begin makes b and c live and waits until the agent has begun.
func (p *roundsPlayer) begin() {
	p.neighbours(true, true)
	p.now = p.next
	p.take(p.agent.Tick(p.now))
}

func (p *roundsPlayer) neighbours(b, c bool) {
	p.take(p.agent.Neighbours(p.now, []Edge{{Peer: "b", Weight: 1, Live: b}, {Peer: "c", Weight: 1, Live: c}}))
}

func (p *roundsPlayer) hear(m Message) error {
	out, err := p.agent.Receive(p.now, m)
	if err == nil {
		p.take(out)
	} else if out.Send != nil || out.Ask != nil || out.Next != p.next {
		p.Errorf("an error comes with %+v", out)
	}
	return err
}

func modelOf(from ID, round uint64, degree int, values ...float64) Message {
	return Message{From: from, Kind: KindModel, Round: round, Degree: degree, NoiseStd: 1, Real: values}
}

func ack(from ID, round uint64, used float64) Message {
	return Message{From: from, To: "a", Kind: KindAck, Round: round, Real: []float64{used}}
}

// hears takes messages that must be good.
func (p *roundsPlayer) hears(messages ...Message) {
	p.Helper()
	for _, m := range messages {
		if err := p.hear(m); err != nil {
			p.Fatalf("%+v: %v", m, err)
		}
	}
}

// says checks what was sent since the last look, as kind, round and receiver.
func (p *roundsPlayer) says(want ...Message) {
	p.Helper()
	var got, short []Message
	for _, m := range p.sent {
		got = append(got, Message{From: m.From, To: m.To, Kind: m.Kind, Round: m.Round})
	}
	for _, m := range want {
		short = append(short, Message{From: "a", To: m.To, Kind: m.Kind, Round: m.Round})
	}
	if !reflect.DeepEqual(got, short) {
		p.Errorf("sent %+v, want %+v", got, short)
	}
	p.sent = nil
}

// A round ends when both neighbours were heard and have acknowledged, and not
// before; the next one's models may come early.
func TestRoundEndsWhenAllAreHeardAndAcknowledged(t *testing.T) {
	p := newRoundsPlayer(t, nil)
	p.begin()
	p.says(Message{Kind: KindModel, Round: 1})
	p.hears(ack("c", 1, 0), modelOf("b", 1, 3, 4, 0), modelOf("c", 1, 1, 0, 6))
	p.says(Message{Kind: KindAck, Round: 1, To: "b"}, Message{Kind: KindAck, Round: 1, To: "c"})
	p.hears(modelOf("b", 2, 3, 1, 1)) // b is done with the round
	if p.says(); p.asked != 1 || p.next != p.now+100*time.Millisecond {
		t.Errorf("asked %d times, next %v: want to wait for b's acknowledgement, for a hundredth of 10 s", p.asked, p.next)
	}
	p.hears(ack("b", 1, 0))
	p.says(Message{Kind: KindModel, Round: 2}, Message{Kind: KindAck, Round: 2, To: "b"})
	// Metropolis: own degree 2, so 1/4 to b of degree 3, 1/3 to c, 5/12 to the own 0.
	wantClose(t, "the released gradient step of the mix", p.agent.published, []float64{
		(1 - 2*0.5*0.1) * (4. / 4), (1 - 2*0.5*0.1) * (6. / 3),
	}, publishedTolerance)
	if s := p.agent.State(); s.Dropped+s.Asymmetric > 0 || s.Round != 2 || len(s.Heard) != 2 || s.Heard[0].Round != 2 {
		t.Errorf("state %+v", s)
	}
}

// The acknowledgement that ends a round leaves before the next release is worked out,
// which takes a time that depends on the records.
func TestAcknowledgementGoesBeforeTheWork(t *testing.T) {
	p := newRoundsPlayer(t, nil)
	p.begin()
	p.hears(modelOf("b", 1, 2, 0, 0), ack("b", 1, 0), ack("c", 1, 0))
	p.sent = nil
	p.now += time.Second
	p.hears(modelOf("c", 1, 2, 0, 0))
	p.says(Message{Kind: KindAck, Round: 1, To: "c"})
	if p.asked != 1 || p.next != p.now+headStart {
		t.Fatalf("asked %d times, next %v: want nothing more before %v", p.asked, p.next, p.now+headStart)
	}
	p.now = p.next
	p.take(p.agent.Tick(p.now))
	if p.says(Message{Kind: KindModel, Round: 2}); p.asked != 2 {
		t.Errorf("asked %d times", p.asked)
	}
}

// Once a neighbour has gone on it is waited half as long for others, and a tenth if
// all have.
func TestDeadlineComesNearer(t *testing.T) {
	p := newRoundsPlayer(t, nil)
	p.begin()
	p.now += 2 * time.Second
	p.hears(modelOf("b", 2, 2, 0, 0))
	if p.next != p.now+5*time.Second {
		t.Errorf("next %v, want half of 10 s from %v", p.next, p.now)
	}
	p.now += 2 * time.Second
	p.hears(modelOf("c", 2, 2, 0, 0))
	if p.next != p.now+time.Second {
		t.Errorf("next %v, want a tenth of 10 s from %v", p.next, p.now)
	}
}

// At the deadline the edges that failed are dropped and counted, in both directions.
func TestDeadlineDropsEdges(t *testing.T) {
	p := newRoundsPlayer(t, nil)
	p.begin()
	p.hears(modelOf("b", 1, 2, 3, 3), ack("c", 1, 0)) // neither is whole
	p.now = p.next
	p.take(p.agent.Tick(p.now))
	wantClose(t, "the model of an agent alone", p.agent.published, []float64{0, 0}, 0)
	if s := p.agent.State(); s.Round != 2 || s.Dropped != 2 {
		t.Errorf("round %d, %d edges dropped; want 2 and 2", s.Round, s.Dropped)
	}
}

// An acknowledgement tells whether its sender used the edge in the round before;
// rounds in which the ends differ are counted, either way.
func TestAsymmetricRoundsAreCounted(t *testing.T) {
	p := newRoundsPlayer(t, nil)
	p.begin()
	p.hears(modelOf("b", 1, 2, 0, 0), ack("b", 1, 0), modelOf("c", 1, 2, 0, 0)) // c's is lost
	p.now = p.next
	p.take(p.agent.Tick(p.now))
	p.sent = nil
	p.hears(modelOf("b", 2, 2, 0, 0), modelOf("c", 2, 2, 0, 0))
	if len(p.sent) != 2 || p.sent[0].Real[0] != 1 || p.sent[1].Real[0] != 0 {
		t.Errorf("tells %+v, want that it used the edge to b and not that to c", p.sent)
	}
	p.hears(ack("b", 2, 1))
	if s := p.agent.State(); s.Asymmetric != 0 {
		t.Error("both ends used the edge, and that counts as asymmetric")
	}
	p.hears(ack("c", 2, 1))
	if s := p.agent.State(); s.Asymmetric != 1 || s.Dropped != 1 {
		t.Errorf("%d asymmetric, %d dropped; want 1 and 1", s.Asymmetric, s.Dropped)
	}
	p.hears(modelOf("b", 3, 2, 0, 0), ack("b", 3, 0), modelOf("c", 3, 2, 0, 0), ack("c", 3, 1))
	if s := p.agent.State(); s.Asymmetric != 2 {
		t.Errorf("%d asymmetric, want 2: b did not use round 2", s.Asymmetric)
	}
}

// Who hears of a round that is not its next one from two neighbours goes on there.
func TestAgentJumpsToWhereTheOthersAre(t *testing.T) {
	p := newRoundsPlayer(t, nil)
	p.begin()
	p.sent = nil
	p.hears(modelOf("c", 50, 2, 1, 1), modelOf("b", 2, 2, 0, 0))
	if p.says(); p.agent.round != 1 {
		t.Error("the next round is no reason to leave this one, nor what one neighbour says")
	}
	p.hears(modelOf("b", 7, 2, 0, 0))
	p.says(Message{Kind: KindModel, Round: 7}, Message{Kind: KindAck, Round: 7, To: "b"})
	if s := p.agent.State(); s.Dropped != 2 {
		t.Errorf("%d edges dropped, want the 2 of the round that was left", s.Dropped)
	}
	if err := p.hear(modelOf("b", 6, 2, 0, 0)); !errors.Is(err, ErrStale) {
		t.Errorf("a model of round 6 in round 7: %v", err)
	}
}

func TestRoundsEndAtCount(t *testing.T) {
	p := newRoundsPlayer(t, func(c *Config) { c.Task.Rounds.Count = 2 })
	p.begin()
	for round := range uint64(2) {
		p.hears(modelOf("b", round+1, 2, 0, 0), ack("b", round+1, min(1, float64(round))),
			modelOf("c", round+1, 2, 0, 0), ack("c", round+1, min(1, float64(round))))
	}
	if p.asked != 2 || p.next != Never || p.agent.collecting {
		t.Errorf("asked %d times, next %v: want an end after 2 rounds", p.asked, p.next)
	}
	if err := p.hear(modelOf("b", 3, 2, 0, 0)); !errors.Is(err, ErrShape) {
		t.Errorf("a round after the last: %v", err)
	}
}

// A newcomer spends nothing before it has listened, and joins at once what it
// hears of two.
func TestNewcomerListensFirst(t *testing.T) {
	p := newRoundsPlayer(t, nil)
	p.neighbours(true, true)
	if p.asked != 0 || p.next != time.Second {
		t.Errorf("asked %d times, next %v; want to listen for a tenth of 10 s", p.asked, p.next)
	}
	p.hears(modelOf("c", 32, 2, 0, 0), modelOf("b", 31, 2, 0, 0))
	p.says(Message{Kind: KindModel, Round: 31}, Message{Kind: KindAck, Round: 31, To: "b"})
	p.now = 20 * time.Second
	p.neighbours(false, false)
	if p.asked != 1 || p.next != Never {
		t.Errorf("asked %d times, next %v; with nobody there, want nothing more", p.asked, p.next)
	}
	p.neighbours(true, false)
	if p.asked != 1 || p.next != p.now+time.Second {
		t.Errorf("asked %d times, next %v; want to listen again", p.asked, p.next)
	}
}

// Who has nothing to release follows the others with the public mix.
func TestAgentWithoutRecordsFollows(t *testing.T) {
	p := newRoundsPlayer(t, nil)
	if err := p.agent.Records(nil, nil); err != nil {
		t.Fatal(err)
	}
	p.agent.training.cohorts = nil
	p.begin()
	if p.says(); p.asked != 0 || p.next != Never {
		t.Errorf("asked %d times, next %v; want to wait for somebody who releases", p.asked, p.next)
	}
	p.hears(modelOf("b", 1, 2, 3, 0), ack("b", 1, 0), modelOf("c", 1, 2, 3, 3), ack("c", 1, 0))
	if p.asked != 0 || p.agent.round != 1 || p.next != Never {
		t.Errorf("asked %d times in round %d", p.asked, p.agent.round)
	}
	p.hears(modelOf("c", 2, 2, 0, 0))
	wantClose(t, "the mix", p.agent.published, []float64{2, 1}, 1e-15)
	if std := p.agent.publishedStd; math.Abs(std-math.Sqrt2/3) > 1e-15 {
		t.Errorf("noise %v, want that of two of three models", std)
	}
}

// With the budget gone it retires what was asked, and follows.
func TestExhaustedAgentFollows(t *testing.T) {
	p := newRoundsPlayer(t, nil)
	p.neighbours(true, true)
	p.now = p.next
	if out := p.agent.Tick(p.now); out.Ask == nil {
		t.Fatal("asks for nothing")
	}
	p.take(p.agent.Released(p.now, privacy.Answer{}))
	if p.says(); p.next != Never || p.agent.training.active(p.agent.task) {
		t.Errorf("next %v: goes on without a budget", p.next)
	}
	p.hears(modelOf("b", 1, 2, 3, 0))
	p.says(Message{Kind: KindModel, Round: 1}, Message{Kind: KindAck, Round: 1, To: "b"})
}

// Nobody waits for a neighbour who left, and what both had said still counts.
func TestLeavingNeighbourIsNotWaitedFor(t *testing.T) {
	p := newRoundsPlayer(t, nil)
	p.begin()
	p.hears(modelOf("b", 1, 2, 3, 3), ack("b", 1, 0))
	p.neighbours(true, false)
	if p.agent.round != 2 || p.agent.degree != 1 {
		t.Errorf("round %d with degree %d, want 2 with 1", p.agent.round, p.agent.degree)
	}
	p.take(p.agent.Neighbours(p.now, nil))
	if p.agent.collecting || p.next != Never {
		t.Error("waits for nobody at all")
	}
	if err := p.hear(modelOf("b", 9, 1, 0, 0)); !errors.Is(err, ErrStranger) {
		t.Errorf("a former neighbour: %v", err)
	}
}

// A neighbour that comes late is let into the round while the weights allow it:
// one, since each has at most 1/(1 + degree).
func TestLateNeighbourIsLetIn(t *testing.T) {
	p := newRoundsPlayer(t, nil)
	p.neighbours(false, true)
	p.now = p.next
	p.take(p.agent.Tick(p.now))
	p.hears(modelOf("c", 1, 1, 0, 3))
	p.sent = nil
	p.take(p.agent.Neighbours(p.now, []Edge{{Peer: "b", Weight: 1, Live: true}, {Peer: "c", Weight: 1, Live: true}, {Peer: "d", Weight: 1, Live: true}}))
	p.hears(modelOf("b", 1, 1, 3, 0))
	p.says(Message{Kind: KindAck, Round: 1, To: "b"})
	if p.hears(modelOf("d", 1, 1, 3, 0)); len(p.sent) > 0 {
		t.Errorf("a second late neighbour is let in with %+v", p.sent)
	}
	p.hears(ack("b", 1, 0), ack("c", 1, 0))
	if p.agent.round != 2 {
		t.Fatal("the round has not ended")
	}
	wantClose(t, "half of each of two models", p.agent.published, []float64{0.9 * 1.5, 0.9 * 1.5}, publishedTolerance)
}

func TestRoundsRefuse(t *testing.T) {
	p := newRoundsPlayer(t, nil)
	p.begin()
	p.hears(modelOf("b", 1, 2, 0, 0), ack("b", 1, 0))
	nan := math.NaN()
	for name, c := range map[string]struct {
		message Message
		want    error
	}{
		"stranger":        {modelOf("x", 1, 2, 0, 0), ErrStranger},
		"kind":            {Message{From: "c", Kind: KindMask, Round: 1, Real: []float64{0, 0}}, ErrShape},
		"dimension":       {modelOf("c", 1, 2, 0), ErrShape},
		"not finite":      {modelOf("c", 1, 2, 0, nan), ErrShape},
		"no degree":       {modelOf("c", 1, 0, 0, 0), ErrShape},
		"bad noise":       {Message{From: "c", Kind: KindModel, Round: 1, Degree: 1, NoiseStd: -1, Real: []float64{0, 0}}, ErrShape},
		"old round":       {modelOf("c", 0, 2, 0, 0), ErrStale},
		"twice":           {modelOf("b", 1, 2, 0, 0), ErrStale},
		"long ack":        {Message{From: "c", Kind: KindAck, Round: 1, Real: []float64{0, 0}}, ErrShape},
		"ack of a number": {ack("c", 1, 0.5), ErrShape},
		"ack of no":       {ack("c", 1, nan), ErrShape},
		"old ack":         {ack("c", 0, 0), ErrStale},
		"early ack":       {ack("c", 2, 0), ErrStale},
		"ack twice":       {ack("b", 1, 0), ErrStale},
	} {
		before := p.agent.State()
		if err := p.hear(c.message); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if !reflect.DeepEqual(before, p.agent.State()) {
			t.Errorf("%s: the state has changed", name)
		}
	}
	endless := newRoundsPlayer(t, func(c *Config) { c.Task.Rounds.Count = 0 })
	endless.begin()
	for _, round := range []uint64{math.MaxUint64, lastRound + 1} {
		if err := endless.hear(modelOf("b", round, 2, 0, 0)); !errors.Is(err, ErrShape) {
			t.Errorf("a round without a next one: %v", err)
		}
	}
}

// After a restart the agent goes on with the round after its last, from what it
// published.
func TestRoundsResume(t *testing.T) {
	p := newRoundsPlayer(t, nil)
	p.begin()
	p.hears(modelOf("b", 1, 2, 3, 0), ack("b", 1, 0), modelOf("c", 1, 2, 3, 3), ack("c", 1, 0), modelOf("b", 2, 2, 0, 0))
	state := p.agent.State()
	state.Dropped, state.Asymmetric = 3, 2
	q := newRoundsPlayer(t, func(c *Config) { c.Resume, c.Made = &state, 2 })
	if got := q.agent.State(); !reflect.DeepEqual(got, state) {
		t.Errorf("resumed to %+v, want %+v", got, state)
	}
	q.begin()
	q.says(Message{Kind: KindModel, Round: 3})
	wantClose(t, "a step from the last model", q.agent.published, []float64{0.9 * state.Model[0], 0.9 * state.Model[1]}, publishedTolerance)
	for name, bad := range map[string]State{
		"another task": {Round: 1, Model: []float64{1}},
		"not finite":   {Round: 1, Model: []float64{1, math.Inf(1)}},
		"restored":     {Round: 51, Model: []float64{1, 1}},
		"heard":        {Round: 1, Model: []float64{1, 1}, Heard: []Heard{{Peer: "b", Weight: 1, Round: 1, Model: []float64{1}}}},
		"heard later":  {Round: 1, Model: []float64{1, 1}, Heard: []Heard{{Peer: "b", Weight: 1, Round: 51, Model: []float64{1, 1}}}},
	} {
		c := Config{Self: "a", Task: q.agent.task, Policy: q.agent.policy, WakeMean: 1, Schedule: source(), Resume: &bad}
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Whatever comes in whatever order, the weights of a round leave the own one at
// least 0, the model stays in the ball, rounds only grow and the timer is set.
func TestRoundsTakeAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 1))
	peers := []ID{"b", "c", "d", "e"}
	for range 50 {
		p := newRoundsPlayer(t, func(c *Config) { c.Task.Rounds.Count = 0 })
		var last uint64
		for range 300 {
			a := p.agent
			near := a.round + uint64(r.IntN(4))
			switch peer := peers[r.IntN(4)]; r.IntN(8) {
			case 0:
				var edges []Edge
				for _, peer := range peers {
					if r.IntN(4) > 0 {
						edges = append(edges, Edge{Peer: peer, Weight: 1, Live: r.IntN(3) > 0})
					}
				}
				p.take(a.Neighbours(p.now, edges))
			case 1:
				if p.now++; r.IntN(2) == 0 && p.next != Never {
					p.now = max(p.now, p.next)
				}
				p.take(a.Tick(p.now))
			case 2, 3, 4:
				_ = p.hear(modelOf(peer, near, 1+r.IntN(5), 9*r.NormFloat64(), 9*r.NormFloat64()))
			default:
				_ = p.hear(ack(peer, near, float64(r.IntN(2))))
			}
			weights := 0.0
			for _, l := range a.inboxes {
				if l.counts() {
					weights += metropolis(max(1, a.degree), l.now.Degree)
				}
			}
			if weights > 1+1e-12 || floats.Norm(a.published, 2) > a.task.Radius*(1+1e-12) || a.round < last ||
				a.collecting && (p.next > p.now+10*time.Second || p.next != a.deadline) {
				t.Fatalf("round %d after %d, weights %v, next %v at %v", a.round, last, weights, p.next, p.now)
			}
			last = a.round
		}
		if last < 5 {
			t.Errorf("got to round %d only", last)
		}
	}
}

// Who is stranded is refused, and nobody else is, by every learner.
func TestStranded(t *testing.T) {
	restored := State{Round: 1 << 50, Model: []float64{0, 0}}
	for name, c := range map[string]struct {
		config Config
		want   bool
	}{
		"clocked":             {Config{Self: "a", Task: plainTask("squared", 2)}, false},
		"in rounds":           {Config{Self: "a", Task: newRoundsPlayer(t, nil).agent.task}, true},
		"endless rounds":      {Config{Self: "a", Task: newRoundsPlayer(t, func(c *Config) { c.Task.Rounds.Count = 0 }).agent.task}, true},
		"a server":            {polarConfig(polarTask(), "1"), true},
		"a client of servers": {polarConfig(polarTask(), "h"), false},
	} {
		c.config.Policy, c.config.WakeMean, c.config.Schedule = repeated(must(privacy.NewGaussian(1, 3))), 1, source()
		if name == "a server" {
			c.config.Self = c.config.Task.Servers()[0]
		}
		c.config.Resume = &restored
		if _, err := New(c.config); (err != nil) != c.want || c.config.Task.Stranded(c.config.Self, restored.Round) != c.want {
			t.Errorf("%s: %v; want stranded: %t", name, err, c.want)
		}
		if c.config.Task.Stranded(c.config.Self, 1) {
			t.Errorf("%s: stranded in round 1", name)
		}
	}
}

// In a round with noise the mix does not depend on a model that noise does not explain;
// its weight goes to the agent's own. Without noise the model is clipped like any other.
func TestRoundsLeaveOutWhatNoiseDoesNotMake(t *testing.T) {
	for _, noise := range []bool{true, false} {
		one, other := mixWithLiar(t, noise, 20), mixWithLiar(t, noise, -20)
		if same := one[0] == other[0]; same != noise {
			t.Errorf("with noise %v: the mix is %v, and %v with the opposite lie", noise, one, other)
		}
	}
}

// mixWithLiar is the mix of a round with just enough neighbours, one of whom says a model
// of this first weight.
func mixWithLiar(t *testing.T, noise bool, lie float64) []float64 {
	p := newRoundsPlayer(t, func(c *Config) {
		c.Task.Rounds.Count = 1
		if !noise {
			c.Policy = repeated(must(privacy.NewUnprotected(1)))
		}
	})
	var edges []Edge
	for i := range enoughToJudge {
		edges = append(edges, Edge{Peer: ID(rune('b' + i)), Weight: 1, Live: true})
	}
	p.take(p.agent.Neighbours(p.now, edges))
	p.now = p.next
	p.take(p.agent.Tick(p.now))
	r := rand.New(rand.NewPCG(1, 1))
	for i, e := range edges {
		m := modelOf(e.Peer, 1, enoughToJudge, gaussian(r, 2, 0.2)...)
		if m.NoiseStd = p.agent.publishedStd; i == 3 {
			m.Real[0] = lie
		}
		p.hears(m, ack(e.Peer, 1, 0))
	}
	if p.agent.collecting {
		t.Fatal("the round goes on")
	}
	return p.agent.model
}
