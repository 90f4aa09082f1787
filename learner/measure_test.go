package learner

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMeasuresOfLosses(t *testing.T) {
	for _, c := range []struct {
		m          Measure
		loss, want float64
	}{{RMSE, 4, 2}, {MSE, 4, 4}, {ErrorShare, 0.25, 0.25}, {Accuracy, 0.25, 0.75}} {
		if got := c.m.Of(c.loss); got != c.want {
			t.Errorf("%s of a mean loss of %v: %v, want %v", c.m, c.loss, got, c.want)
		}
		if got := c.m.Loss(c.want); got != c.loss {
			t.Errorf("mean loss at %s %v: %v, want %v", c.m, c.want, got, c.loss)
		}
	}
	for loss, want := range map[string]Measure{"squared": RMSE, "huber": RMSE, "logistic": ErrorShare, "hinge": ErrorShare, "multinomial": ErrorShare} {
		if got := plainTask(loss, 1).Measure(); got != want {
			t.Errorf("loss %s is measured by %s, want %s", loss, got, want)
		}
	}
}

// Errors in the target's unit have four digits or five at any scale, all others four decimals.
func TestDecimals(t *testing.T) {
	for size, want := range map[float64]int{
		0.00042: 7, 0.042: 5, 0.42: 4, 1: 4, 9.99: 4, 10: 3, 1234.5: 1, 12345: 0, 1e9: 0, 1e-12: 15, 1e-23: 26, 1e-40: 27, 0: 4, math.Inf(1): 4, math.NaN(): 4,
	} {
		if got := RMSE.Decimals(size); got != want {
			t.Errorf("an RMSE of %v has %d decimals, want %d", size, got, want)
		}
		if got := ErrorShare.Decimals(size); got != 4 {
			t.Errorf("an error share of %v has %d decimals", size, got)
		}
	}
}

// Worked by hand.
func TestScoreOfTwoClasses(t *testing.T) {
	task := plainTask("logistic", 1)
	records := []Record{{X: []float64{2}, Y: 1}, {X: []float64{1}, Y: -1}, {X: []float64{0}, Y: 1}, {X: []float64{-1}, Y: -1}}
	s := task.Score([]float64{1}, slices.Values(records))
	wantClose(t, "losses", s.Losses, []float64{0, 1, 0.5, 0}, 0)
	log := func(z float64) float64 { return math.Log1p(math.Exp(-z)) }
	wantClose(t, "error, log loss, area", []float64{s.Error, s.LogLoss, s.AUC},
		[]float64{1.5 / 4, (log(2) + log(-1) + log(0) + log(1)) / 4, 3. / 4}, 1e-15)

	// Three of four training records are of class -1: log odds of (1+1) to (3+1).
	train := slices.Values([]Record{{Y: -1}, {Y: 1}, {Y: -1}, {Y: -1}})
	base := task.ScoreConstant(train, slices.Values(records))
	wantClose(t, "base", []float64{base.Error, base.LogLoss, base.AUC},
		[]float64{0.5, -(math.Log(1./3) + math.Log(2./3)) / 2, 0.5}, 1e-15)
	if base.SameClasses(s) || !base.SameClasses(task.Score([]float64{0.1}, slices.Values([]Record{{X: []float64{-1}}, {X: []float64{-2}}, {X: []float64{-3}}, {X: []float64{-4}}}))) {
		t.Error("only a model of negative scores predicts what the constant does")
	}
	if s := task.Score([]float64{1}, slices.Values(records[:1])); !math.IsNaN(s.AUC) {
		t.Errorf("area under the curve of one class %v, want NaN", s.AUC)
	}
}

func TestScoreOfClasses(t *testing.T) {
	task := plainTask("multinomial", 1) // three classes
	records := []Record{{X: []float64{1}, Y: 0}, {X: []float64{1}, Y: 2}, {X: []float64{1}, Y: 2}}
	base := task.ScoreConstant(slices.Values([]Record{{Y: 2}, {Y: 2}, {Y: 0}}), slices.Values(records))
	wantClose(t, "base", []float64{base.Error, base.LogLoss}, []float64{1. / 3, -(math.Log(2./6) + 2*math.Log(3./6)) / 3}, 1e-15)
	if !math.IsNaN(base.AUC) || !base.SameClasses(task.Score([]float64{0, 0, 1}, slices.Values(records))) || base.SameClasses(task.Score([]float64{0, 1, 1}, slices.Values(records))) {
		t.Error("three classes have no area under the curve, and the constant predicts the last of them")
	}
	// A tie for the first place is no decision.
	if tie := task.ScoreConstant(slices.Values([]Record{{Y: 2}, {Y: 0}}), slices.Values(records)); tie.Error != 0.5 {
		t.Errorf("error of an undecided constant %v, want 0.5", tie.Error)
	}
	if hinge := plainTask("hinge", 1).Score([]float64{1}, slices.Values([]Record{{X: []float64{1}, Y: 1}})); !math.IsNaN(hinge.LogLoss) || hinge.Error != 0 {
		t.Errorf("hinge: %+v, want no error and no log loss", hinge)
	}
}

func TestScoreOfNumbers(t *testing.T) {
	task := plainTask("squared", 1)
	train, records := slices.Values([]Record{{Y: 1}, {Y: 4}}), []Record{{X: []float64{1}, Y: 3}, {X: []float64{1}, Y: 2}}
	base := task.ScoreConstant(train, slices.Values(records))
	if base.Error != 0.5 || !math.IsNaN(base.LogLoss) || !math.IsNaN(base.AUC) || base.SameClasses(base) {
		t.Errorf("the mean 2.5 of the training records: %+v, want an error of 0.5 and nothing of classes", base)
	}
	if none := task.ScoreConstant(slices.Values([]Record(nil)), slices.Values(records)); none.Error != math.Sqrt(6.5) {
		t.Errorf("without training records the error is %v, want that of the middle", none.Error)
	}
	if s := task.Score([]float64{2}, slices.Values(records)); s.Error != task.Error([]float64{2}, records) || s.Error != math.Sqrt(0.5) {
		t.Errorf("error %v, want sqrt 0.5", s.Error)
	}
}

// Property: the area is the share of pairs in the right order, ties one half.
func TestAreaAgainstSlowTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for range 200 {
		n := 2 + r.IntN(40)
		z, y := make([]float64, n), make([]float64, n)
		for i := range z {
			z[i], y[i] = float64(r.IntN(8)), float64(2*r.IntN(2)-1)
		}
		y[0], y[1] = 1, -1
		var won, pairs float64
		for i := range z {
			for j := range z {
				if y[i] > 0 && y[j] < 0 {
					pairs++
					won += (1 + sign(z[i]-z[j])) / 2
				}
			}
		}
		if got, want := area(z, y), won/pairs; math.Abs(got-want) > 1e-12 {
			t.Fatalf("area %v, want %v", got, want)
		}
	}
	if got := area([]float64{math.NaN(), 1, math.NaN(), -5}, []float64{1, -1, -1, 1}); got != 0.5/4+1./4 {
		t.Errorf("area %v of scores that are not numbers", got)
	}
}

// Predictions follow the largest of them, and the range where that is far above all.
func TestDecimalsOfPredictions(t *testing.T) {
	for _, c := range []struct {
		task        Task
		predictions []float64
		want        int
	}{
		{Task{Loss: "squared", Target: Target{Max: 5}}, []float64{3.5, -3.25}, 4},
		{Task{Loss: "squared", Target: Target{Max: 1e6}}, []float64{0.001, 1234.567}, 1},
		{Task{Loss: "squared", Target: Target{Min: -0.001, Max: 0.001}}, []float64{0.0001, 0.000123456}, 7},
		{Task{Loss: "squared", Target: Target{Min: -5000, Max: 5000}}, []float64{0.0001234}, 4},
		{Task{Loss: "squared", Target: Target{Max: 1e-12}}, []float64{5e-13}, 16},
		{Task{Loss: "squared", Target: Target{Min: 1e-12, Max: 1e-3, Log: true}}, []float64{3e-11, 2e-11}, 14},
		{Task{Loss: "squared", Target: Target{Min: 1e-12, Max: 1e-3, Log: true}}, []float64{3e-4}, 7},
		{Task{Loss: "squared", Target: Target{Max: 1e6, Log: true}}, []float64{0.25}, 4},
		{Task{Loss: "squared", Target: Target{Max: 1e6, Log: true}}, []float64{12345}, 0},
		{Task{Loss: "logistic"}, []float64{0.0123, 0.5}, 3},
	} {
		if got := c.task.Decimals(c.predictions...); got != c.want {
			t.Errorf("%v: %d decimals, want %d", c.predictions, got, c.want)
		}
	}
}
