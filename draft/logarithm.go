package draft

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"p2pnode/csvfile"
	"p2pnode/learner"
)

// logarithm says that the target's logarithm is learned, since a model of it errs so much less.
func (u *use) logarithm(target *learner.Target, gain float64) string {
	if !u.target || !target.Log {
		return ""
	}
	text := fmt.Sprintf("its logarithm is learned, see docs/tasks.md: a line of the other columns that is drawn for that errs %s less", percent(gain))
	if target.Min == 0 {
		text += ". Take a min above 0 if everybody knows one"
	}
	return text
}

// scale is the target as a number, or by its logarithm if a linear model of the other columns then
// predicts the number itself better, and by how much. What others change by a share is so, and
// what they change by an amount, or do not change, is not.
func (p *Plan) scale() (target *learner.Target, gain float64) {
	const worth = 0.02 // of the error
	plain := learner.Target{Name: p.target().Name}
	r, ranged := p.wishes.Ranges[plain.Name]
	switch {
	case p.target().kind != Number:
		plain.Classes = p.wishes.Values[plain.Name]
		return &plain, 0
	case !ranged || !(r.Low < r.High):
		return &plain, 0
	}
	plain.Min, plain.Max, plain.Center = r.Low, r.High, r.Low
	if r.Low < 0 {
		return &plain, 0
	}
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
	var uses []use
	positions := map[string]int{target.Name: p.target().at}
	for _, u := range p.features() {
		if f := p.form(u); f.Kind == Number || f.Kind == Set || f.Kind == Time {
			t.Features, uses, positions[u.Name] = append(t.Features, f), append(uses, u), u.at
		}
	}
	t.UsualNorm = math.Sqrt(float64(max(1, t.Width()))) // so that none is scaled down
	least := max(enoughRows, each*t.Width())
	if len(p.survey.rows.kept) < least {
		return math.NaN()
	}
	for i := range t.Features {
		t.Features[i] = p.feature(uses[i], target)
	}
	var rows [][]float64
	var y []float64
	for _, cells := range p.survey.rows.kept {
		r, err := t.Encode(func(name string) (string, bool) {
			cell := cells[positions[name]]
			if t.Numeric(name) {
				cell = csvfile.Number(p.survey.comma, cell)
			}
			return cell, true
		})
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
	return surely(of, share, 1, len(sample)-width-2)
}
