package privacy

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"p2pnode/internal/vector"
)

// MostRows is how many records [Rows] holds: few enough for their features to stay in a
// cache between two passes over them.
const MostRows = 16

// Rows are the features of some records of a loss with one score, whose gradients are a
// number times the features: [Sum.AddRows] adds them without writing out those that
// are surely inside the clip. What decides that is worked out here. The features must not
// change in between. The zero value is empty and ready to use; Rows are not safe for
// concurrent use.
type Rows struct {
	n        int
	products [MostRows]vector.Product
	scales   [MostRows]float64
	there    [MostRows]bool
	inside   [MostRows]vector.Scaled // working memory of AddRows
	gradient []float64               // likewise
}

// Empty takes all rows out.
func (r *Rows) Empty() { r.n = 0 }

// Put puts in one row more, of at most [MostRows].
func (r *Rows) Put(x []float64) {
	r.products[r.n] = vector.Product{X: x}
	r.n++
}

// Multiply works out the products of a model with the rows from one to before another.
func (r *Rows) Multiply(theta []float64, from, to int) {
	vector.Multiply(theta, r.products[from:to])
}

// Product is that of the k-th row, which Multiply has worked out.
func (r *Rows) Product(k int) float64 { return r.products[k].Dot }

// Scale says by what number the k-th row is multiplied, and whether there is such a
// record: else its slot is filled with nothing.
func (r *Rows) Scale(k int, scale float64, there bool) { r.scales[k], r.there[k] = scale, there }

// AddRows is Add for each row times its number or, if there is no such record,
// AddEmpty: it adds the same integers. Each row must have been multiplied and scaled.
func (s *Sum) AddRows(r *Rows) {
	if !s.alive() {
		panic(errDead)
	}
	inside := r.inside[:0]
	for k := range r.n {
		p, weight := &r.products[k], int64(0)
		if r.there[k] {
			weight = 1
		}
		if len(p.X) != len(s.total) || s.slots >= MaxSlots || !s.inside.surely(r.scales[k], p.Squares) {
			s.add(r.written(k), weight)
			continue
		}
		inside = append(inside, vector.Scaled{X: p.X, By: r.scales[k] * s.inside.units * float64(weight)})
		s.slots++
	}
	vector.AddAllUnits(s.total, inside)
}

// written is a row times its number.
func (r *Rows) written(k int) []float64 {
	x := r.products[k].X
	r.gradient = slices.Grow(r.gradient[:0], len(x))[:len(x)]
	return floats.ScaleTo(r.gradient, r.scales[k], x)
}
