package draft

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"p2pnode/csvfile"
	"p2pnode/learner"
)

// logarithm says by how much less a model of the target's logarithm errs.
func (u *use) logarithm(target *learner.Target, gain float64) string {
	if !u.target || !target.Log {
		return ""
	}
	return fmt.Sprintf("a line of the other columns that is drawn for its logarithm errs %s less: write log = true below its max, see docs/tasks.md, "+
		"and a min above 0 if everybody knows one", percent(gain))
}

// scale is the target as a number, or by its logarithm if a linear model of the other columns then
// predicts the number itself better, and by how much. What others change by a share is so, and
// what they change by an amount, or do not change, is not.
func (p *Plan) scale() (target *learner.Target, gain float64) {
	const worth = 0.02 // of the error
	plain := learner.Target{Name: p.target().Name}
	r, ranged := p.wishes.Ranges[plain.Name]
	if p.target().kind != Number || !ranged || !(0 <= r.Low && r.Low < r.High) {
		return &plain, 0
	}
	plain.Min, plain.Max, plain.Center = r.Low, r.High, r.Low
	scaled := plain
	scaled.Log = true
	if gain = 1 - p.modelErrs(&scaled)/p.modelErrs(&plain); gain >= worth {
		return &scaled, gain
	}
	return &plain, 0
}

// modelErrs is the root of the mean squared error, in the units of the target, of a linear model
// that fits the sampled rows; NaN where they are too few.
func (p *Plan) modelErrs(target *learner.Target) float64 {
	const each = 5 // rows for a coordinate
	t := learner.Task{Loss: "squared", Constant: 1, Target: *target}
	for _, u := range p.features() {
		f := p.feature(u, target)
		if f.Kind == Number || f.Kind == Set || f.Kind == Time {
			t.Features = append(t.Features, f)
		}
	}
	t.UsualNorm = math.Sqrt(float64(max(1, t.Width()))) // so that none is scaled down
	least := max(enoughRows, each*t.Width())
	if len(p.survey.rows.kept) < least {
		return math.NaN()
	}
	var rows [][]float64
	var y []float64
	for _, cells := range p.survey.rows.kept {
		r, err := t.Encode(func(name string) (string, bool) { return p.survey.cell(cells, name) })
		if err == nil {
			rows, y = append(rows, r.X), append(y, r.Y)
		}
	}
	if len(rows) < least {
		return math.NaN()
	}
	z := fitted(rows, y)
	if z == nil {
		return math.NaN()
	}
	one := []float64{1} // the only weight, of what was fitted already
	for i := range z {
		z[i] = t.Predict(one, z[i:i+1])
		y[i] = t.Predict(one, y[i:i+1])
	}
	return floats.Distance(z, y, 2) / math.Sqrt(float64(len(y)))
}

// surelyMore reports whether the target is surely more of a straight line of the other form of a
// number than of this one.
func surelyMore(sample []point, form, other *learner.Feature) bool {
	of, width := explained(sample, form)
	share, _ := explained(sample, other)
	return worthBending(of, share, 1, len(sample)-width-2)
}

// cell is that of a column, with a decimal point in numbers.
func (s *Survey) cell(cells []string, name string) (string, bool) {
	at := slices.IndexFunc(s.Columns, func(c *Column) bool { return c.Name == name })
	if at < 0 {
		return "", false
	}
	cell := strings.TrimSpace(cells[at])
	if _, ok := number(cell, s.comma); ok {
		cell = csvfile.Number(s.comma, cell)
	}
	return cell, true
}
