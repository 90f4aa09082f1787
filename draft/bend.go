package draft

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
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
	line, bent := explained(u.told.sample.kept, r)
	if !worthBending(line, bent, len(u.told.sample.kept)) {
		return ""
	}
	var at []string
	for k := range equalParts - 1 {
		at = append(at, numberText(r.part(k+1)))
	}
	return fmt.Sprintf("%s is no straight line of it, which explains %s of how rows differ; a line that bends explains %s: write bends = [%s] below its max, "+
		"or where everybody may know that it bends", p.target().Name, percent(line), percent(bent), strings.Join(at, ", "))
}

// part is where a part of the range ends, of so many equal ones.
func (r Range) part(k int) float64 {
	share := float64(k) / equalParts
	return r.Low*(1-share) + r.High*share
}

// worthBending reports whether a line with bends explains surely more of so many rows than a
// straight one, and enough to matter. Of a thousand numbers that have nothing to do with a
// target, which is normal, about one passes the first: it is the test by F of three weights.
func worthBending(line, bent float64, rows int) bool {
	const more, critical, weights = 0.02, 5.6, equalParts + 1
	rest := float64(rows - weights)
	return rest > 20*weights && bent-line >= more && (bent-line)/(equalParts-1) > critical*(1-bent)/rest
}

// explained is which share of the variance of the targets a straight line explains, and one that
// bends where the parts of a range end.
func explained(sample []point, r Range) (line, bent float64) {
	var x, y []float64
	for _, p := range sample {
		x, y = append(x, min(max(p.x, r.Low), r.High)), append(y, p.y)
	}
	if len(x) == 0 || stat.Variance(y, nil) == 0 || stat.Variance(x, nil) == 0 {
		return 0, 0
	}
	line = math.Pow(stat.Correlation(x, y, nil), 2)
	const knots = equalParts + 1
	squares, products := mat.NewSymDense(knots, nil), mat.NewVecDense(knots, nil)
	rows := make([]*mat.VecDense, len(x))
	for i := range x {
		rows[i] = mat.NewVecDense(knots, r.hats(x[i]))
		squares.SymRankOne(squares, 1, rows[i])
		products.AddScaledVec(products, y[i], rows[i])
	}
	for k := range knots {
		squares.SetSym(k, k, squares.At(k, k)+1e-6) // a knot that no number is near
	}
	var factors mat.Cholesky
	var weights mat.VecDense
	if !factors.Factorize(squares) || factors.SolveVecTo(&weights, products) != nil {
		return line, line
	}
	fitted := make([]float64, len(x))
	for i := range fitted {
		fitted[i] = mat.Dot(rows[i], &weights)
	}
	return line, max(line, stat.RSquaredFrom(fitted, y, nil))
}

// hats are the coordinates of a number in the range that bends where its parts end.
func (r Range) hats(x float64) []float64 {
	hats := make([]float64, equalParts+1)
	share := equalParts * (x/2 - r.Low/2) / (r.High/2 - r.Low/2)
	k := min(int(share), equalParts-1)
	hats[k], hats[k+1] = 1-(share-float64(k)), share-float64(k)
	return hats
}

// percent writes a share in whole percent.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
