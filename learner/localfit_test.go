package learner

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// propagationTask releases fits of p parameters.
func propagationTask(loss string, p int) *Task {
	t := plainTask(loss, p)
	t.Learner, t.Propagation = "propagation", Propagation{Ridge: 0.1, Tolerance: 1e-9}
	t.Release.Releases, t.Release.MaxReleases = 1, 1
	return t
}

func slots(records []Record) []slot {
	var data training
	data.add(records)
	return data.cohorts[0].slots
}

// example draws a record that a task with unit features admits; long ones and
// extreme targets come often.
func example(r *rand.Rand, seq Seq, p int, loss string) Record {
	x := make([]float64, p)
	for k := range x {
		x[k] = r.NormFloat64()
	}
	scaleToUnit(x, true)
	if r.IntN(3) == 0 {
		floats.Scale(r.Float64(), x)
	}
	y := 3 * r.NormFloat64()
	switch {
	case loss == "logistic" || loss == "hinge":
		y = float64(2*r.IntN(2) - 1)
	case loss == "multinomial":
		y = float64(r.IntN(3))
	case r.IntN(3) == 0:
		y = math.Copysign(100, y)
	}
	return Record{Seq: seq, X: x, Y: y}
}

// The released vector over 2 m r is the minimiser, to the tolerance. Newton's
// method with a clip that nothing reaches is the twin.
func TestFitIsTheMinimiser(t *testing.T) {
	for _, loss := range lossNames {
		task, r := propagationTask(loss, 3), rand.New(rand.NewPCG(1, 1))
		task.Radius = 1e3
		records, p := testExamples(r, 37, 3, loss), task.Dimension()
		got := task.localFit(slots(records), task.GradientBound())
		floats.Scale(1/(2*37*task.Propagation.Ridge), got)
		want, weight := make([]float64, p), make([]float64, p)
		floats.AddConst(37*task.Propagation.Ridge, weight)
		newFitter(task.loss(), RowsOf(records)).minimise(want, weight, make([]float64, p))
		if d := floats.Distance(got, want, 2); d > task.Propagation.Tolerance+1e-12 {
			t.Errorf("%s: %g from the minimiser", loss, d)
		}
	}
}

// testExamples is n records of which none is held out.
func testExamples(r *rand.Rand, n, p int, loss string) []Record {
	records := make([]Record, n)
	for j := range records {
		records[j] = example(r, Seq(5*j+1), p, loss)
	}
	return records
}

// With a clip that does matter, the gradient of the limited objective is zero
// where the fit ends, to the smoothness times the tolerance.
func TestFitWithClippedSlopes(t *testing.T) {
	for _, loss := range []string{"squared", "huber", "logistic", "hinge"} {
		task, r := propagationTask(loss, 4), rand.New(rand.NewPCG(2, 1))
		const m, clip = 50, 0.3
		records := testExamples(r, m, 4, loss)
		theta := task.localFit(slots(records), clip)
		floats.Scale(1/(2*m*task.Propagation.Ridge), theta)
		gradient, one := make([]float64, 4), make([]float64, 4)
		floats.ScaleTo(gradient, 2*task.Propagation.Ridge, theta)
		for _, x := range records {
			task.loss().gradient(one, theta, x.X, x.Y)
			if norm := floats.Norm(one, 2); norm > clip {
				floats.Scale(clip/norm, one)
			}
			floats.AddScaled(gradient, 1./m, one)
		}
		if norm := floats.Norm(gradient, 2); norm > task.fitSmoothness()*task.Propagation.Tolerance {
			t.Errorf("%s: the gradient has norm %g", loss, norm)
		}
	}
}

// Chaudhuri et al. 2011, lemma 7, by brute force: any record replaced by any
// other, or deleted, moves the released vector by at most 2C, whether the steps
// have converged or not; and the worst case comes that far.
func TestFitSensitivityAgainstNeighbouringDataSets(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, loss := range lossNames {
		for _, tolerance := range []float64{1e-9, 0.1, 1e3} { // hundreds of steps to one
			task := propagationTask(loss, 3)
			task.Clip, task.Propagation.Tolerance = 0.5, tolerance
			if loss == "multinomial" {
				task.Clip = task.GradientBound() // as its validation asks
			}
			bound := task.fitSensitivity(privacy.Gaussian).At(1)
			for range 100 {
				m := 1 + r.IntN(8)
				data := slots(testExamples(r, m, 3, loss))
				before := task.localFit(data, task.Clip)
				other := example(r, 1, 3, loss)
				j := r.IntN(m)
				data[j].x, data[j].y = other.X, other.Y
				if r.IntN(4) == 0 {
					data[j].x = nil
				}
				if d := floats.Distance(before, task.localFit(data, task.Clip), 2); d > bound {
					t.Fatalf("%s, tolerance %v: moved %v, more than %v", loss, tolerance, d, bound)
				}
			}
		}
	}
	task := propagationTask("squared", 2)
	task.Clip = 0.5
	high := task.localFit([]slot{{1, []float64{1, 0}, 100}, {2, []float64{0, 1}, 0}}, 0.5)
	low := task.localFit([]slot{{1, []float64{1, 0}, -100}, {2, []float64{0, 1}, 0}}, 0.5)
	if d := floats.Distance(high, low, 2); d < 0.999999 || d > 2*0.5*(1+1e-5) {
		t.Errorf("the worst case moved %v, want 2C = 1", d)
	}
}

// A record that no task encodes, one that is longer than the steps are made for or
// overflows, adds nothing: the proof does not hold for it.
func TestFitSensitivityToWhatNoTaskEncodes(t *testing.T) {
	task := propagationTask("squared", 2)
	task.Clip, task.Propagation.Ridge = 0.5, 0.01
	others := []slot{{1, []float64{1, 0}, 3}, {2, []float64{0.6, 0.8}, -2}}
	fit := func(s slot) []float64 { return task.localFit(append([]slot{s}, others...), task.Clip) }
	empty := fit(slot{})
	for name, s := range map[string]slot{
		"long": {3, []float64{40, 0}, 1}, "longer": {3, []float64{0, -1e6}, 1}, "endless": {3, []float64{1e300, 1e300}, 1}, "overflow": {3, []float64{0, 1}, 1.7e308},
	} {
		wantClose(t, name, fit(s), empty, 0)
	}
}

// The distance through the agent's own question: with the same noise the answers
// for neighbouring data sets differ by less than what is paid for, in the norm of
// the noise, and a lone record that moves all coordinates alike comes that far.
func TestPaidDistanceCoversTheAnswers(t *testing.T) {
	for _, noise := range []privacy.Noise{privacy.Gaussian, privacy.Laplace} {
		task, norm := propagationTask("squared", 4), 2.0
		if noise == privacy.Laplace {
			norm = 1
		}
		policy := must(task.Design(privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 1, Noise: noise}).Policy())
		answer := func(y float64) ([]float64, privacy.Mechanism) {
			a := must(New(Config{Self: "a", Task: task, Policy: policy, WakeMean: 1, Schedule: source()}))
			x := []float64{0.5, 0.5, 0.5, 0.5}
			if err := a.Records([]Record{{Seq: 1, X: x, Y: y}}, nil); err != nil {
				t.Fatal(err)
			}
			out := a.Tick(a.Neighbours(0, []Edge{{Peer: "b", Weight: 1, Live: true}}).Next)
			return privacy.NewSeededNoise(1).Answer(out.Ask.Mechanism, out.Ask.Sums).Sum, out.Ask.Mechanism
		}
		high, mechanism := answer(100)
		low, _ := answer(-100)
		d := floats.Distance(high, low, norm)
		if d > mechanism.Distance() || d < 0.999*mechanism.Distance() {
			t.Errorf("%s: the answers differ by %v, paid for is %v", noise, d, mechanism.Distance())
		}
		if scheduled, _ := policy.Next(0); scheduled != mechanism {
			t.Errorf("%s: asks for another mechanism than the policy's", noise)
		}
	}
}

// Sums of more than a block are the sums of all.
func TestFitOfManyRecords(t *testing.T) {
	task, r := propagationTask("squared", 2), rand.New(rand.NewPCG(4, 1))
	records := testExamples(r, fitBlock+300, 2, "squared")
	theta := task.localFit(slots(records), task.GradientBound())
	m := float64(len(records))
	floats.Scale(1/(2*m*task.Propagation.Ridge), theta)
	want, weight := make([]float64, 2), make([]float64, 2)
	floats.AddConst(m*task.Propagation.Ridge, weight)
	newFitter(task.loss(), RowsOf(records)).minimise(want, weight, make([]float64, 2))
	wantClose(t, "fit", theta, want, 1e-8)
}

func BenchmarkLocalFit(b *testing.B) {
	task := propagationTask("logistic", 20)
	task.Propagation.Tolerance = 1e-4
	data := slots(testExamples(rand.New(rand.NewPCG(5, 1)), 100, 20, "logistic"))
	for b.Loop() {
		task.localFit(data, task.Clip)
	}
}
