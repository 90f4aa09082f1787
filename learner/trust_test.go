package learner

import (
	"testing"

	"gonum.org/v1/gonum/floats"
)

// signs are 40 records whose label is the sign of their first coordinate.
func signs() *Rows {
	rows := new(Rows)
	for i := range 40 {
		x := float64(i%8) - 3.5
		y := 1.
		if x < 0 {
			y = -1
		}
		rows.Add(Record{Seq: 1, X: []float64{x / 4, float64(i%5)/5 - 0.4}, Y: y})
	}
	return rows
}

func twoNumbers() *Task {
	t := Linear()
	t.Features = t.Features[:2]
	return t
}

func TestMisleads(t *testing.T) {
	for _, c := range []struct {
		model []float64
		want  bool
	}{{[]float64{1, 0}, false}, {[]float64{-1, 0}, true}, {[]float64{-0.001, 0}, true}, {[]float64{0, 1}, false}, {[]float64{0, -1}, false}, {[]float64{0, 0}, false}} {
		if got := twoNumbers().misleads(signs(), c.model); got != c.want {
			t.Errorf("%v misleads: %v", c.model, got)
		}
	}
}

func heardFrom(models ...[]float64) State {
	s := State{Model: make([]float64, 2)}
	for i, m := range models {
		s.Heard = append(s.Heard, Heard{Peer: ID(rune('a' + i)), Weight: 1, Round: 1, Model: m})
	}
	return s
}

func TestPrior(t *testing.T) {
	own := State{Model: []float64{1, 2}}
	if got := Prior(own); !floats.Equal(got, own.Model) {
		t.Errorf("nobody was heard, and the prior is %v", got)
	}
	if got := Prior(heardFrom([]float64{1, 0}, []float64{3, 2})); !floats.Equal(got, []float64{2, 1}) {
		t.Errorf("of two it is %v", got)
	}
	// The middle is (1, 0), the distances 0, 0, 0, 0 and 1,000: a liar moves nothing.
	s := heardFrom([]float64{1, 0}, []float64{1, 0}, []float64{1, 0}, []float64{1, 0}, []float64{1, 1000})
	if got := Prior(s); !floats.EqualApprox(got, []float64{1, 0}, 1e-12) {
		t.Errorf("with a liar it is %v", got)
	}
}

func TestPriorForLeavesOutWhoMisleads(t *testing.T) {
	task, rows := twoNumbers(), signs()
	s := heardFrom([]float64{1, 0}, []float64{-1, 0})
	if got := PriorFor(task, rows, s); !floats.Equal(got, []float64{1, 0}) {
		t.Errorf("one of two misleads: %v", got)
	}
	if got := PriorFor(task, rows, heardFrom([]float64{-1, 0})); !floats.Equal(got, []float64{0, 0}) {
		t.Errorf("all mislead: %v", got)
	}
	if got := PriorFor(task, new(Rows), s); !floats.Equal(got, []float64{0, 0}) {
		t.Errorf("without records: %v", got)
	}
	if len(s.Heard) != 2 || s.Heard[0].Peer != "a" {
		t.Error("the state was changed")
	}
}
