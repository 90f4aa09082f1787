package learner

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The slow twin of leverage, over several batches: the blocks of x' H^-1 x with
// the inverse of the Hessian written out.
func TestLeverageIsThatOfTheInverse(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	for _, loss := range []string{"squared", "multinomial"} {
		task := plainTask(loss, 3)
		p, k := task.Dimension(), task.loss().scores()
		records := draw(r, task, normals(r, p), batch+batch/2, 0.5)
		weight := make([]float64, p)
		floats.AddConst(2, weight)
		f := newFitter(task.loss(), RowsOf(records))
		f.minimise(make([]float64, p), weight, make([]float64, p))
		if !f.sound {
			t.Fatal("no factor")
		}
		var factor mat.Cholesky
		var inverse mat.SymDense
		factor.SetFromU(triangular(f.factor.u))
		if err := factor.InverseTo(&inverse); err != nil {
			t.Fatal(err)
		}
		x := f.train.pieces[0].matrix()
		got := slices.Clone(f.leverage(x, 0, batch))
		got = append(got, f.leverage(x, batch, len(records))...)
		for i, rec := range records {
			for j := range k {
				for l := range k {
					left, right := mat.NewVecDense(p, nil), mat.NewVecDense(p, nil)
					copy(block(left.RawVector().Data, j, 3), rec.X)
					copy(block(right.RawVector().Data, l, 3), rec.X)
					want := mat.Inner(left, &inverse, right)
					wantClose(t, loss, got[(i*k+j)*k+l:][:1], []float64{want}, 1e-12)
				}
			}
		}
	}
}

// The slow twin of leaveOneOut: fit again without each record. Exact for the
// squared loss; for the logistic loss one Newton step, which is close.
func TestLeaveOneOutMatchesRefits(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct {
		loss      string
		tolerance float64
	}{{"squared", 1e-9}, {"logistic", 0.02}, {"multinomial", 0.04}} {
		task := plainTask(c.loss, 3)
		p, k := task.Dimension(), task.loss().scores()
		records := draw(r, task, normals(r, p), 25, 0.5)
		weight, centre := make([]float64, p), make([]float64, p)
		for j := range weight {
			weight[j], centre[j] = 0.5+r.ExpFloat64(), 0.1*r.NormFloat64()
		}
		theta := make([]float64, p)
		f := newFitter(task.loss(), RowsOf(records))
		f.minimise(theta, weight, centre)
		got, want, within := f.leaveOneOut(), make([]float64, k), make([]float64, k)
		for i, out := range records {
			rest := append(append([]Record(nil), records[:i]...), records[i+1:]...)
			without := make([]float64, p)
			newFitter(task.loss(), RowsOf(rest)).minimise(without, weight, centre)
			scoresOf(want, without, out.X)
			wantClose(t, c.loss+": one left out", got[i*k:(i+1)*k], want, c.tolerance)
			scoresOf(within, theta, out.X)
			if moved := floats.Distance(within, want, 2); floats.Distance(got[i*k:(i+1)*k], want, 2) > max(moved/2, 1e-9) {
				t.Errorf("%s: record %d left out moves its scores by %v, from %v to %v; got %v", c.loss, i, moved, within, want, got[i*k:(i+1)*k])
			}
		}
	}
}
