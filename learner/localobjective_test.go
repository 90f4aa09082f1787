package learner

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

func TestLocalObjectiveMatchesGolden(t *testing.T) {
	for name, g := range goldenCases(t) {
		for i, records := range g.records {
			o := g.task.LocalObjective(records)
			got := []float64{1, 2, 3}
			o.AddGradient(got, 0.5, g.Inputs.Theta0[i])
			want := []float64{1, 2, 3}
			floats.AddScaled(want, 0.5, g.Gradients[i])
			wantClose(t, name, got, want, goldenTolerance)
			wantClose(t, name, []float64{o.Confidence}, g.Inputs.C[i:i+1], 1e-15)
		}
	}
}

// Held-out records do not count, and the smoothness bounds the gradient's change.
func TestLocalObjectiveIsOfTheTrainingRecords(t *testing.T) {
	task, r := plainTask("logistic", 3), rand.New(rand.NewPCG(6, 1))
	records := make([]Record, 20)
	for j := range records {
		records[j] = example(r, Seq(j+1), 3, "logistic")
	}
	o := task.LocalObjective(records)
	for j := range records {
		if records[j].Seq.HeldOut() {
			records[j].Y = 1e9
		}
	}
	for range 100 {
		a, b := []float64{r.NormFloat64(), 0, 1}, []float64{0, r.NormFloat64(), 1}
		at, to, again := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		o.AddGradient(at, 1, a)
		o.AddGradient(to, 1, b)
		task.LocalObjective(records).AddGradient(again, 1, a)
		wantClose(t, "held-out records changed the gradient", again, at, 0)
		if floats.Distance(at, to, 2) > o.Smoothness*floats.Distance(a, b, 2) {
			t.Fatal("the gradient changes more than the smoothness allows")
		}
	}
}
