package learner

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

func kmTask(operator, loss string) *Task {
	task := plainTask(loss, 3)
	task.Learner, task.Clip = "km", 0.5
	task.Rounds = Rounds{Count: 20, Seconds: 1, Step: 0.7}
	task.KM = KM{Operator: operator, Relaxation: 0.6}
	if operator != "gradient" {
		task.KM.L1, task.KM.L2 = 0.1, 0.05
	}
	return task
}

// The prox of the elastic net is where g r(u) + (u - y)^2/2 is least, found on a
// fine grid.
func TestProxOfThePenalty(t *testing.T) {
	task := kmTask("proximal", "squared")
	for y := -1.0; y <= 1; y += 0.05 {
		got := []float64{y}
		task.proxPenalty(got)
		best, least := 0.0, math.Inf(1)
		for u := -1.0; u <= 1; u += 1e-4 {
			value := task.Rounds.Step*(task.KM.L1*math.Abs(u)+task.KM.L2*u*u) + (u-y)*(u-y)/2
			if value < least {
				best, least = u, value
			}
		}
		if math.Abs(got[0]-best) > 1e-4 {
			t.Errorf("prox of %v is %v, the least is at %v", y, got[0], best)
		}
	}
	task.KM.L1, task.KM.L2 = 0, 0
	same := []float64{0.3, math.Copysign(0, -1), -4}
	task.proxPenalty(same)
	wantClose(t, "prox of nothing", same, []float64{0.3, 0, -4}, 0)
}

// K1, Douglas-Rachford: prox_{g f}(x) is certified to proxError. The optimality
// condition says how far from the solution a point is at most: g times the norm of
// its gradient, the problem being 1/g strongly convex.
func TestProxOfTheLossIsCertified(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	for _, loss := range []string{"squared", "logistic", "huber", "hinge"} {
		for _, g := range []float64{0.1, 1, 20} {
			task := kmTask("douglas-rachford", loss)
			task.Rounds.Step = g
			for _, m := range []int{1, 7, 40} {
				c := &cohort{slots: slots(testExamples(r, m, 3, loss))}
				x := []float64{5 * r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
				project(x, task.Radius)
				u := task.proxLoss(c, task.Clip, x)
				gradient := make([]float64, 3)
				c.clippedMean(gradient, task.clipper(task.Clip), u)
				floats.AddScaled(gradient, 1/g+2*task.regularisation(m), u)
				floats.AddScaled(gradient, -1/g, x)
				if off := g * floats.Norm(gradient, 2); off > proxError(g*task.Clip, m)+1e-13 {
					t.Errorf("%s, g %v, %d records: up to %v from the solution, certified for %v", loss, g, m, off, proxError(g*task.Clip, m))
				}
			}
		}
	}
}

// EQUATIONS of km: a record moves the prox of a mean of convex C-Lipschitz losses by
// at most 2 g C/m and twice the solver's error, whatever the records; and nearly as
// much when it pulls all the other way.
func TestProxSensitivityAgainstNeighbouringDataSets(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 1))
	for _, loss := range []string{"squared", "logistic", "huber", "hinge"} {
		task := kmTask("douglas-rachford", loss)
		for range 200 {
			m := 1 + r.IntN(8)
			data := slots(testExamples(r, m, 3, loss))
			x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
			bound := float64(m) * task.proxDistance(task.Clip, m)
			if planned := task.proxSensitivity(privacy.Gaussian).At(1); bound > planned {
				t.Fatalf("%s: %v for %d records, planned for %v", loss, bound, m, planned)
			}
			before := task.proxLoss(&cohort{slots: data}, task.Clip, x)
			other, j := example(r, 1, 3, loss), r.IntN(m)
			data[j].x, data[j].y = other.X, other.Y
			if r.IntN(4) == 0 {
				data[j].x = nil
			}
			if d := float64(m) * floats.Distance(before, task.proxLoss(&cohort{slots: data}, task.Clip, x), 2); d > bound {
				t.Fatalf("%s: %d records move %v, more than %v", loss, m, d, bound)
			}
		}
	}
	task := kmTask("douglas-rachford", "squared")
	// Nothing is longer in l1 than a vector of equal coordinates.
	if l2, l1 := task.proxSensitivity(privacy.Gaussian).At(1), task.proxSensitivity(privacy.Laplace).At(1); l1 < l2*math.Sqrt(3) {
		t.Errorf("in l1 %v, in l2 %v", l1, l2)
	}
	task.Lambda = 0
	pull := func(y float64) []float64 {
		return task.proxLoss(&cohort{slots: []slot{{x: []float64{1, 0, 0}, y: y}}}, task.Clip, make([]float64, 3))
	}
	if d, bound := floats.Distance(pull(50), pull(-50), 2), task.proxSensitivity(privacy.Gaussian).At(1); d < bound*(1-2e-4) {
		t.Errorf("opposite records move %v, the bound is %v", d, bound)
	}
}

// A task for which one release could take days is refused, however long its steps are.
func TestPassesOfARelease(t *testing.T) {
	task := kmTask("douglas-rachford", "logistic")
	task.Lambda = 0
	for step, good := range map[float64]bool{1: true, 1e3: true, 1e6: false, 1e9: false, 1e17: false, 1e20: false, 1e308: false} {
		task.Rounds.Step = step
		if passes := task.proxPasses(100, task.Clip); passes < 1 || good != (passes <= maxPasses) {
			t.Errorf("a step of %v takes %d passes", step, passes)
		}
		if err := task.Validate(); (err == nil) != good || err != nil && !strings.Contains(err.Error(), "key rounds.step: is too large for douglas-rachford") {
			t.Errorf("a step of %v: %v", step, err)
		}
		task.KM.Operator = "proximal"
		if err := task.Validate(); err != nil {
			t.Errorf("proximal with a step of %v: %v", step, err)
		}
		task.KM.Operator = "douglas-rachford"
	}
	task = propagationTask("logistic", 2)
	task.Propagation.Ridge = 1e-300
	if n := task.fitSteps(task.Clip); n != math.MaxInt32 {
		t.Errorf("the local fit takes %d steps", n)
	}
}

// What no task encodes cannot move a whole vector: records that are too long, or of
// which the gradient overflows, add nothing.
func TestClippedMeanTakesAnything(t *testing.T) {
	good := slot{x: []float64{0.6, 0, 0}, y: 1}
	want, got := make([]float64, 3), make([]float64, 3)
	theta := []float64{1, 2, 3}
	by := kmTask("douglas-rachford", "squared").clipper(0.5)
	(&cohort{slots: []slot{good, {}}}).clippedMean(want, by, theta)
	if want[0] == 0 {
		t.Fatal("a good record adds nothing")
	}
	for name, bad := range map[string]slot{
		"long": {x: []float64{0, 2, 0}, y: 1}, "endless": {x: []float64{1e300, 1e300, 0}, y: 1}, "overflow": {x: []float64{0, 1, 0}, y: 1.7e308},
		"out of range": {x: []float64{0, 1, 0}, y: 100.5}, "no number": {x: []float64{0, 1, 0}, y: math.NaN()},
	} {
		(&cohort{slots: []slot{good, bad}}).clippedMean(got, by, theta)
		wantClose(t, name, got, want, 0)
	}
}

// kmAgent has the live neighbour b and 12 records, 10 of them for training.
func kmAgent(t *testing.T, task *Task, d privacy.Design) *km {
	t.Helper()
	a := must(New(Config{Self: "a", Task: task, Policy: must(task.Design(d).Policy()), WakeMean: 1, Schedule: source()})).(*km)
	records := testExamples(rand.New(rand.NewPCG(23, 1)), 10, 3, task.Loss)
	if err := a.Records(records, nil); err != nil {
		t.Fatal(err)
	}
	a.Neighbours(0, []Edge{{Peer: "b", Weight: 1, Live: true}})
	return a
}

// Algorithm 1, corrected, from the door's answer alone, written out a second time:
// the message is made of the mix, the own published iterate and the answer, and it
// is what is returned.
func TestAlgorithm1FromTheDoorsAnswer(t *testing.T) {
	d := privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 20}
	for _, operator := range []string{"gradient", "proximal", "douglas-rachford"} {
		task := kmTask(operator, "squared")
		a := kmAgent(t, task, d)
		first := []float64{3, -2, 1}
		now := a.next
		a.Tick(now)
		a.Released(now, privacy.Answer{Sum: first, Slots: 10, Cohorts: []privacy.Cohort{0}})
		x, before := append([]float64(nil), a.published...), a.publishedStd
		for _, m := range []Message{modelOf("b", 1, 4, 1, 1, 1), ack("b", 1, 0)} {
			if _, err := a.Receive(now, m); err != nil {
				t.Fatal(err)
			}
		}
		out := a.Released(now, privacy.Answer{Sum: []float64{1, 2, 3}, Slots: 10, Cohorts: []privacy.Cohort{0}})
		if len(out.Send) != 1 || out.Send[0].Round != 2 {
			t.Fatalf("%s: sends %+v", operator, out.Send)
		}
		const g, alpha, lambda = 0.7, 0.6, 0.1
		shrink := func(v float64) float64 {
			if operator == "gradient" {
				return v
			}
			return math.Copysign(max(0, math.Abs(v)-g*0.1)/(1+2*g*0.05), v)
		}
		want := make([]float64, 3)
		for j, sum := range []float64{1, 2, 3} {
			moved := shrink(x[j] - g*(sum/10+2*lambda*x[j]))
			if operator == "douglas-rachford" {
				reflected := 2*sum/10 - x[j] // the answer is 10 prox_{g f}(x)
				moved = (x[j] + 2*shrink(reflected) - reflected) / 2
			}
			want[j] = 0.8*x[j] + 0.2*1 + alpha*(moved-x[j]) // degree 4: weight 1/5
		}
		wantClose(t, operator, out.Send[0].Real, want, publishedTolerance)
		wantClose(t, operator+": what is returned", a.State().Model, out.Send[0].Real, 0)
		fresh := a.asking.NoiseStd() / 10 // of the vector, or the mean gradient
		if operator != "douglas-rachford" {
			fresh *= g
		}
		std := math.Hypot(math.Hypot(0.8*before, 0.2*1), alpha*fresh)
		wantClose(t, operator+": the noise told, and returned", []float64{out.Send[0].NoiseStd, a.State().NoiseStd}, []float64{std, std}, 1e-14)
	}
}

// The mechanism of the schedule is that of every release: flat, and paid for to the
// last one.
func TestKMSpendsItsBudget(t *testing.T) {
	for _, operator := range []string{"gradient", "proximal", "douglas-rachford"} {
		for _, d := range []privacy.Design{
			{Noise: privacy.Gaussian}, {Noise: privacy.Laplace}, {Noise: privacy.Laplace, Accounting: privacy.CommittedPlan},
			{Noise: privacy.TruncatedLaplace, Accounting: privacy.CommittedPlan}, {Noise: privacy.TruncatedGaussian, Accounting: privacy.CommittedPlan},
		} {
			d.Budget, d.Releases = privacy.Budget{Epsilon: 1, Delta: 1e-6}, 5
			task := kmTask(operator, "logistic")
			a := kmAgent(t, task, d)
			account, noise := must(privacy.NewAccount(a.policy)), privacy.NewSeededNoise(1)
			paid := 0
			for range 9 {
				now := a.next
				out := a.Tick(now)
				for out.Ask != nil {
					debits := account.Admit(out.Ask.Mechanism, []privacy.Cohort{0})
					answer := privacy.Answer{}
					if len(debits) == 1 && account.Apply(debits[0]) == nil {
						answer, paid = noise.Answer(out.Ask.Mechanism, out.Ask.Sums), paid+1
					}
					out = a.Released(now, answer)
				}
			}
			if spent := account.Spent(0); paid != 5 || spent < 1-1e-3 {
				t.Errorf("%s, %s, %q: %d releases spent %v", operator, d.Noise, d.Accounting, paid, spent)
			}
		}
	}
}

func TestKMAndDiffusionRefuse(t *testing.T) {
	km := func(change func(*Task)) *Task { t := kmTask("proximal", "squared"); change(t); return t }
	diffusion := func(change func(*Task)) *Task {
		t := privateTask("squared", "transmit-only")
		change(t)
		return t
	}
	for key, task := range map[string]*Task{
		"km.operator":       km(func(t *Task) { t.KM.Operator = "admm" }),
		"km.operator ":      km(func(t *Task) { t.KM.Operator = "gradient" }),
		"km.relaxation":     km(func(t *Task) { t.KM.Relaxation = 1.1 }),
		"km.l1":             km(func(t *Task) { t.KM.L1 = -1 }),
		"km.l2":             km(func(t *Task) { t.KM.L2 = math.NaN() }),
		"km":                diffusion(func(t *Task) { t.KM.L1 = 1 }),
		"diffusion":         km(func(t *Task) { t.Diffusion.Noise = "iid" }),
		"diffusion.noise":   diffusion(func(t *Task) { t.Diffusion.Noise = "correlated" }),
		"rounds.step":       diffusion(func(t *Task) { t.Rounds.Step = 1.01 }), // 2/L, L = 2
		"rounds.step ":      km(func(t *Task) { t.Rounds.Step = 0 }),
		"rounds.seconds":    km(func(t *Task) { t.Rounds.Seconds = 0 }),
		"rounds.seconds ":   km(func(t *Task) { t.Rounds.Seconds = 0.09 }),
		"rounds.count":      km(func(t *Task) { t.Rounds.Count = -1 }),
		"rounds":            km(func(t *Task) { t.Learner, t.KM = "personal", KM{} }),
		"clip":              diffusion(func(t *Task) { *t = *multinomialTask("diffusion") }),
		"clip (three sets)": km(func(t *Task) { *t = *multinomialTask("km") }),
	} {
		wantFault(t, task, key)
	}
	sums := kmTask("gradient", "squared")
	vectors := must(kmTask("douglas-rachford", "squared").Design(privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 2}).Policy())
	for _, task := range []*Task{sums, diffusion(func(t *Task) { t.Diffusion.Noise = "iid" })} {
		if _, err := New(Config{Self: "a", Task: task, Policy: vectors, WakeMean: 1, Schedule: source()}); err == nil {
			t.Errorf("%s took a policy for whole vectors", task.Learner)
		}
	}
	plan := must(sums.Design(privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 2, Accounting: privacy.CommittedPlan}).Policy())
	if _, err := New(Config{Self: "a", Task: kmTask("douglas-rachford", "squared"), Policy: plan, WakeMean: 1, Schedule: source()}); err == nil {
		t.Error("douglas-rachford took a plan for sums")
	}
}

func multinomialTask(learner string) *Task {
	task := privateTask("multinomial", "transmit-only")
	task.Rounds.Step = 0.1
	if learner == "km" {
		task = kmTask("douglas-rachford", "multinomial")
	}
	return task
}

func wantFault(t *testing.T, task *Task, key string) {
	t.Helper()
	name, _, _ := strings.Cut(key, " ")
	if err := task.Validate(); err == nil || strings.Count(err.Error(), "key ") != 1 || !strings.Contains(err.Error(), "key "+name+":") {
		t.Errorf("%s: %v", key, err)
	}
}
