package learner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
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
			if !hasSpan(task, records, prior) {
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
		if !hasSpan(task, records, prior) {
			t.Fatal("8 records and 20 coordinates are worth a smaller space")
		}
		got, want := FitPersonal(task, records, prior), withoutSpan(task, records, prior)
		if d := floats.Distance(got.Theta, want.Theta, 2) / floats.Norm(want.Theta, 2); d > 1e-6 {
			t.Errorf("%s: %g apart, relative", loss, d)
		}
	}
}

// Features that vary differently have different pulls, and the space bends to them, too.
func TestFitOfSpreadFeaturesInTheSpanOfTheRecords(t *testing.T) {
	for _, loss := range []string{"squared", "logistic", "multinomial"} {
		task, records, prior := fewRecords(loss, 20, 8)
		task.UsualNorm, task.Normalise = 1, false
		for j := range task.Features {
			task.Features[j].Min, task.Features[j].Max = -10, 10
			for i := range records {
				records[i].X[j] *= float64(1+j%5) / 10
			}
		}
		if s := task.spreads(task.deviations(RowsOf(records))); len(s) != 20 || s[0] >= s[4] {
			t.Fatalf("spreads %v of columns that vary as 1 and 5", s)
		}
		got, want := FitPersonal(task, records, prior), withoutSpan(task, records, prior)
		if d := floats.Distance(got.Theta, want.Theta, 2) / floats.Norm(want.Theta, 2); d > 1e-6 {
			t.Errorf("%s: %g apart, relative", loss, d)
		}
	}
}

// A basis is one whatever the columns are: of more than one piece, with columns that are
// the same or zero, as records and priors are.
func TestOrthonormalColumns(t *testing.T) {
	const p, r = 300, 150
	random := rand.New(rand.NewPCG(4, 1))
	columns := mat.NewDense(p, r, nil)
	for i := range r {
		switch {
		case i == 7 || i == 149: // zero
		case i%10 == 3:
			columns.SetCol(i, mat.Col(nil, i/2, columns))
		default:
			columns.SetCol(i, normals(random, p))
		}
	}
	given := mat.DenseCopyOf(columns)
	pauses := 0
	basis, more := orthonormal(columns, func() bool { pauses++; return true })
	if !more || pauses != 6 {
		t.Errorf("%d pauses, want one for each of 3 pieces, twice", pauses)
	}
	var products, inside, projected mat.Dense
	products.Mul(basis.T(), basis)
	for i := range r {
		products.Set(i, i, products.At(i, i)-1)
	}
	inside.Mul(basis.T(), given)
	projected.Mul(basis, &inside)
	projected.Sub(&projected, given)
	if a, b := mat.Norm(&products, math.Inf(1)), mat.Norm(&projected, math.Inf(1)); a > 1e-12 || b > 1e-11 {
		t.Errorf("off by %g from orthonormal, and the columns lie %g outside", a, b)
	}
	for stop := range 6 {
		left := stop
		if _, more := orthonormal(mat.DenseCopyOf(given), func() bool { left--; return left >= 0 }); more {
			t.Errorf("went on after being stopped at piece %d", stop)
		}
	}
}

func TestNoSpanWhereItDoesNotPay(t *testing.T) {
	task, records, prior := fewRecords("logistic", 20, 19)
	if hasSpan(task, records, prior) {
		t.Error("as many directions as features, and yet a smaller space")
	}
	task, records, prior = fewRecords("logistic", 200, 120)
	if hasSpan(task, records, prior) {
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

func hasSpan(t *Task, records []Record, prior []float64) bool {
	s, more := t.newSpan(RowsOf(records), prior, t.spreads(t.deviations(RowsOf(records))), always)
	return s != nil && more
}

// withoutSpan is FitPersonal in the space of all models.
func withoutSpan(t *Task, records []Record, prior []float64) PersonalModel {
	train := RowsOf(trainingRecords(records))
	s := newSearch(t, train, prior)
	s.among(newFitter(t.loss(), train), func(PersonalModel) bool { return true })
	return s.model
}

// In coordinates that were turned to the noise, the pull is the same for all features as before, and
// the noise is independent.
func TestSpanTurnsToTheNoise(t *testing.T) {
	const p = 5
	r := rand.New(rand.NewPCG(6, 9))
	task := plainTask("squared", p)
	task.Constant = 0.5
	factor := mat.NewDense(p+1, p+1, normals(r, (p+1)*(p+1)))
	noise := mat.NewSymDense(p+1, nil)
	noise.SymOuterK(1, factor)
	spreads := []float64{1, 0.2, 3, 1.5, 0.7}

	s := task.wholeSpan(spreads)
	variance := s.turn(noise)
	var precision, own mat.Dense
	if err := own.Inverse(noise.SliceSym(0, p)); err != nil {
		t.Fatal(err)
	}
	if err := precision.Inverse(noise); err != nil {
		t.Fatal(err)
	}
	if got, want := variance[p], 1/precision.At(p, p); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("the constant has the variance %v, not %v", got, want)
	}
	for range 20 {
		theta := normals(r, p+1)
		turned := s.model(theta)
		features := mat.NewVecDense(p, theta[:p])
		var pull, wantPull, doubt float64
		for i := range p {
			pull += turned[i] * turned[i]
			wantPull += spreads[i] * theta[i] * theta[i]
			doubt += turned[i] * turned[i] / variance[i]
		}
		if wantDoubt := mat.Inner(features, &own, features); math.Abs(pull/wantPull-1) > 1e-9 || math.Abs(doubt/wantDoubt-1) > 1e-9 {
			t.Errorf("a model is pulled by %v, not %v, and the noise explains %v, not %v", pull, wantPull, doubt, wantDoubt)
		}
		if back := s.outside(turned); !floats.EqualApprox(back, theta, 1e-9) {
			t.Errorf("%v comes back as %v", theta, back)
		}
	}
}
