package learner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// plainTask has p number features and nothing public to set.
func plainTask(loss string, p int) *Task {
	t := &Task{
		Name: "plain", Learner: "personal", Loss: loss,
		Target: Target{Name: "y", Min: -100, Max: 100},
		Mu:     1, Lambda: 1, Clip: 1, ConfidenceAt: 50, Radius: 10, CohortSize: 1000,
		Graph:   Graph{Rule: "random", Degree: 10},
		Local:   Local{Eta: 1, Kappa: 1},
		Release: Release{Epsilon: 1, Delta: 1e-6, Releases: 5, MaxEpsilon: 10, MaxDelta: 1e-3, MaxReleases: 100, WakeSeconds: 1, MinWake: 0.01},
	}
	switch loss {
	case "logistic", "hinge":
		t.Target = Target{Name: "y"}
	case "multinomial":
		t.Target = Target{Name: "y", Classes: []string{"red", "green", "blue"}}
	case "huber":
		t.Threshold = 1
	}
	if loss == "hinge" {
		t.Smoothing = 0.5
	}
	for i := range p {
		t.Features = append(t.Features, Feature{Name: string(rune('a' + i)), Kind: "number", Min: -1, Max: 1})
	}
	return t
}

// lossNames are all losses a task may name.
var lossNames = []string{"squared", "huber", "logistic", "hinge", "multinomial"}

// draw makes n records from a linear model with noise; every one trains.
func draw(r *rand.Rand, t *Task, theta []float64, n int, noise float64) []Record {
	records := make([]Record, n)
	for i := range records {
		x := make([]float64, t.Width())
		for k := range x {
			x[k] = 2*r.Float64() - 1
		}
		scaleToUnit(x, false)
		records[i] = labelled(r, t, theta, Seq(5*i+1), x, noise)
	}
	return records
}

// labelled is a record whose label the model theta gives, with noise in the scores.
func labelled(r *rand.Rand, t *Task, theta []float64, seq Seq, x []float64, noise float64) Record {
	z := make([]float64, t.loss().scores())
	scoresOf(z, theta, x)
	for k := range z {
		z[k] += noise * r.NormFloat64()
	}
	y := z[0]
	switch t.Loss {
	case "logistic", "hinge":
		y = math.Copysign(1, y)
	case "multinomial":
		y = float64(floats.MaxIdx(z))
	}
	return Record{Seq: seq, X: x, Y: y}
}

func normals(r *rand.Rand, p int) []float64 {
	v := make([]float64, p)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	return v
}

// Means over 25 fits. A wrong prior three times the size of the truth costs the
// logistic model most, a sixth of its error.
func TestFitPersonalUsesAGoodPriorAndIgnoresABadOne(t *testing.T) {
	const fits = 25
	for _, loss := range lossNames {
		r := rand.New(rand.NewPCG(4, 4))
		task := plainTask(loss, 10)
		truth := normals(r, task.Dimension())
		test := draw(r, task, truth, 2000, 0.3)
		var good, bad, alone float64
		for range fits {
			records := draw(r, task, truth, 20, 0.3)
			wrong := normals(r, task.Dimension())
			floats.Scale(3, wrong)
			m := FitPersonal(task, records, truth)
			good += task.Error(m.Theta, test)
			alone += task.Error(m.Alone, test)
			bad += task.Error(FitPersonal(task, records, wrong).Theta, test)
		}
		if good > 0.9*alone {
			t.Errorf("%s: error %.3f with the true model as prior, %.3f alone", loss, good/fits, alone/fits)
		}
		if bad > 1.25*alone {
			t.Errorf("%s: error %.3f with a wrong prior, %.3f alone", loss, bad/fits, alone/fits)
		}
	}
}

func TestFitPersonalSkipsHeldOutRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	task := plainTask("squared", 3)
	records := draw(r, task, []float64{1, 2, 3}, 20, 0.1)
	prior := []float64{1, 1, 1}
	want := FitPersonal(task, records, prior)
	records = append(records, Record{Seq: 1000, X: []float64{1, 0, 0}, Y: -50})
	got := FitPersonal(task, records, prior)
	wantClose(t, "theta", got.Theta, want.Theta, 0)
	wantClose(t, "alone", got.Alone, want.Alone, 0)
}

// Without a prior, or a neighbour, a fit is the lone one; a prior or a model of another length is a
// mistake that says so.
func TestFitWithoutAPrior(t *testing.T) {
	task := plainTask("squared", 2)
	records := testRecords(1, 1, 9)
	want := FitPersonal(task, records, make([]float64, 2)).Alone
	wantClose(t, "no prior", FitPersonal(task, records, nil).Theta, want, 0)
	wantClose(t, "no neighbour", FitAmong(task, records, State{}).Theta, want, 0)
	wantClose(t, "nothing", FitAmong(task, nil, State{}).Theta, make([]float64, 2), 0)
	for says, do := range map[string]func(){
		"a prior of 3 parameters, and models of the task have 2":                  func() { FitPersonal(task, records, make([]float64, 3)) },
		"a model of 3 parameters, and a record of 2 coordinates needs 2":          func() { task.Error(make([]float64, 3), records) },
		"learner: a model of 1 parameters, and a record of 2 coordinates needs 2": func() { task.Score(make([]float64, 1), slices.Values(records)) },
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, says) {
					t.Errorf("%s, want %s", said, says)
				}
			}()
			do()
		}()
	}
}

func TestFitPersonalAtTheEdges(t *testing.T) {
	task := plainTask("squared", 2)
	task.Local.Kappa = 2
	prior, zero := []float64{0.5, -1}, []float64{0, 0}
	records := []Record{{Seq: 1, X: []float64{1, 0}, Y: 1}, {Seq: 2, X: []float64{0, 1}, Y: 1}}

	none := FitPersonal(task, nil, prior)
	wantClose(t, "no records", none.Theta, []float64{1, -2}, 0)
	wantClose(t, "no records, alone", none.Alone, zero, 0)

	lone := FitPersonal(task, records, zero)
	wantClose(t, "zero prior", lone.Theta, lone.Alone, 0)

	one := FitPersonal(task, records[:1], prior)
	for _, v := range [][]float64{one.Theta, one.Alone} {
		if !finite(v) {
			t.Errorf("one record: %v", v)
		}
	}
	unstored := FitPersonal(task, []Record{{X: []float64{1, 0}, Y: 1}, {X: []float64{0, 1}, Y: 1}}, prior)
	wantClose(t, "records without a number", unstored.Theta, FitPersonal(task, records, prior).Theta, 0)

	perfect := FitPersonal(task, []Record{{Seq: 1, X: []float64{1, 0}}, {Seq: 2, X: []float64{0, 1}}}, prior)
	if !finite(perfect.Theta) {
		t.Errorf("a perfect fit: %v", perfect.Theta)
	}
}

func TestPriorIsTheWeightedMeanOfTheNeighbours(t *testing.T) {
	s := State{Model: []float64{9, 9}}
	wantClose(t, "nobody heard", Prior(s), s.Model, 0)
	s.Heard = []Heard{{Weight: 1, Model: []float64{1, 0}}, {Weight: 3, Model: []float64{0, 1}}}
	wantClose(t, "two heard", Prior(s), []float64{0.25, 0.75}, 1e-15)
}

// The pull of the constant is its own in every block.
func TestPullOfTheConstant(t *testing.T) {
	task := plainTask("multinomial", 2)
	task.Constant, task.Local = 0.5, Local{Eta: 3, EtaConstant: 0.25, Kappa: 1}
	s := newSearch(task, RowsOf([]Record{{X: []float64{1, 0, 0.5}}}), make([]float64, 9))
	own := constantRecords * 0.5 * 0.5 * 0.5 / 2 // of a loss with smoothness 1/2
	wantClose(t, "pull", s.pull(0, 1), []float64{6, 6, own, 6, 6, own, 6, 6, own}, 0)
	s.constant = 8
	wantClose(t, "pull, alone", s.pull(0, 1), []float64{6, 6, own, 6, 6, own, 6, 6, own}, 0)
	wantClose(t, "pull to a near prior", s.pull(1, 1), []float64{6, 6, 8 * own, 6, 6, 8 * own, 6, 6, 8 * own}, 1e-15)
	task.Local.Fixed = true
	wantClose(t, "fixed", s.pull(1, 0), []float64{3, 3, 0.25, 3, 3, 0.25, 3, 3, 0.25}, 0)
}

func BenchmarkFitPersonal(b *testing.B) {
	for _, loss := range lossNames {
		b.Run(loss, func(b *testing.B) {
			r := rand.New(rand.NewPCG(6, 6))
			task := plainTask(loss, 26)
			truth := normals(r, task.Dimension())
			records := draw(r, task, truth, 500, 1)
			for b.Loop() {
				FitPersonal(task, records, truth)
			}
		})
	}
}

// With fixed constants there is one fit, that of the normal equations: nothing that
// the records say moves eta or kappa.
func TestFixedFitIsThatOfTheTask(t *testing.T) {
	task := plainTask("squared", 3)
	task.Local = Local{Eta: 2, Kappa: 1.5, Fixed: true}
	records := draw(rand.New(rand.NewPCG(5, 6)), task, []float64{1, -1, 0.5}, 12, 0.3)
	prior := []float64{0.5, -2, 1}
	fit := func(kappa float64) []float64 {
		h, b := mat.NewSymDense(3, nil), mat.NewVecDense(3, nil)
		for k := range 3 {
			h.SetSym(k, k, task.Local.Eta)
			b.SetVec(k, task.Local.Eta*kappa*prior[k])
		}
		for _, r := range trainingRecords(records) {
			x := mat.NewVecDense(3, r.X)
			h.SymRankOne(h, 1, x)
			b.AddScaledVec(b, r.Y, x)
		}
		var theta mat.VecDense
		if err := theta.SolveVec(h, b); err != nil {
			t.Fatal(err)
		}
		return theta.RawVector().Data
	}
	m := FitPersonal(task, records, prior)
	if want := fit(task.Local.Kappa); !floats.EqualApprox(m.Theta, want, 1e-9) {
		t.Errorf("together %v, want %v", m.Theta, want)
	}
	if want := fit(0); !floats.EqualApprox(m.Alone, want, 1e-9) {
		t.Errorf("alone %v, want %v", m.Alone, want)
	}
}

// A guess of eta that is wrong by a factor of 2^10 either way costs at most 2 % of the
// error of the best guess, of numbers and classes, by exact and by lean fits. Means over
// 24 people with fixed seeds; with the narrow prior around the task's eta that went, the
// costs were 30 % to 120 %.
func TestAWrongEtaCostsLittle(t *testing.T) {
	const people = 24
	for _, c := range []struct {
		loss string
		p, m int
	}{{"squared", 10, 40}, {"logistic", 10, 40}, {"multinomial", 10, 60}, {"squared", 140, 150}, {"logistic", 140, 60}} {
		var errors []float64
		for octave := -10; octave <= 10; octave += 5 {
			r := rand.New(rand.NewPCG(21, 4))
			task := plainTask(c.loss, c.p)
			task.Constant, task.Local = 0.5, Local{Eta: math.Ldexp(task.loss().smoothness(1)/32, octave), EtaConstant: 1, Kappa: 1}
			var sum float64
			for range people {
				truth := normals(r, task.Dimension())
				floats.Scale(3, truth)
				records, test := draw(r, task, truth, c.m, 0.5), draw(r, task, truth, 500, 0.5)
				sum += task.Error(FitPersonal(task, records, make([]float64, task.Dimension())).Alone, test)
			}
			errors = append(errors, sum/people)
		}
		t.Logf("%s, %d features, %d records: %.4f", c.loss, c.p, c.m, errors)
		if best := floats.Min(errors); floats.Max(errors) > 1.02*best {
			t.Errorf("%s, %d features, %d records: errors %.4f for eta 2^-10 to 2^10 times the usual", c.loss, c.p, c.m, errors)
		}
	}
}

// What is learned of numbers does not depend on their unit, however small they are in it.
func TestPersonalModelInAnyUnit(t *testing.T) {
	for _, loss := range []string{"squared", "huber"} {
		fitted := func(unit float64) PersonalModel {
			r := rand.New(rand.NewPCG(5, 9))
			task, prior := plainTask(loss, 3), []float64{unit, -unit, unit / 2}
			task.Target.Min, task.Target.Max, task.Threshold = -10*unit, 10*unit, task.Threshold*unit
			var records []Record
			for i := range 20 {
				x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
				records = append(records, Record{Seq: Seq(i + 1), X: x, Y: unit * (2*x[0] - x[1] + 0.3*r.NormFloat64())})
			}
			m := FitPersonal(task, records, prior)
			floats.Scale(1/unit, m.Theta)
			floats.Scale(1/unit, m.Alone)
			return m
		}
		want := fitted(1)
		for _, unit := range []float64{1e-12, 1e-5, 1e6} {
			got := fitted(unit)
			wantClose(t, fmt.Sprintf("%s, in units of %g", loss, unit), got.Theta, want.Theta, 1e-6)
			wantClose(t, fmt.Sprintf("%s alone, in units of %g", loss, unit), got.Alone, want.Alone, 1e-6)
		}
	}
}

// Nor does it depend on how wide the target's range is, which is a guess about everybody.
func TestPersonalModelInAWideRange(t *testing.T) {
	for _, loss := range []string{"squared", "huber"} {
		fitted := func(reach float64) []float64 {
			r := rand.New(rand.NewPCG(6, 9))
			task := plainTask(loss, 3)
			task.Target.Min, task.Target.Max, task.Threshold = -reach, reach, task.Threshold*reach
			var records []Record
			for i := range 12 {
				x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
				records = append(records, Record{Seq: Seq(i + 1), X: x, Y: 2*x[0] - x[1] + 0.3*r.NormFloat64()})
			}
			return FitPersonal(task, records, make([]float64, 3)).Alone
		}
		wantClose(t, loss, fitted(1e8), fitted(1e2), 1e-6)
	}
}

// The bound on the constant's pull is for losses that are a line far off. Around a prior that explains
// much, the pull of a squared loss is that of many records.
func TestPullOfTheConstantAroundAGoodPrior(t *testing.T) {
	for loss, bounded := range map[string]bool{"squared": false, "huber": true} {
		r := rand.New(rand.NewPCG(6, 11))
		task := plainTask(loss, 1)
		task.Target.Min, task.Target.Max, task.Threshold, task.Constant = -10, 10, 0.01, 0.5
		prior := []float64{6, 4}
		var records []Record
		for i := range 20 {
			x := []float64{r.NormFloat64(), 0.5}
			records = append(records, Record{Seq: Seq(i + 1), X: x, Y: floats.Dot(prior, x) + 0.2 + 0.1*r.NormFloat64()})
		}
		s := newSearch(task, RowsOf(trainingRecords(records)), prior)
		mean, variance := s.unexplained(1)
		pull, usual := s.constantPull(1), min(constantRecords*s.constant, variance/(mean*mean-variance/s.records))
		if bounded {
			usual = 0.01 / mean
		}
		if math.Abs(pull/usual-1) > 1e-9 {
			t.Errorf("%s: a pull of %v records, want %v", loss, pull, usual)
		}
	}
}

// Equal labels are learned wherever in the range they are, also where the loss is a line at all of
// them, and a Newton step is too long by the ratio of the records to the constant's pull.
func TestPersonalModelOfEqualLabels(t *testing.T) {
	for _, p := range []int{0, 3, exactParameters} {
		for _, loss := range []string{"squared", "huber"} {
			for _, m := range []int{2, 10, 400} {
				task := plainTask(loss, p)
				task.Constant, task.Threshold = 0.5, task.Threshold/100
				records := draw(rand.New(rand.NewPCG(6, 12)), task, make([]float64, task.Dimension()), m, 0)
				for i := range records {
					records[i].X[p], records[i].Y = 0.5, 60
				}
				model := FitPersonal(task, records, nil).Alone
				if worst := task.Error(model, records); worst > 0.1 {
					t.Errorf("%s, %d features: of %d labels of 60 the model errs %.3g", loss, p, m, worst)
				}
			}
		}
	}
}

// The search ends, with finite models, whatever constants a task may have.
func TestPersonalModelAtTheBoundsOfATask(t *testing.T) {
	for _, loss := range lossNames {
		for _, bound := range []float64{leastConstant, mostConstant} {
			for _, change := range []func(*Task){
				func(task *Task) { task.Local.Eta = bound },
				func(task *Task) { task.Mu, task.Lambda = bound, bound },
				func(task *Task) { task.Local.Kappa, task.Radius = bound, maxRadius },
				func(task *Task) { task.Local.Eta, task.Local.EtaConstant, task.Local.Fixed = bound, bound, true },
				func(task *Task) {
					if loss == "hinge" {
						task.Smoothing = min(1, bound)
					} else if loss == "huber" {
						task.Threshold = bound
					}
				},
			} {
				task, r := plainTask(loss, 3), rand.New(rand.NewPCG(6, 13))
				task.Constant, task.Local.EtaConstant = 0.5, 1
				change(task)
				if err := task.Validate(); err != nil {
					t.Fatal(err)
				}
				truth := normals(r, task.Dimension())
				prior := floats.ScaleTo(make([]float64, len(truth)), task.Radius/floats.Norm(truth, 2), truth)
				if m := FitPersonal(task, draw(r, task, truth, 20, 0.1), prior); !finite(m.Theta) || !finite(m.Alone) {
					t.Errorf("%s, %g: %+v of %+v", loss, bound, m, task.Local)
				}
			}
		}
	}
}

// Even with constants that overflow, which no valid task has, the search ends.
func TestTheSearchEndsBeyondFloat64(t *testing.T) {
	for _, loss := range lossNames {
		for _, local := range []Local{{Eta: 1e308, Kappa: 1}, {Eta: 1e-310, Kappa: 1}, {Eta: 1, Kappa: 1e200}} {
			task, r := plainTask(loss, 3), rand.New(rand.NewPCG(6, 14))
			task.Local = local
			truth, fits := normals(r, task.Dimension()), 0
			for range PersonalModels(task, RowsOf(draw(r, task, truth, 20, 0.1)), truth, Noise{}) {
				if fits++; fits > 5000 {
					t.Fatalf("%s: %d fits with %+v", loss, fits, local)
				}
			}
		}
	}
}

// Labels far from the center of their range, a few of them far off, leave a robust fit where most
// labels are: the threshold bounds what the constant's pull may move, as it does a record.
func TestPersonalModelFarFromTheCenter(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 10))
	task := plainTask("huber", 1)
	task.Target.Min, task.Target.Max, task.Threshold, task.Constant = -1e4, 1e4, 3, 0.5
	var records []Record
	for i := range 40 {
		x := []float64{r.NormFloat64() / 2, 0.5}
		y := -8000 + 2*x[0] + 0.3*r.NormFloat64()
		if i%10 == 0 {
			y += 6000
		}
		records = append(records, Record{Seq: Seq(i + 1), X: x, Y: y})
	}
	theta := FitPersonal(task, records, make([]float64, 2)).Alone
	if level := theta[1] * 0.5; math.Abs(level+8000) > 1 || math.Abs(theta[0]-2) > 1 {
		t.Errorf("the fit is %v + %v x, want about -8000 + 2 x", level, theta[0])
	}
}
