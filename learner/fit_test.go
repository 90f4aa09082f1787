package learner

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The slow twin of fitter for the squared loss: (X'X + D) theta = X'y + D c.
func TestFitSolvesTheNormalEquations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		p := 1 + r.IntN(8)
		task := plainTask("squared", p)
		records := draw(r, task, normals(r, p), 1+r.IntN(30), 0.3)
		weight, centre := make([]float64, p), normals(r, p)
		for k := range weight {
			weight[k] = 0.01 + r.ExpFloat64()
		}
		a, b := mat.NewDense(p, p, nil), mat.NewVecDense(p, nil)
		for i := range p {
			a.Set(i, i, weight[i])
			b.SetVec(i, weight[i]*centre[i])
			for _, rec := range records {
				b.SetVec(i, b.AtVec(i)+rec.X[i]*rec.Y)
				for j := range p {
					a.Set(i, j, a.At(i, j)+rec.X[i]*rec.X[j])
				}
			}
		}
		var want mat.VecDense
		if err := want.SolveVec(a, b); err != nil {
			t.Fatal(err)
		}
		got := make([]float64, p)
		newFitter(scalar{squared{1}}, RowsOf(records)).minimise(got, weight, centre)
		wantClose(t, "normal equations", got, want.RawVector().Data, 1e-9)
	}
}

// A Hessian that float64 takes for singular ends the fit where it is, and leaves
// the scores as they are.
func TestFitBeyondFloat64(t *testing.T) {
	records := []Record{{Seq: 1, X: []float64{1, 1}, Y: 1}, {Seq: 2, X: []float64{1, 1}, Y: 2}}
	f, theta := newFitter(scalar{squared{1}}, RowsOf(records)), []float64{0.5, 0.25}
	f.minimise(theta, []float64{1e-320, 1e-320}, []float64{0, 0})
	wantClose(t, "left out", f.leaveOneOut(), []float64{0.75, 0.75}, 0)
}

// With two classes and twice the pull, the blocks of the fit are half the logistic
// model each, one with either sign, and leaving one out gives the same scores.
func TestFitOfTwoClassesIsTheLogisticFit(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const p = 4
	binary := draw(r, plainTask("logistic", p), normals(r, p), 30, 0.5)
	classes := append([]Record(nil), binary...)
	for i := range classes {
		classes[i].Y = (binary[i].Y + 1) / 2
	}
	weight, centre, twice, centres := make([]float64, p), normals(r, p), make([]float64, 2*p), make([]float64, 2*p)
	for j := range weight {
		weight[j] = 0.1 + r.ExpFloat64()
		twice[j], twice[p+j] = 2*weight[j], 2*weight[j]
		centres[j], centres[p+j] = -centre[j]/2, centre[j]/2
	}
	one, two := newFitter(scalar{logistic{}}, RowsOf(binary)), newFitter(multinomial{2}, RowsOf(classes))
	theta, blocks := make([]float64, p), make([]float64, 2*p)
	one.minimise(theta, weight, centre)
	two.minimise(blocks, twice, centres)
	difference := make([]float64, p)
	floats.SubTo(difference, blocks[p:], blocks[:p])
	wantClose(t, "fit", difference, theta, 1e-7)
	outOne, outTwo := one.leaveOneOut(), two.leaveOneOut()
	for i, z := range outOne {
		wantClose(t, "left out", []float64{outTwo[2*i+1] - outTwo[2*i]}, []float64{z}, 1e-7)
	}
	if a, b := total(one.loss, outOne, one.y), total(two.loss, outTwo, two.y); math.Abs(a-b) > 1e-6 {
		t.Errorf("losses of those left out %v and %v", a, b)
	}
}

// A minimum has no descent direction, whatever the start.
func TestFitFindsTheMinimum(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, loss := range lossNames {
		task := plainTask(loss, 4)
		p := task.Dimension()
		records := draw(r, task, normals(r, p), 40, 0)
		weight, centre := make([]float64, p), make([]float64, p)
		floats.AddConst(1e-4, weight) // nearly separable
		f := newFitter(task.loss(), RowsOf(records))
		var ends [][]float64
		for range 3 {
			theta := normals(r, p)
			floats.Scale(30, theta)
			f.minimise(theta, weight, centre)
			ends = append(ends, theta)
		}
		wantClose(t, loss+": second start", ends[1], ends[0], 1e-6)
		wantClose(t, loss+": third start", ends[2], ends[0], 1e-6)
		best := f.objective(ends[0], weight, centre)
		for range 50 {
			nearby := normals(r, p)
			floats.Scale(0.01, nearby)
			floats.Add(nearby, ends[0])
			if f.objective(nearby, weight, centre) < best {
				t.Fatalf("%s: a point near the minimum is lower", loss)
			}
		}
	}
}

// noFall counts how often it is asked for an objective that is least at 1, where rounding hides
// what a short step changes.
type noFall int

func (n *noFall) objective(theta, _, _ []float64) float64 {
	*n++
	return 1 + (theta[0]-1)*(theta[0]-1)
}

// At the minimum the search along a step ends as soon as the step changes no digit of it.
func TestLineSearchAtTheMinimum(t *testing.T) {
	for _, length := range []float64{0, 1e-12, -1e-9} {
		var n noFall
		theta := []float64{1}
		if value := lineSearch(&n, theta, []float64{length}, nil, nil, 1); value != 1 || theta[0] != 1 || n > 30 {
			t.Errorf("a step of %g: %v at %v after %d trials", length, value, theta, n)
		}
	}
}
