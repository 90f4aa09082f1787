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
	a := must(NewPersonal(PersonalConfig{
		Self: "a", Task: task, Mechanism: must(privacy.NewGaussian(1, 3)), WakeMean: 1, Schedule: source(), Resume: resume,
	}))
	a.Neighbours(0, []Edge{{Peer: "b", Weight: 2, Live: true}})
	return a.(*personal)
}

func testRecords(cohort privacy.Cohort, first Seq, n int) []Record {
	r := rand.New(rand.NewPCG(uint64(first), 1))
	out := make([]Record, n)
	for i := range out {
		out[i] = Record{Seq: first + Seq(i), Cohort: cohort, X: []float64{r.Float64(), r.Float64() - 1}, Y: r.NormFloat64()}
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

// Eq. 6 from the answer alone, written out a second time.
func TestEquation6FromTheDoorsAnswer(t *testing.T) {
	p := testAgent(t, nil)
	p.model, p.noiseStd = []float64{0.5, -0.25}, 0.1
	p.Neighbours(0, []Edge{{Peer: "c", Weight: 1, Live: true}, {Peer: "b", Weight: 2}, {Peer: "d", Weight: 1}})
	for _, m := range []Message{
		{From: "b", Kind: KindModel, Round: 4, NoiseStd: 0.2, Real: []float64{1, 0}},
		{From: "c", Kind: KindModel, Round: 1, NoiseStd: 0.4, Real: []float64{0, 1}},
	} {
		if _, err := p.Receive(0, m); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Records(testRecords(1, 1, 12), nil); err != nil {
		t.Fatal(err)
	}
	now, _ := wake(p)
	out := p.Released(now, privacy.Answer{Sum: []float64{10, -20}, Slots: 10, Cohorts: []privacy.Cohort{1}})

	// m = 10 slots, mu = 1, lambda = 1, m_ref = 50, |x| <= 1; d has not been heard and does not count.
	lambda, c := 0.1, 0.2
	alpha := 1 / (1 + c*(2+2*lambda))
	mean := []float64{2. / 3, 1. / 3}
	want := make([]float64, 2)
	for k, data := range []float64{1, -2} {
		own := []float64{0.5, -0.25}[k]
		want[k] = (1-alpha)*own + alpha*(mean[k]-c*(data+2*lambda*own))
	}
	if len(out.Send) != 1 {
		t.Fatalf("%d messages, want one", len(out.Send))
	}
	m := out.Send[0]
	wantClose(t, "model", m.Real, want, 1e-14)
	if m.From != "a" || m.To != "" || m.Kind != KindModel || m.Round != 1 {
		t.Errorf("message %+v is not a's first broadcast", m)
	}
	std := math.Sqrt(math.Pow((1-alpha-2*alpha*c*lambda)*0.1, 2) +
		alpha*alpha*(math.Pow(2./3*0.2, 2)+math.Pow(1./3*0.4, 2)) +
		math.Pow(alpha*c*p.mechanism.Sigma()/10, 2))
	if math.Abs(m.NoiseStd-std) > 1e-14 {
		t.Errorf("noise %v, want %v", m.NoiseStd, std)
	}
	s := p.State()
	wantClose(t, "own state", s.Model, m.Real, 0) // own state = published state
	if s.Round != 1 || s.NoiseStd != m.NoiseStd || len(s.Heard) != 2 {
		t.Errorf("state of round %d with %d heard", s.Round, len(s.Heard))
	}
}

func TestAgentThatHeardNobodyAgreesWithItself(t *testing.T) {
	p := testAgent(t, &State{Round: 3, Model: []float64{0.5, -0.25}, NoiseStd: 0.1})
	if err := p.Records(testRecords(1, 1, 12), nil); err != nil {
		t.Fatal(err)
	}
	now, _ := wake(p)
	m := p.Released(now, privacy.Answer{Sum: []float64{10, -20}, Slots: 10, Cohorts: []privacy.Cohort{1}}).Send[0]
	const alpha, c, lambda = 1 / (1 + 0.2*2.2), 0.2, 0.1
	wantClose(t, "a gradient step", m.Real, []float64{
		0.5 - alpha*c*(1+2*lambda*0.5), -0.25 - alpha*c*(-2-2*lambda*0.25),
	}, 1e-14)
	std := math.Hypot((1-2*alpha*c*lambda)*0.1, alpha*c*p.mechanism.Sigma()/10)
	if m.Round != 4 || math.Abs(m.NoiseStd-std) > 1e-14 {
		t.Errorf("round %d, noise %v; want 4 and %v", m.Round, m.NoiseStd, std)
	}
}

// The declared noise of a first release is the spread of what is really sent.
// 4,000 draws of 2 coordinates: the relative error of the sample standard
// deviation is about 1/sqrt(16000) = 0.8%, so 4% fails by chance less often
// than once in a million.
func TestDeclaredNoiseIsTheSpreadOfTheMessages(t *testing.T) {
	noise := privacy.NewSeededNoise(5)
	var declared float64
	sum, squares := make([]float64, 2), make([]float64, 2)
	const draws = 4000
	for range draws {
		p := testAgent(t, nil)
		p.task.Radius = 1e6
		if err := p.Records(testRecords(1, 1, 12), nil); err != nil {
			t.Fatal(err)
		}
		now, out := wake(p)
		m := p.Released(now, noise.Answer(out.Ask.Mechanism, out.Ask.Sums)).Send[0]
		declared = m.NoiseStd
		for k, v := range m.Real {
			sum[k] += v / draws
			squares[k] += v * v / draws
		}
	}
	variance := (squares[0] - sum[0]*sum[0] + squares[1] - sum[1]*sum[1]) / 2
	if got := math.Sqrt(variance); math.Abs(got/declared-1) > 0.04 {
		t.Errorf("spread %v, declared %v", got, declared)
	}
}

func TestMessagesStayInTheBall(t *testing.T) {
	p := testAgent(t, nil)
	if err := p.Records(testRecords(1, 1, 4), nil); err != nil {
		t.Fatal(err)
	}
	now, _ := wake(p)
	out := p.Released(now, privacy.Answer{Sum: []float64{1e9, -1e9}, Slots: 4, Cohorts: []privacy.Cohort{1}})
	if norm := floats.Norm(out.Send[0].Real, 2); norm > 2*(1+1e-12) || norm < 2*(1-1e-12) {
		t.Errorf("norm %v, want the radius 2", norm)
	}
	wantClose(t, "own state", p.State().Model, out.Send[0].Real, 0)
}

func TestExhaustedCohortsLeaveTheTrainingSet(t *testing.T) {
	p := testAgent(t, nil)
	if err := p.Records(append(testRecords(1, 1, 6), testRecords(2, 7, 6)...), nil); err != nil {
		t.Fatal(err)
	}
	answer := func(cohorts ...privacy.Cohort) {
		now, out := wake(p)
		if out.Ask == nil {
			t.Fatal("does not ask")
		}
		a := privacy.Answer{Cohorts: cohorts}
		if len(cohorts) > 0 {
			a.Sum, a.Slots = []float64{0, 0}, 5
		}
		p.Released(now, a)
	}
	answer(1, 2)
	answer(2) // cohort 1 could not pay
	_, out := wake(p)
	if len(out.Ask.Sums) != 1 || out.Ask.Sums[0].Cohort() != 2 {
		t.Fatal("asks for a cohort that can never pay again")
	}
	p.Released(p.next-1, privacy.Answer{})
	if p.round != 2 {
		t.Errorf("round %d after two releases", p.round)
	}
	if _, out := wake(p); out.Ask != nil {
		t.Error("asks although everything is spent")
	}
	if err := p.Records(testRecords(3, 13, 2), nil); err != nil {
		t.Fatal(err)
	}
	if _, out := wake(p); out.Ask == nil || len(out.Ask.Sums) != 1 || out.Ask.Sums[0].Cohort() != 3 || out.Ask.Round != 3 {
		t.Error("does not go on with the new cohort")
	}
}

func TestAnswerNobodyAskedForIsIgnored(t *testing.T) {
	p := testAgent(t, nil)
	before := p.State()
	if out := p.Released(0, privacy.Answer{Sum: []float64{1, 1}, Slots: 1}); len(out.Send) > 0 || !reflect.DeepEqual(before, p.State()) {
		t.Error("an answer without a question changed the agent")
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
			floats.AddScaled(want, squared{}.slope(0, r.Y), r.X)
		}
	}
	mechanism := must(privacy.NewUnprotected(100))
	for _, agent := range []*personal{p, q} {
		a := privacy.NewSeededNoise(1).Answer(mechanism, agent.training.sums(squared{}, mechanism, []float64{0, 0}))
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
	good := PersonalConfig{Self: "a", Task: task, WakeMean: 1, Schedule: source()}
	for name, change := range map[string]func(*PersonalConfig){
		"no name":            func(c *PersonalConfig) { c.Self = "" },
		"no task":            func(c *PersonalConfig) { c.Task = nil },
		"no schedule":        func(c *PersonalConfig) { c.Schedule = nil },
		"an invalid task":    func(c *PersonalConfig) { c.Task = broken },
		"no wakes":           func(c *PersonalConfig) { c.WakeMean = 0 },
		"endless waiting":    func(c *PersonalConfig) { c.WakeMean = math.Inf(1) },
		"a state too short":  func(c *PersonalConfig) { c.Resume = &State{Model: []float64{1}} },
		"a state not finite": func(c *PersonalConfig) { c.Resume = &State{Model: []float64{1, math.NaN()}} },
		"a heard model too long": func(c *PersonalConfig) {
			c.Resume = &State{Model: []float64{1, 1}, Heard: []Heard{{Peer: "b", Weight: 1, Round: 1, Model: []float64{1, 2, 3}}}}
		},
	} {
		c := good
		change(&c)
		if _, err := NewPersonal(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewPersonal(good); err != nil {
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

func TestReplayGivesTheSameBits(t *testing.T) {
	r := &Recorder{Agent: testAgent(t, nil)}
	noise := privacy.NewSeededNoise(3)
	steps := rand.New(rand.NewPCG(8, 8))
	seq := Seq(1)
	for k := range 200 {
		now := time.Duration(k) * 300 * time.Millisecond
		switch steps.IntN(5) {
		case 0:
			n := steps.IntN(3)
			if err := r.Records(testRecords(privacy.Cohort(seq/20), seq, n), []Seq{seq / 2}); err != nil {
				t.Fatal(err)
			}
			seq += Seq(n)
		case 1:
			_, _ = r.Receive(now, Message{From: "b", Kind: KindModel, Round: uint64(k + 20 - steps.IntN(20)), NoiseStd: 0.1, Real: normals(steps, 2)})
		case 2:
			r.Neighbours(now, []Edge{{Peer: "b", Weight: steps.Float64(), Live: true}, {Peer: "c", Weight: 1}})
		default:
			if out := r.Tick(now); out.Ask != nil {
				r.Released(now, noise.Answer(out.Ask.Mechanism, out.Ask.Sums))
			}
		}
	}
	want := r.State()
	if want.Round < 10 {
		t.Fatalf("only %d releases: the trace shows nothing", want.Round)
	}
	if got := Replay(testAgent(t, nil), r.Trace); !reflect.DeepEqual(got, want) {
		t.Errorf("replayed %+v, recorded %+v", got, want)
	}
}
