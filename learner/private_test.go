package learner

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// twoWorlds are two diffusion agents that differ in one record and see one
// transcript: the same answers from the door, the same messages.
type twoWorlds struct {
	*testing.T
	r      *rand.Rand
	agents [2]*diffusion
	round  uint64
	spread float64 // of the answers
	alone  bool    // nobody is ever heard
	now    time.Duration
	asked  [2]*Query // before the next turn
}

func newTwoWorlds(t *testing.T, seed uint64, task *Task, policy privacy.Policy, records [2][]Record) *twoWorlds {
	t.Helper()
	w := &twoWorlds{T: t, r: rand.New(rand.NewPCG(seed, 3)), spread: 20}
	for i := range w.agents {
		w.agents[i] = must(New(Config{Self: "a", Task: task, Policy: policy, WakeMean: 1, Schedule: source()})).(*diffusion)
		if err := w.agents[i].Records(records[i], nil); err != nil {
			t.Fatal(err)
		}
		w.agents[i].Neighbours(0, []Edge{{Peer: "b", Weight: 1, Live: true}, {Peer: "c", Weight: 1, Live: true}, {Peer: "d", Weight: 1, Live: true}})
	}
	return w
}

// turn lets both take the next round and returns how far apart, in the norm of the
// noise, the vectors they release are, with the mechanism. Neighbours are heard or
// not, with degrees from 1 to 5, and d never is, so that rounds end without it, at a
// deadline or before: the own weight is anything from 1/2 to 1,
// and 1 for worlds that are alone.
func (w *twoWorlds) turn() (apart float64, m privacy.Mechanism) {
	var queries [2]*Query
	now := w.now
	if w.asked[0] == nil {
		now = w.agents[0].next
	}
	answer := make([]float64, len(w.agents[0].model))
	for k := range answer {
		answer[k] = w.spread * w.r.NormFloat64()
	}
	var said []Message
	for _, peer := range []ID{"b", "c"} {
		if w.r.IntN(3) > 0 && !w.alone {
			said = append(said, modelOf(peer, w.round+1, 1+w.r.IntN(5), w.r.NormFloat64(), w.r.NormFloat64(), w.r.NormFloat64()), ack(peer, w.round+1, 0))
		}
	}
	var phi [2][]float64
	for i, a := range w.agents {
		if queries[i] = w.asked[i]; queries[i] == nil {
			out := a.Tick(now)
			for ; i == 0 && out.Ask == nil && out.Next != Never; out = a.Tick(now) {
				now = out.Next
			}
			queries[i] = out.Ask
		}
		if w.asked[i] = nil; queries[i] == nil {
			w.Fatalf("round %d asks for nothing", w.round+1)
		}
		s := queries[i].Sums[0]
		phi[i] = a.private.phi
		a.Released(now, privacy.Answer{Sum: answer, Slots: s.Slots(), Cohorts: []privacy.Cohort{s.Cohort()}})
		for _, m := range said {
			out, err := a.Receive(now, m)
			if err != nil {
				w.Fatal(err)
			}
			if out.Ask != nil { // all are there but d
				w.asked[i] = out.Ask
			}
		}
	}
	if queries[0].Mechanism != queries[1].Mechanism {
		w.Fatal("the mechanism tells the worlds apart")
	}
	w.round, w.now = w.round+1, now
	norm := 2.0
	if m = queries[0].Mechanism; m.Noise() == privacy.Laplace {
		norm = 1
	}
	return floats.Distance(phi[0], phi[1], norm), m
}

// privateTask releases whole vectors of three coordinates.
func privateTask(loss, noise string) *Task {
	task := plainTask(loss, 3)
	task.Learner, task.Diffusion.Noise, task.Clip = "diffusion", noise, 0.5
	task.Rounds = Rounds{Seconds: 1, Step: 0.4}
	return task
}

func privatePolicy(task *Task, law privacy.Noise, accounting privacy.Accounting) privacy.Policy {
	return must(task.Design(privacy.Design{
		Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 5, Noise: law, Accounting: accounting,
	}).Policy())
}

// Vlaski and Sayed, (11.44) to (11.52) put right: whatever the records, the answers
// and the neighbours, the vectors of two worlds with one transcript are no further
// apart than D_i = r D_{i-1} + 2 mu C/m, which is what their mechanism is for.
func TestConditionalSensitivityOfDiffusion(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	for _, noise := range []string{"transmit-only", "graph-homomorphic"} {
		for _, loss := range []string{"squared", "logistic"} {
			for _, lambda := range []float64{0, 1} {
				task := privateTask(loss, noise)
				task.Lambda = lambda
				task.Rounds.Step = 2 / task.loss().smoothness(1) // with lambda, beyond what contracts
				for seed := range uint64(40) {
					policy := privatePolicy(task, []privacy.Noise{privacy.Gaussian, privacy.Laplace}[seed%2], "")
					m := 1 + r.IntN(6)
					one := testExamples(r, m, 3, loss)
					other := append([]Record(nil), one...)
					other[r.IntN(m)] = Record{}
					for j := range other {
						if other[j].X == nil {
							other[j] = example(r, one[j].Seq, 3, loss)
						}
					}
					w := newTwoWorlds(t, seed, task, policy, [2][]Record{one, other})
					for range 12 {
						if apart, mechanism := w.turn(); apart*float64(m) > mechanism.Distance() {
							t.Fatalf("%s, %s, lambda %v, round %d: %v apart, the mechanism is for %v", noise, loss, lambda, w.round, apart*float64(m), mechanism.Distance())
						}
					}
				}
			}
		}
	}
}

// q is the most that a step stretches any direction: the Hessian's eigenvalues lie
// between 2 lambda and L + 2 lambda.
func TestContractionOfAStep(t *testing.T) {
	task := privateTask("squared", "transmit-only")
	for _, step := range []float64{0.01, 0.3, 0.7, 1} {
		for _, lambda := range []float64{0, 0.5, 4} {
			for _, m := range []int{1, 3, 50} {
				task.Rounds.Step, task.Lambda = step, lambda
				var want float64
				for h := 0.0; h <= 2; h += 0.125 { // L = 2
					want = max(want, math.Abs(1-step*(h+2*lambda/float64(m))))
				}
				if got := task.contraction(m); got < want || got > want+1e-10 {
					t.Errorf("step %v, lambda %v, %d records: %v, want %v", step, lambda, m, got, want)
				}
			}
		}
	}
}

// The bound is attained: two records that pull in opposite directions, clipped all
// the way, move graph-homomorphic releases 2 mu C i apart.
func TestConditionalSensitivityIsAttained(t *testing.T) {
	task := privateTask("squared", "graph-homomorphic")
	task.Lambda, task.Rounds.Step = 0, 0.01
	record := func(y float64) []Record { return []Record{{Seq: 1, X: []float64{1, 0, 0}, Y: y}} }
	w := newTwoWorlds(t, 1, task, privatePolicy(task, privacy.Gaussian, ""), [2][]Record{record(100), record(-100)})
	w.spread = 0.1 // so that nothing leaves the ball, which would bring them together
	for i := 1; i <= 8; i++ {
		apart, mechanism := w.turn()
		want := 2 * task.Rounds.Step * task.Clip * float64(i)
		if math.Abs(apart/want-1) > 1e-9 || mechanism.Distance() > want*(1+1e-5) {
			t.Errorf("release %d is %v apart, its mechanism for %v; want %v", i, apart, mechanism.Distance(), want)
		}
	}
}

// The schedule of the design has room for what an agent carries, in every norm;
// and a filter charges what was carried, which for transmit-only is less.
func TestDesignCoversDiffusion(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	for _, noise := range []string{"transmit-only", "graph-homomorphic"} {
		for _, law := range []privacy.Noise{privacy.Gaussian, privacy.Laplace} {
			for _, accounting := range []privacy.Accounting{"", privacy.CommittedPlan} {
				task := privateTask("logistic", noise)
				task.Graph.Degree = 1 // the forecast of r is 1
				policy := privatePolicy(task, law, accounting)
				account := must(privacy.NewAccount(policy))
				records := testExamples(r, 7, 3, "logistic")
				w := newTwoWorlds(t, 5, task, policy, [2][]Record{records, records})
				for i := range policy.Schedule.Releases() {
					planned, _ := policy.Next(i)
					_, m := w.turn()
					if m.Distance() > planned.Distance() {
						t.Errorf("%s, %s: release %d may be %v apart, planned for %v", noise, law, i+1, m.Distance(), planned.Distance())
					}
					debits := account.Admit(m, []privacy.Cohort{0})
					if len(debits) != 1 || account.Apply(debits[0]) != nil {
						t.Fatalf("%s, %s, %q: release %d cannot be paid", noise, law, accounting, i+1)
					}
				}
				spent := account.Spent(0)
				if accounting == "" && noise == "transmit-only" && spent > 0.9 {
					t.Errorf("%s: %v of the budget spent on less than was planned for", law, spent)
				}
			}
		}
	}
}

// Under a plan that has no room for more, and when the budget has none, the private
// part is let go and the state goes on from what is public; so it does when it is
// another cohort's turn.
func TestPrivateStateIsLetGo(t *testing.T) {
	task := privateTask("logistic", "graph-homomorphic")
	design := task.Design(privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 6, Accounting: privacy.CommittedPlan})
	design.Carried.Keep = 0 // room for one round's step, never more
	policy := must(design.Policy())
	r := rand.New(rand.NewPCG(13, 1))
	records := testExamples(r, 10, 3, "logistic")
	for i := range records[5:] {
		records[5+i].Cohort = 1
	}
	w := newTwoWorlds(t, 2, task, policy, [2][]Record{records, records})
	a := w.agents[0]
	for range 4 {
		w.turn()
		if a.private.apart != 0 || a.private.cohort != 0 {
			t.Errorf("round %d releases what was carried, beyond its plan", w.round)
		}
	}

	a = must(New(Config{Self: "a", Task: task, Policy: privatePolicy(task, "", ""), WakeMean: 1, Schedule: source()})).(*diffusion)
	if err := a.Records(records, nil); err != nil {
		t.Fatal(err)
	}
	a.Neighbours(0, []Edge{{Peer: "b", Weight: 1, Live: true}, {Peer: "c", Weight: 1, Live: true}, {Peer: "d", Weight: 1, Live: true}})
	for range 2 {
		now := a.next
		a.Tick(now)
		a.Released(now, privacy.Answer{Sum: []float64{1, 2, 3}, Slots: 5, Cohorts: []privacy.Cohort{0}})
	}
	now := a.next
	if a.Tick(now); a.private.apart == 0 {
		t.Error("carries nothing although there is room")
	}
	a.training.cohorts[0].retired = true
	if q := a.query(); q == nil || q.Sums[0].Cohort() != 1 || a.private.apart != 0 {
		t.Errorf("asks %+v carrying %v of another cohort's secret", q, a.private.apart)
	}
	a.training.cohorts[0].retired = false
	a.query()
	a.private.apart = 1
	out := a.Released(now, privacy.Answer{}) // too dear
	if out.Ask == nil || out.Ask.Sums[0].Cohort() != 0 || a.private.apart != 0 {
		t.Fatalf("asks %+v, want the same cohort, from what is public", out.Ask)
	}
	out = a.Released(now, privacy.Answer{}) // cohort 0 cannot pay even so
	if out.Ask == nil || out.Ask.Sums[0].Cohort() != 1 || a.private.apart != 0 {
		t.Fatalf("asks %+v, want the next cohort, from what is public", out.Ask)
	}
	wantClose(t, "the state", a.private.w, a.model, 0)
	if out := a.Released(now, privacy.Answer{}); out.Ask != nil || a.training.active(task) {
		t.Error("asks although no cohort is left")
	}
}
