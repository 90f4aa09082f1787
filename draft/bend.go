package draft

import (
	"fmt"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"p2pnode/learner"
)

// point is a number and the target of its row: 1 or 0 for classes, for the first and all others.
type point struct{ x, y float64 }

const (
	// points is how many rows are kept to see along which numbers the target bends.
	points = 1024
	// equalParts is how many parts a range is cut into where a model may bend.
	equalParts = 4
)

// bends says that the target is no straight line of a number, and where a model may bend, as
// [learner.Feature] has it.
func (p *Plan) bends(u *use) string {
	r, ranged := p.wishes.Ranges[u.Name]
	if u.target || u.kind != Number || u.log || !ranged || r.Low >= r.High {
		return ""
	}
	straight := learner.Feature{Name: u.Name, Kind: Number, Min: r.Low, Max: r.High}
	bending := straight
	var at []string
	for k := range equalParts - 1 {
		share := float64(k+1) / equalParts
		bending.Bends = append(bending.Bends, r.Low*(1-share)+r.High*share)
		at = append(at, numberText(bending.Bends[k]))
	}
	sample := u.told.sample.kept
	line, bent := explained(sample, &straight), explained(sample, &bending)
	if !worthBending(line, bent, len(sample)) {
		return ""
	}
	return fmt.Sprintf("%s is no straight line of it, which explains %s of how rows differ; a line that bends explains %s: write bends = [%s] below its max, "+
		"or where everybody may know that it bends", p.target().Name, percent(line), percent(bent), strings.Join(at, ", "))
}

// worthBending reports whether a line with bends explains surely more of so many rows than a
// straight one, and enough to matter. Of a thousand numbers that have nothing to do with a
// target, which is normal, about one passes the first: it is the test by F of three weights.
func worthBending(line, bent float64, rows int) bool {
	const more, critical, weights = 0.02, 5.6, equalParts + 1
	rest := float64(rows - weights)
	return rest > 20*weights && bent-line >= more && (bent-line)/(equalParts-1) > critical*(1-bent)/rest
}

// explained is which share of the variance of the targets the coordinates of a number explain; NaN
// of targets that are all the same.
func explained(sample []point, f *learner.Feature) float64 {
	var rows []*mat.VecDense
	var y []float64
	for _, p := range sample {
		x, _, err := f.OfNumber(p.x)
		if err != nil {
			continue // no number is infinite here
		}
		rows, y = append(rows, mat.NewVecDense(len(x)+1, append(x, 1))), append(y, p.y)
	}
	if len(rows) == 0 {
		return 0
	}
	width := rows[0].Len()
	squares, products := mat.NewSymDense(width, nil), mat.NewVecDense(width, nil)
	for i, x := range rows {
		squares.SymRankOne(squares, 1, x)
		products.AddScaledVec(products, y[i], x)
	}
	for k := range width {
		squares.SetSym(k, k, squares.At(k, k)+1e-6) // a coordinate that is 0 everywhere, or the sum of others
	}
	var factors mat.Cholesky
	var weights mat.VecDense
	if !factors.Factorize(squares) || factors.SolveVecTo(&weights, products) != nil {
		return 0
	}
	fitted := make([]float64, len(rows))
	for i, x := range rows {
		fitted[i] = mat.Dot(x, &weights)
	}
	return stat.RSquaredFrom(fitted, y, nil)
}

// percent writes a share in whole percent.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
