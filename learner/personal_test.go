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

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func source() *rand.Rand { return rand.New(rand.NewPCG(7, 7)) }

// testAgent has two parameters, a live neighbour "b" and no records.
func testAgent(t *testing.T, resume *State) *personal {
	t.Helper()
	task := plainTask("squared", 2)
	task.Radius = 2
	a := must(New(Config{
		Self: "a", Task: task, Policy: repeated(must(privacy.NewGaussian(1, 3))), WakeMean: 1, Schedule: source(), Resume: resume,
	}))
	a.Neighbours(0, []Edge{{Peer: "b", Weight: 2, Live: true}})
	return a.(*personal)
}

func testRecords(cohort privacy.Cohort, first Seq, n int) []Record {
	r := rand.New(rand.NewPCG(uint64(first), 1))
	out := make([]Record, n)
	for i := range out {
		out[i] = Record{Seq: first + Seq(i), Cohort: cohort, X: []float64{r.Float64() / 2, (r.Float64() - 1) / 2}, Y: r.NormFloat64()}
	}
	return out
}

// wake ticks until the clock is due and returns the output of that tick.
func wake(p *personal) (time.Duration, Output) {
	now := p.next
	return now, p.Tick(now)
}

func TestAgentAsksOnlyWhenItHasRecordsAndAListener(t *testing.T) {
	p := testAgent(t, nil)
	if _, out := wake(p); out.Ask != nil {
		t.Error("asks without records")
	}
	if err := p.Records([]Record{{Seq: 5, X: []float64{1, 0}}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, out := wake(p); out.Ask != nil {
		t.Error("asks with held-out records only")
	}
	if err := p.Records(testRecords(3, 6, 9), nil); err != nil {
		t.Fatal(err)
	}
	p.Neighbours(p.next-1, []Edge{{Peer: "b", Weight: 2}})
	if _, out := wake(p); out.Ask != nil {
		t.Error("asks although nobody listens")
	}
	now := p.next
	p.Neighbours(now-1, []Edge{{Peer: "b", Weight: 2, Live: true}})
	if out := p.Tick(now - 1); out.Ask != nil || out.Next != now {
		t.Error("a tick that came too early wakes the agent")
	}
	out := p.Tick(now)
	if out.Ask == nil {
		t.Fatal("does not ask")
	}
	if out.Ask.Round != 1 || len(out.Ask.Sums) != 1 || out.Ask.Sums[0].Cohort() != 3 || out.Ask.Sums[0].Slots() != 8 {
		t.Errorf("query of round %d with %d sums; want round 1, one sum of 8 slots of cohort 3", out.Ask.Round, len(out.Ask.Sums))
	}
	if _, out := wake(p); out.Ask != nil {
		t.Error("asks again while the door has not answered")
	}
}

// A cohort that came after a question was not refused by its answer.
func TestRecordsMayComeBeforeTheAnswer(t *testing.T) {
	p := testAgent(t, nil)
	if err := p.Records(testRecords(1, 1, 9), nil); err != nil {
		t.Fatal(err)
	}
	now, out := wake(p)
	if out.Ask == nil {
		t.Fatal("does not ask")
	}
	answer := privacy.NewSeededNoise(1).Answer(out.Ask.Mechanism, out.Ask.Sums)
	if err := p.Records(testRecords(2, 10, 9), nil); err != nil {
		t.Fatal(err)
	}
	p.Released(now, answer)
	for _, c := range p.training.cohorts {
		if c.retired || c.asked {
			t.Errorf("cohort %d is retired or still waits for its answer", c.number)
		}
	}
	if now, out = wake(p); out.Ask == nil || len(out.Ask.Sums) != 2 {
		t.Fatal("does not ask for both")
	}
	p.Released(now, privacy.NewSeededNoise(1).Answer(out.Ask.Mechanism, out.Ask.Sums[1:]))
	if !p.training.cohorts[0].retired || p.training.cohorts[1].retired {
		t.Error("the cohort that was refused is not the one that is retired")
	}
}

// Of more records than one release can have, the oldest cohorts take part, and the others wait.
func TestAgentAsksForWhatAnAnswerHolds(t *testing.T) {
	half := make([]slot, privacy.MaxSlots/2+1) // all deleted
	data := training{cohorts: []cohort{{number: 1, slots: half}, {number: 2, slots: half}}}
	m := must(privacy.NewGaussian(1, 3))
	for want := privacy.Cohort(1); want <= 2; want++ {
		sums := data.sums(scalar{squared{1}}, m, []float64{0})
		if len(sums) != 1 || sums[0].Cohort() != want {
			t.Fatalf("%d sums, the first of cohort %d, want one of %d", len(sums), sums[0].Cohort(), want)
		}
		data.ask(sums)
		data.answered(nil)
	}
}

func TestDeletedRecordsKeepTheirSlots(t *testing.T) {
	records := testRecords(1, 1, 9)
	p := testAgent(t, nil)
	if err := p.Records(records, []Seq{2, 5, 99}); err != nil {
		t.Fatal(err)
	}
	// After a restart a deleted record comes back without content.
	q := testAgent(t, nil)
	emptied := append([]Record(nil), records...)
	emptied[1] = Record{Seq: 2, Cohort: 1}
	if err := q.Records(emptied, nil); err != nil {
		t.Fatal(err)
	}
	want := make([]float64, 2)
	for _, r := range records {
		if r.Seq != 2 && !r.Seq.HeldOut() {
			floats.AddScaled(want, squared{1}.slope(0, r.Y), r.X)
		}
	}
	mechanism := must(privacy.NewUnprotected(100))
	for _, agent := range []*personal{p, q} {
		a := privacy.NewSeededNoise(1).Answer(mechanism, agent.training.sums(scalar{squared{1}}, mechanism, []float64{0, 0}))
		if a.Slots != 8 {
			t.Errorf("%d slots, want 8", a.Slots)
		}
		wantClose(t, "sum", a.Sum, want, 1e-6)
	}
}

func TestReceiveRefuses(t *testing.T) {
	good := Message{From: "b", Kind: KindModel, Round: 3, NoiseStd: 1, Real: []float64{1, 2}}
	for name, c := range map[string]struct {
		change func(*Message)
		want   error
	}{
		"a stranger":         {func(m *Message) { m.From = "x" }, ErrStranger},
		"an old round":       {func(m *Message) { m.Round = 2 }, ErrStale},
		"the same round":     {func(m *Message) { m.Round = 3 }, ErrStale},
		"another kind":       {func(m *Message) { m.Round, m.Kind = 4, 9 }, ErrShape},
		"another dimension":  {func(m *Message) { m.Round, m.Real = 4, []float64{1} }, ErrShape},
		"not a number":       {func(m *Message) { m.Round, m.Real = 4, []float64{1, math.NaN()} }, ErrShape},
		"an infinite number": {func(m *Message) { m.Round, m.Real = 4, []float64{1, math.Inf(-1)} }, ErrShape},
		"noise not a number": {func(m *Message) { m.Round, m.NoiseStd = 4, math.NaN() }, ErrShape},
		"negative noise":     {func(m *Message) { m.Round, m.NoiseStd = 4, -1 }, ErrShape},
	} {
		p := testAgent(t, nil)
		if _, err := p.Receive(0, good); err != nil {
			t.Fatal(err)
		}
		before, m := p.State(), good
		c.change(&m)
		if _, err := p.Receive(0, m); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if !reflect.DeepEqual(before, p.State()) {
			t.Errorf("%s: the state changed", name)
		}
	}
}

func TestNeighboursForgetAndKeep(t *testing.T) {
	p := testAgent(t, nil)
	p.Neighbours(0, []Edge{{Peer: "c", Weight: 1}, {Peer: "b", Weight: 2}})
	for _, from := range []ID{"b", "c"} {
		if _, err := p.Receive(0, Message{From: from, Kind: KindModel, Round: 1, Real: []float64{1, 0}}); err != nil {
			t.Fatal(err)
		}
	}
	// Useless edges are ignored; the order does not matter; b is gone.
	p.Neighbours(0, []Edge{{Peer: "d", Weight: 1}, {Peer: "c", Weight: 5}, {Peer: "c", Weight: 6}, {Peer: "a", Weight: 1}, {Peer: "e", Weight: 0}, {Peer: "f", Weight: math.NaN()}})
	want := []Heard{{Peer: "c", Weight: 5, Round: 1, Model: []float64{1, 0}}}
	if got := p.State().Heard; !reflect.DeepEqual(got, want) {
		t.Errorf("heard %+v, want %+v", got, want)
	}
	if len(p.edges) != 2 {
		t.Errorf("%d edges, want those to c and d", len(p.edges))
	}
}

func TestWakesArePoissonAndIgnoreTheData(t *testing.T) {
	p, q := testAgent(t, nil), testAgent(t, nil)
	if err := q.Records(testRecords(1, 1, 50), nil); err != nil {
		t.Fatal(err)
	}
	const wakes = 20000
	var last time.Duration
	var over1, over2 int
	for range wakes {
		now, _ := wake(p)
		if same, out := wake(q); same != now {
			t.Fatal("the records moved a wake")
		} else if out.Ask != nil {
			q.Released(now, privacy.Answer{Sum: []float64{0, 0}, Slots: 40, Cohorts: []privacy.Cohort{1}})
		}
		if now-last > time.Second {
			over1++
		}
		if now-last > 2*time.Second {
			over2++
		}
		last = now
	}
	// Exponential with mean 1 s: shares e^-1, e^-2 and mean 1. Five standard
	// errors each (.0034, .0024, .0071): fails by chance about twice in a million.
	for _, c := range []struct{ got, want, tolerance float64 }{
		{float64(over1) / wakes, math.Exp(-1), 5 * 0.0034},
		{float64(over2) / wakes, math.Exp(-2), 5 * 0.0024},
		{last.Seconds() / wakes, 1, 5 * 0.0071},
	} {
		if math.Abs(c.got-c.want) > c.tolerance {
			t.Errorf("waiting times: %v, want %v", c.got, c.want)
		}
	}
}

func TestResumedAgentGoesOnAlike(t *testing.T) {
	p := testAgent(t, nil)
	if err := p.Records(testRecords(1, 1, 9), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Receive(0, Message{From: "b", Kind: KindModel, Round: 6, NoiseStd: 0.3, Real: []float64{1, -1}}); err != nil {
		t.Fatal(err)
	}
	now, _ := wake(p)
	p.Released(now, privacy.Answer{Sum: []float64{1, 2}, Slots: 8, Cohorts: []privacy.Cohort{1}})
	saved := p.State()
	q := testAgent(t, &saved)
	if err := q.Records(testRecords(1, 1, 9), nil); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(saved, q.State()) {
		t.Errorf("resumed with %+v, saved %+v", q.State(), saved)
	}
	if _, err := q.Receive(0, Message{From: "b", Kind: KindModel, Round: 6, Real: []float64{0, 0}}); !errors.Is(err, ErrStale) {
		t.Errorf("a round heard before the restart: %v, want ErrStale", err)
	}
	var ends []State
	for _, agent := range []*personal{p, q} {
		at, out := wake(agent)
		if out.Ask == nil || out.Ask.Round != 2 {
			t.Fatal("does not ask for round 2")
		}
		agent.Released(at, privacy.Answer{Sum: []float64{3, -1}, Slots: 8, Cohorts: []privacy.Cohort{1}})
		ends = append(ends, agent.State())
	}
	if !reflect.DeepEqual(ends[0], ends[1]) {
		t.Error("the resumed agent went another way")
	}
	saved.Model[0] = 99 // a state is a copy
	if q.State().Model[0] == 99 || p.State().Model[0] == 99 {
		t.Error("the state shares memory with the agent")
	}
}

func TestNewPersonalRefuses(t *testing.T) {
	task := plainTask("squared", 2)
	broken := plainTask("squared", 2)
	broken.Mu = 0
	good := Config{Self: "a", Task: task, WakeMean: 1, Schedule: source()}
	for name, change := range map[string]func(*Config){
		"no name":            func(c *Config) { c.Self = "" },
		"no task":            func(c *Config) { c.Task = nil },
		"no schedule":        func(c *Config) { c.Schedule = nil },
		"an invalid task":    func(c *Config) { c.Task = broken },
		"no wakes":           func(c *Config) { c.WakeMean = 0 },
		"endless waiting":    func(c *Config) { c.WakeMean = math.Inf(1) },
		"a state too short":  func(c *Config) { c.Resume = &State{Model: []float64{1}} },
		"a state not finite": func(c *Config) { c.Resume = &State{Model: []float64{1, math.NaN()}} },
		"a heard model too long": func(c *Config) {
			c.Resume = &State{Model: []float64{1, 1}, Heard: []Heard{{Peer: "b", Weight: 1, Round: 1, Model: []float64{1, 2, 3}}}}
		},
		"a heard model not finite": func(c *Config) {
			c.Resume = &State{Model: []float64{1, 1}, Heard: []Heard{{Peer: "b", Weight: 1, Round: 1, Model: []float64{1, math.NaN()}}}}
		},
		"a heard model of no round": func(c *Config) {
			c.Resume = &State{Model: []float64{1, 1}, Heard: []Heard{{Peer: "b", Weight: 1, Model: []float64{1, 1}}}}
		},
		"a heard model with wild noise": func(c *Config) {
			c.Resume = &State{Model: []float64{1, 1}, Heard: []Heard{{Peer: "b", Weight: 1, Round: 1, NoiseStd: math.NaN(), Model: []float64{1, 1}}}}
		},
	} {
		c := good
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}

func TestRecordsRefuses(t *testing.T) {
	for name, records := range map[string][]Record{
		"out of order":     {{Seq: 2, X: []float64{0, 0}}, {Seq: 1, X: []float64{0, 0}}},
		"twice":            {{Seq: 2, X: []float64{0, 0}}, {Seq: 2, X: []float64{0, 0}}},
		"without a number": {{X: []float64{0, 0}}},
		"too short":        {{Seq: 1, X: []float64{0}}},
		"not finite":       {{Seq: 1, X: []float64{0, math.Inf(1)}}},
		"target":           {{Seq: 1, X: []float64{0, 0}, Y: math.NaN()}},
	} {
		p := testAgent(t, nil)
		if err := p.Records(records, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
		if len(p.training.cohorts) > 0 {
			t.Errorf("%s: records were added", name)
		}
	}
}

// repeated is the policy of one mechanism for ever.
func repeated(m privacy.Mechanism) privacy.Policy {
	return privacy.Policy{Schedule: privacy.NewSchedule(privacy.Step{Mechanism: m, Count: 1})}
}

// One that lies pulls no further than an honest one is away; and where there is no noise in
// them, all together pull no further than the records do.
func TestHowFarLiarsPull(t *testing.T) {
	for _, asking := range []privacy.Mechanism{must(privacy.NewGaussian(1, 3)), {}} {
		p := testAgent(t, nil)
		p.asking = asking
		var edges []Edge
		for i := range enoughToJudge {
			edges = append(edges, Edge{Peer: ID(rune('c' + i)), Weight: 1})
		}
		p.set(edges)
		for i := range p.edges {
			p.latest[i].round, p.latest[i].model = 1, []float64{1, 0}
		}
		p.latest[0].model = []float64{13, 0}
		got, _, heard := p.pull(make([]float64, 2), []float64{0, 0.5 / p.task.Mu}, 1, 0)
		if want := map[bool]float64{true: 1, false: 0.5}[asking.Protected()]; !heard || math.Abs(got[0]-want) > 1e-9 {
			t.Errorf("protected %v: pulled to %v, heard %v, want %v", asking.Protected(), got, heard, want)
		}
	}
}
