package learner

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func sameRecords(a, b []Record) bool {
	return slices.EqualFunc(a, b, func(a, b Record) bool {
		return a.Seq == b.Seq && a.Cohort == b.Cohort && a.Y == b.Y && slices.Equal(a.X, b.X)
	})
}

// The obvious twin of Rows is a slice of records: whatever is added and dropped, and
// what was seen before stays as it was.
func TestRowsMatchASlice(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 41))
		var rows Rows
		var twin, before []Record
		seen := rows.Snapshot()
		for q := Seq(1); q < 5*pieceRows; {
			switch r.IntN(12) {
			case 0:
				var drop []Seq
				for range r.IntN(4) {
					drop = append(drop, Seq(1+r.Uint64N(uint64(q)))) // some are not there
				}
				rows.Drop(drop)
				twin = slices.DeleteFunc(slices.Clone(twin), func(r Record) bool { return slices.Contains(drop, r.Seq) })
			case 1:
				seen, before = rows.Snapshot(), slices.Clone(twin)
			default:
				for range r.IntN(pieceRows / 2) {
					record := Record{Seq: q, X: []float64{r.NormFloat64(), r.NormFloat64()}, Y: r.NormFloat64()}
					if kept := rows.Add(record); !sameRecords([]Record{kept}, []Record{record}) || &kept.X[0] == &record.X[0] {
						t.Fatalf("seed %d: added %+v, got %+v back", seed, record, kept)
					}
					twin = append(twin, record)
					q++
				}
			}
			if !sameRecords(slices.Collect(rows.All()), twin) || rows.Len() != len(twin) || !sameRecords(slices.Collect(seen.All()), before) {
				t.Fatalf("seed %d: %d records, want %d; seen before %d, want %d", seed, rows.Len(), len(twin), seen.Len(), len(before))
			}
		}
		if !sameRecords(slices.Collect(RowsOf(twin).All()), twin) {
			t.Fatalf("seed %d: rows of a slice are others", seed)
		}
		for i, y := range rows.labels() {
			if y != twin[i].Y || !slices.Equal(rows.matrix().RawRowView(i), twin[i].X) {
				t.Fatalf("seed %d: row %d is not that of the twin", seed, i)
			}
		}
	}
}

// However many pieces the records are in, a fit and what it leaves out come out to the
// bit as if they were in one.
func TestPiecesDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 42))
	for _, loss := range []string{"squared", "logistic", "multinomial"} {
		task := plainTask(loss, 5)
		p := task.Dimension()
		rows := RowsOf(draw(r, task, normals(r, p), 3*pieceRows+2, 0.5))
		whole := piece{y: rows.labels(), x: rows.matrix().RawMatrix().Data}
		for r := range rows.All() {
			whole.seq, whole.cohort = append(whole.seq, r.Seq), append(whole.cohort, r.Cohort)
		}
		weight := make([]float64, p)
		floats.AddConst(0.5, weight)
		var theta, left [2][]float64
		for i, train := range []*Rows{rows, {[]piece{whole}}} {
			f := newFitter(task.loss(), train)
			theta[i] = make([]float64, p)
			f.minimise(theta[i], weight, make([]float64, p))
			left[i] = f.leaveOneOut()
		}
		if !slices.Equal(theta[0], theta[1]) || !slices.Equal(left[0], left[1]) {
			t.Errorf("%s: %v in pieces, %v in one", loss, theta[0], theta[1])
		}
	}
}

// matrix is a copy of the features, one row a record.
func (r *Rows) matrix() *mat.Dense {
	x := make([]float64, 0, r.Len()*r.width())
	for i := range r.pieces {
		x = append(x, r.pieces[i].x...)
	}
	return mat.NewDense(r.Len(), r.width(), x)
}
