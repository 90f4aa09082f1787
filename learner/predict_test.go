package learner

import (
	"math"
	"testing"
)

func TestPredictInTheUnitsOfTheTarget(t *testing.T) {
	movies := Movies()
	x := make([]float64, movies.Dimension())
	x[0] = 1
	theta := make([]float64, len(x))
	for _, c := range []struct{ weight, want float64 }{{0, 3.5}, {1, 4.5}, {9, 5}, {-9, 0.5}} {
		theta[0] = c.weight
		if got := movies.Predict(theta, x); got != c.want {
			t.Errorf("rating %v, want %v", got, c.want)
		}
	}
	linear := Linear()
	x, theta = make([]float64, 20), make([]float64, 20)
	x[0] = 1
	for _, c := range []struct{ weight, want float64 }{{0, 0.5}, {math.Log(3), 0.75}, {-math.Log(3), 0.25}, {1e6, 1}, {-1e6, 0}} {
		theta[0] = c.weight
		if got := linear.Predict(theta, x); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("probability %v, want %v", got, c.want)
		}
	}
}

func TestPredictClasses(t *testing.T) {
	task := plainTask("multinomial", 2)
	x, theta := []float64{1, -1}, []float64{0, 0, math.Log(6), 0, 0, -math.Log(3)}
	if got := task.Predict(theta, x); got != 1 {
		t.Errorf("class %v, want 1", got)
	}
	wantClose(t, "probabilities", task.Probabilities(theta, x), []float64{0.1, 0.6, 0.3}, 1e-15)
	for i := range theta {
		theta[i] *= 1e6
	}
	wantClose(t, "huge scores", task.Probabilities(theta, x), []float64{0, 1, 0}, 0)
	hinge := plainTask("hinge", 1)
	for z, want := range map[float64]float64{3: 1, -0.1: -1, 0: 0} {
		if got := hinge.Predict([]float64{z}, []float64{1}); got != want || hinge.Probabilities([]float64{z}, []float64{1}) != nil {
			t.Errorf("hinge predicts %v at %v, want %v and no probabilities", got, z, want)
		}
	}
}

func TestError(t *testing.T) {
	squaredTask := plainTask("squared", 1)
	records := []Record{{X: []float64{1}, Y: 3}, {X: []float64{1}, Y: -1}}
	if got := squaredTask.Error([]float64{0}, records); math.Abs(got-math.Sqrt(5)) > 1e-15 {
		t.Errorf("root mean squared error %v, want sqrt 5", got)
	}
	logisticTask := plainTask("logistic", 1)
	labels := []Record{{X: []float64{1}, Y: 1}, {X: []float64{-1}, Y: 1}, {X: []float64{0}, Y: 1}, {X: []float64{2}, Y: 1}}
	if got := logisticTask.Error([]float64{1}, labels); got != 1.5/4 {
		t.Errorf("one minus accuracy %v, want 0.375", got)
	}
	classTask := plainTask("multinomial", 1)
	classes := []Record{{X: []float64{1}, Y: 0}, {X: []float64{1}, Y: 2}, {X: []float64{-1}, Y: 0}, {X: []float64{0}, Y: 1}}
	// Scores of (3, 3, -3): two classes share the first places, and at 0 all three.
	if got, want := classTask.Error([]float64{3, 3, -3}, classes), (0.5+1+1+2./3)/4; math.Abs(got-want) > 1e-15 {
		t.Errorf("one minus accuracy %v, want %v", got, want)
	}
	hingeTask, huberTask := plainTask("hinge", 1), plainTask("huber", 1)
	if got := hingeTask.Error([]float64{1}, labels); got != 1.5/4 {
		t.Errorf("one minus accuracy %v, want 0.375", got)
	}
	if got := huberTask.Error([]float64{0}, records); math.Abs(got-math.Sqrt(5)) > 1e-15 {
		t.Errorf("root mean squared error %v, want sqrt 5", got)
	}
	for _, task := range []*Task{squaredTask, logisticTask, classTask, hingeTask, huberTask} {
		if got := task.Error([]float64{0}, nil); !math.IsNaN(got) {
			t.Errorf("error without records %v, want NaN", got)
		}
	}
}

func TestProfileWeight(t *testing.T) {
	for _, c := range []struct {
		a, b        []float64
		gamma, want float64
	}{
		{[]float64{1, 0}, []float64{2, 0}, 0.1, 1},
		{[]float64{1, 0}, []float64{0, 1}, 1, math.Exp(-1)},
		{[]float64{1, 0}, []float64{-1, 0}, 1, math.Exp(-2)},
		{[]float64{1, 0}, []float64{0, 1}, 0.1, 0}, // exp(-10) is below the limit
		{[]float64{1, 0}, []float64{0, 0}, 1, 0},
		{[]float64{1, 0}, []float64{1}, 1, 0},
		{[]float64{1, 0}, []float64{math.NaN(), 1}, 1, 0},
		{[]float64{1e200, 1e200}, []float64{1e200, 1e200}, 1, 0}, // overflows
		{nil, nil, 1, 0},
	} {
		ab, ba := ProfileWeight(c.a, c.b, c.gamma), ProfileWeight(c.b, c.a, c.gamma)
		if math.Abs(ab-c.want) > 1e-15 || ab != ba {
			t.Errorf("ProfileWeight(%v, %v, %v) = %v and %v, want %v", c.a, c.b, c.gamma, ab, ba, c.want)
		}
	}
}
