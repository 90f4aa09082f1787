package learner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// The widest tasks, and one of more features than a matrix of all pairs has room for.
var wide = []struct{ columns, classes, records int }{{784, 10, 1000}, {768, 64, 1000}, {2500, 2, 1300}}

// wideRecords are a task with so many columns and classes, m records and a prior.
func wideRecords(columns, classes, m int) (*Task, *Rows, []float64) {
	r := rand.New(rand.NewPCG(uint64(columns), uint64(classes)))
	task := plainTask("multinomial", columns)
	task.Target.Classes = nil
	for k := range classes {
		task.Target.Classes = append(task.Target.Classes, fmt.Sprint(k))
	}
	truth := normals(r, task.Dimension())
	return task, RowsOf(draw(r, task, truth, m, 1)), normals(r, task.Dimension())
}

// live is how much memory is in use.
func live() uint64 {
	var now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&now)
	return now.HeapAlloc
}

// What a fit holds beside the records, when all that it works with is there, with room for
// all the fits it averages, is far below 100 MB; whole fits are measured nightly.
func TestWideFitsAreSmall(t *testing.T) {
	whole := os.Getenv("P2PNODE_WIDE") != ""
	for _, c := range wide {
		task, rows, prior := wideRecords(c.columns, c.classes, c.records)
		before, pieces, most := live(), 0, uint64(0)
		start := time.Now()
		for range PersonalModels(task, rows, prior, Noise{}) {
			if pieces++; pieces%20 == 0 {
				most = max(most, max(live(), before)-before)
			}
			if pieces == 60 && !whole {
				break
			}
		}
		const candidates = 40
		all := most
		if !whole {
			all += candidates * 8 * uint64(task.Dimension())
		}
		t.Logf("%d x %d: %d pieces in %v, %.1f MB live, %.1f MB with %d candidates", c.columns, c.classes, pieces, time.Since(start).Round(time.Millisecond), float64(most)/1e6, float64(all)/1e6, candidates)
		if all > 60e6 {
			t.Errorf("%d x %d: %.1f MB, want at most 60", c.columns, c.classes, float64(all)/1e6)
		}
		runtime.KeepAlive(rows)
	}
}

// counting counts what a loss is asked.
type counting struct {
	loss
	values, curvatures *int
}

func (c counting) value(z []float64, y float64) float64 {
	*c.values++
	return c.loss.value(z, y)
}

func (c counting) curvature(dst, z []float64, y float64) {
	*c.curvatures++
	c.loss.curvature(dst, z, y)
}

// Between two pauses a fit goes over the records a few times and no more: once for a
// product with the Hessian, once for the curvatures of a step, and for the step's
// objective as often as it is halved.
func TestWideFitsAreInterruptible(t *testing.T) {
	const m = 400
	for _, c := range wide {
		task, rows, prior := wideRecords(c.columns, c.classes, m)
		var values, curvatures, mostValues, mostCurvatures, pauses int
		if _, small := newLeanFitter(task.loss(), rows, always).s.(*square); small != (c.columns <= exactColumns) {
			t.Errorf("%d columns: a matrix of all pairs: %v", c.columns, small)
		}
		f := newLeanFitter(counting{task.loss(), &values, &curvatures}, rows, func() bool {
			mostValues, mostCurvatures = max(mostValues, values), max(mostCurvatures, curvatures)
			values, curvatures = 0, 0
			pauses++
			return pauses < 40
		})
		s := newSearch(task, rows, prior)
		theta := s.centre(1)
		if _, whole := f.fit(theta, s.pull(1, int(s.plausible)-4), s.centre(1), func() {}); whole {
			t.Errorf("%d x %d: went on after 40 pauses", c.columns, c.classes)
		}
		if pauses != 40 || mostCurvatures > 2*m || mostValues > 4*m {
			t.Errorf("%d x %d: %d pauses, and between two of them %d curvatures and %d values of %d records", c.columns, c.classes, pauses, mostCurvatures, mostValues, m)
		}
	}
}

// The factor that is made in pieces is the factor, and says when float64 does not reach.
func TestFactorInPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 8))
	for _, n := range []int{1, factorBlock, 2*factorBlock + 7} {
		f, weight := newLeanFitter(scalar{squared{1}}, RowsOf(draw(r, plainTask("squared", n), normals(r, n), 3*n, 1)), always), make([]float64, n)
		for i := range weight {
			weight[i] = 0.1 + r.Float64()
		}
		f.objective(make([]float64, n), weight, make([]float64, n))
		f.curve()
		if !f.prepare(weight) || !f.s.reached() {
			t.Fatalf("%d columns: not factorised", n)
		}
		s := f.s.(*square)
		u := triangular(s.factor.u)
		var whole, off mat.Dense
		whole.Mul(u.T(), u)
		want := mat.NewSymDense(n, nil)
		want.CopySym(s.gram)
		for i := range n {
			want.SetSym(i, i, want.At(i, i)+2*weight[i])
		}
		off.Sub(&whole, want)
		if d := mat.Norm(&off, 2); d > 1e-11*mat.Norm(want, 2) {
			t.Errorf("%d columns: U'U is off by %g", n, d)
		}
		var exact mat.Cholesky
		exact.Factorize(want)
		if math.Abs(s.factor.logDet()-exact.LogDet()) > 1e-9*(1+math.Abs(exact.LogDet())) {
			t.Errorf("%d columns: log determinant %g, want %g", n, s.factor.logDet(), exact.LogDet())
		}
		for i := range weight {
			weight[i] = -1e6
		}
		if f.prepare(weight); f.s.reached() {
			t.Errorf("%d columns: a matrix that is not positive has a factor", n)
		}
	}
}

func triangular(u blas64.Triangular) *mat.TriDense { return mat.NewTriDense(u.N, mat.Upper, u.Data) }
