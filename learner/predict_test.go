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
	for _, task := range []*Task{squaredTask, logisticTask} {
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
