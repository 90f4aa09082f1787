package learner

import (
	"math"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

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
	wantClose(t, "model", m.Real, want, publishedTolerance)
	if m.From != "a" || m.To != "" || m.Kind != KindModel || m.Round != 1 {
		t.Errorf("message %+v is not a's first broadcast", m)
	}
	std := math.Sqrt(math.Pow((1-alpha-2*alpha*c*lambda)*0.1, 2) +
		alpha*alpha*(math.Pow(2./3*0.2, 2)+math.Pow(1./3*0.4, 2)) +
		math.Pow(alpha*c*p.asking.NoiseStd()/10, 2))
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
	}, publishedTolerance)
	std := math.Hypot((1-2*alpha*c*lambda)*0.1, alpha*c*p.asking.NoiseStd()/10)
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
	if norm := floats.Norm(out.Send[0].Real, 2); norm > 2*(1+1e-12) || norm < 2-publishedTolerance {
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
	if err := p.Records(testRecords(3, 13, 8), nil); err != nil { // 6 in training, where 10 have paid
		t.Fatal(err)
	}
	if _, out := wake(p); out.Ask != nil {
		t.Error("lets a few new records pay alone")
	}
	if err := p.Records(testRecords(3, 21, 2), []Seq{22}); err != nil { // its slot stays
		t.Fatal(err)
	}
	if _, out := wake(p); out.Ask != nil {
		t.Error("does not wait for the last two")
	}
	if err := p.Records(testRecords(4, 23, 2), nil); err != nil {
		t.Fatal(err)
	}
	if _, out := wake(p); out.Ask == nil || len(out.Ask.Sums) != 2 || out.Ask.Sums[0].Cohort() != 3 || out.Ask.Round != 3 {
		t.Error("does not go on with the new cohorts")
	}
}

// Records wait until they are as many as those that have paid, or as many as count in
// full; the first ones wait for nothing.
func TestMissingRecords(t *testing.T) {
	sums, vectors := plainTask("squared", 2), propagationTask("squared", 2)
	sums.ConfidenceAt, vectors.ConfidenceAt = 100, 100
	for _, k := range []struct {
		task        *Task
		fresh       []int
		spent, want int
	}{
		{sums, nil, 0, 0}, {sums, []int{1}, 0, 0}, {sums, nil, 1, 1}, {sums, []int{3}, 40, 37}, {sums, []int{20, 20}, 40, 0}, {sums, []int{30, 11}, 40, 0},
		{sums, nil, 5000, 100}, {sums, []int{90, 9}, 5000, 1}, {sums, []int{100}, 5000, 0},
		{vectors, nil, 0, 0}, {vectors, nil, 40, 40}, {vectors, []int{20, 20}, 40, 20}, {vectors, []int{40, 1}, 40, 0}, {vectors, []int{30, 8}, 40, 32},
	} {
		if got := k.task.Missing(k.fresh, k.spent); got != k.want {
			t.Errorf("%s: %v records with a budget and %d without: %d are missing, want %d", k.task.Learner, k.fresh, k.spent, got, k.want)
		}
	}
}

// A release of one cohort is of one that has enough by itself.
func TestTurnOfACohort(t *testing.T) {
	task := propagationTask("squared", 2)
	var own training
	own.spent = func(c privacy.Cohort) bool { return c == 1 }
	for _, k := range []struct {
		cohort privacy.Cohort
		first  Seq
		n      int
		want   privacy.Cohort // 0: none
	}{{1, 1, 4, 1}, {2, 6, 2, 0}, {3, 8, 2, 0}, {4, 11, 4, 4}, {2, 16, 3, 2}} {
		own.add(testRecords(k.cohort, k.first, k.n))
		if c := own.turn(task); own.active(task) != (k.want > 0) || (c != nil) != (k.want > 0) || c != nil && c.number != k.want {
			t.Errorf("after %d records of cohort %d it is the turn of %+v, want %d", k.n, k.cohort, c, k.want)
		}
	}
}

// Few new records do not pay alone, even if the door has not refused the older ones yet.
func TestFewRecordsDoNotPayAlone(t *testing.T) {
	for name, task := range map[string]*Task{
		"personal": plainTask("squared", 2), "propagation": propagationTask("squared", 2), "polar": polarTask(),
		"diffusion": privateTask("squared", "iid"), "km": kmTask("gradient", "squared"),
	} {
		a := must(New(Config{
			Self: "a", Task: task, Policy: must(task.Design(privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 1}).Policy()),
			WakeMean: 1, Schedule: source(), Masks: chacha('a'), Spent: func(c privacy.Cohort) bool { return c == 1 },
		}))
		var own *training
		switch a := a.(type) {
		case *personal:
			own = &a.training
		case *propagation:
			own = &a.training
		case *polarClient:
			own = &a.training
		case *diffusion:
			own = &a.training
		case *km:
			own = &a.training
		}
		for _, k := range []struct {
			records []Record
			pays    bool
		}{{testRecords(1, 1, 4), true}, {testRecords(2, 6, 3), false}, {testRecords(2, 9, 1), true}} {
			own.add(k.records)
			if own.active(task) != k.pays {
				t.Errorf("%s: after the records from %d on active is %t", name, k.records[0].Seq, own.active(task))
			}
		}
	}
}

func TestAnswerNobodyAskedForIsIgnored(t *testing.T) {
	p := testAgent(t, nil)
	before := p.State()
	if out := p.Released(0, privacy.Answer{Sum: []float64{1, 1}, Slots: 1}); len(out.Send) > 0 || !reflect.DeepEqual(before, p.State()) {
		t.Error("an answer without a question changed the agent")
	}
}
