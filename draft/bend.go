package draft

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"p2pnode/learner"
)

// equalParts is how many parts a range is cut into where a model may bend.
const equalParts = 4

// bends says that the target, or its logarithm, is no straight line of a number, or no circle of the
// time of day, and where a model may bend, as [learner.Feature] has it.
func (p *Plan) bends(u *use, target *learner.Target) string {
	straight := p.feature(*u, target)
	bending := straight
	var line, advice string
	switch r, ranged := p.wishes.Ranges[u.Name]; {
	case u.target, p.outlying(u) != "":
		return ""
	case u.kind == Number && !(u.log && straight.Log) && ranged && r.Low < r.High:
		var at []string
		for k := range equalParts - 1 {
			share := float64(k+1) / equalParts
			bending.Bends = append(bending.Bends, r.Low*(1-share)+r.High*share)
			at = append(at, numberText(bending.Bends[k]))
		}
		of, where := "it", "below its max"
		if straight.Log {
			bending.Log = false
			of, where = "its logarithm", "in place of log"
		}
		line, advice = "straight line of "+of, fmt.Sprintf("bends = [%s] %s, or where everybody may know that it bends", strings.Join(at, ", "), where)
	case u.kind == Time && slices.Contains(straight.Parts, "day"):
		straight.Parts, bending.Parts = []string{"day"}, []string{"hours"}
		line, advice = "single wave of the time of day", `"hours" in place of "day" in its parts`
	default:
		return ""
	}
	what := p.target().Name
	if target.Log {
		what = "the logarithm of " + what
	}
	sample := p.survey.along(u.Column, target)
	plain, plainWidth := explained(sample, &straight)
	bent, bentWidth := explained(sample, &bending)
	if !surely(plain, bent, bentWidth-plainWidth-1, len(sample)-bentWidth) {
		return ""
	}
	return fmt.Sprintf("%s is no %s, which explains %s of how rows differ; a line that bends explains %s: write %s",
		what, line, percent(plain), percent(bent), advice)
}

// enoughRows are needed to say along which line a target goes.
const enoughRows = 100

// surely reports whether a line with so many weights more, which leaves so many rows free,
// explains surely more than another, and enough to matter. Of a thousand columns that have
// nothing to do with a target, which is normal, about one passes the test by F; fewer where the other
// line is not a case of the one.
func surely(line, bent float64, more, free int) bool {
	const least, chance = 0.02, 0.001
	if free < enoughRows || !(bent-line >= least) {
		return false
	}
	f := distuv.F{D1: float64(more), D2: float64(free)}
	return bent == 1 || f.Survival((bent-line)/(1-bent)*f.D2/f.D1) < chance
}

// explained is which share of the variance of the targets the coordinates of a feature explain, NaN
// of targets that are all the same, and how many coordinates there are.
func explained(sample []point, f *learner.Feature) (share float64, coordinates int) {
	var rows [][]float64
	var y []float64
	for _, p := range sample {
		x, _, err := f.OfNumber(p.x)
		if err != nil {
			continue // no number is infinite here
		}
		rows, y = append(rows, append(x, 1)), append(y, p.y)
	}
	if len(rows) == 0 {
		return 0, 0
	}
	coordinates = len(rows[0]) - 1
	if z := fitted(rows, y); z != nil {
		share = stat.RSquaredFrom(z, y, nil)
	}
	return share, coordinates
}

// fitted are what the linear model that fits the rows best makes of them; nil if none can be found.
func fitted(rows [][]float64, y []float64) []float64 {
	width := len(rows[0])
	squares, products := mat.NewSymDense(width, nil), mat.NewVecDense(width, nil)
	for i := range rows {
		x := mat.NewVecDense(width, rows[i])
		squares.SymRankOne(squares, 1, x)
		products.AddScaledVec(products, y[i], x)
	}
	for k := range width {
		squares.SetSym(k, k, squares.At(k, k)+1e-6) // a coordinate that is 0 everywhere, or the sum of others
	}
	var factors mat.Cholesky
	var weights mat.VecDense
	if !factors.Factorize(squares) || factors.SolveVecTo(&weights, products) != nil {
		return nil
	}
	z := make([]float64, len(rows))
	for i := range rows {
		z[i] = mat.Dot(mat.NewVecDense(width, rows[i]), &weights)
	}
	return z
}

// percent writes a share in whole percent.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
