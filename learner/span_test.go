package learner

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// fewRecords is a task with p features and m records of it.
func fewRecords(loss string, p, m int) (*Task, []Record, []float64) {
	t := Linear()
	t.Loss = loss
	t.Features = nil
	for k := range p {
		t.Features = append(t.Features, Feature{Name: fmt.Sprint(k), Kind: "number", Min: -1, Max: 1})
	}
	classes := 2
	if loss == "multinomial" {
		t.Target.Classes, classes = []string{"a", "b", "c"}, 3
	}
	r := rand.New(rand.NewPCG(uint64(p), uint64(m)))
	records := make([]Record, m)
	for i := range records {
		x := make([]float64, p)
		for k := range x {
			x[k] = r.NormFloat64()
		}
		floats.Scale(1/floats.Norm(x, 2), x)
		y := float64(r.IntN(classes))
		if classes == 2 {
			y = 2*y - 1
		}
		records[i] = Record{Seq: Seq(i + 1 + i/4), X: x, Y: y}
	}
	prior := make([]float64, t.Dimension())
	for k := range prior {
		prior[k] = r.NormFloat64() / 10
	}
	return t, records, prior
}

// The fit among few records is the one among all models.
func TestFitInTheSpanOfTheRecords(t *testing.T) {
	for _, loss := range []string{"logistic", "squared", "hinge", "multinomial"} {
		for _, m := range []int{1, 4, 16} {
			task, records, prior := fewRecords(loss, 20, m)
			if loss == "hinge" {
				task.Smoothing = 0.5
			}
			if task.newSpan(RowsOf(records), prior) == nil {
				t.Fatalf("%s: %d records and 20 features are worth a smaller space", loss, m)
			}
			got, want := FitPersonal(task, records, prior), withoutSpan(task, records, prior)
			if d := floats.Distance(got.Theta, want.Theta, 2) / floats.Norm(want.Theta, 2); d > 1e-6 {
				t.Errorf("%s, %d records: %g apart, relative", loss, m, d)
			}
			if d := floats.Distance(got.Alone, want.Alone, 2); d > 1e-6*(1+floats.Norm(want.Alone, 2)) {
				t.Errorf("%s, %d records: alone %g apart", loss, m, d)
			}
			zero := make([]float64, len(prior))
			if got := FitPersonal(task, records, zero); floats.Distance(got.Alone, want.Alone, 2) > 1e-6*(1+floats.Norm(want.Alone, 2)) {
				t.Errorf("%s, %d records, no prior: another lone model", loss, m)
			}
		}
	}
}

// A constant has a pull of its own, and the space bends to it.
func TestFitWithAConstantInTheSpanOfTheRecords(t *testing.T) {
	for _, loss := range []string{"squared", "logistic", "multinomial"} {
		task, records, prior := fewRecords(loss, 20, 8)
		task.Constant, task.Local.EtaConstant, task.Local.Eta = 0.3, 0.05, 0.5
		for i := range records {
			records[i].X[19] = 0.3
		}
		task.Features = task.Features[:19]
		if task.newSpan(RowsOf(records), prior) == nil {
			t.Fatal("8 records and 20 coordinates are worth a smaller space")
		}
		got, want := FitPersonal(task, records, prior), withoutSpan(task, records, prior)
		if d := floats.Distance(got.Theta, want.Theta, 2) / floats.Norm(want.Theta, 2); d > 1e-6 {
			t.Errorf("%s: %g apart, relative", loss, d)
		}
	}
}

func TestNoSpanWhereItDoesNotPay(t *testing.T) {
	task, records, prior := fewRecords("logistic", 20, 19)
	if task.newSpan(RowsOf(records), prior) != nil {
		t.Error("as many directions as features, and yet a smaller space")
	}
	task, records, prior = fewRecords("logistic", 200, 120)
	if task.newSpan(RowsOf(records), prior) != nil {
		t.Error("a basis that takes longer than the fits in pieces")
	}
}

// What 40 records of 100 features take, in the span and without.
func BenchmarkFitFewRecords(b *testing.B) {
	task, records, prior := fewRecords("logistic", 100, 40)
	b.Run("span", func(b *testing.B) {
		for b.Loop() {
			FitPersonal(task, records, prior)
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			withoutSpan(task, records, prior)
		}
	})
}

// withoutSpan is FitPersonal in the space of all models.
func withoutSpan(t *Task, records []Record, prior []float64) PersonalModel {
	train := RowsOf(trainingRecords(records))
	s := newSearch(t, train, prior)
	s.among(newFitter(t.loss(), train), func(PersonalModel) bool { return true })
	return s.model
}
