package privacy

import "testing"

// A mechanism that draws nothing needs no source of noise, and its answer is the
// exact sum.
func TestNothingDrawnWithoutASource(t *testing.T) {
	m := must(t)(NewUnprotected(1))
	s := m.NewSum(7, 2)
	s.Add([]float64{0.5, -0.25})
	s.Add([]float64{0.25, 0})
	var a Answer
	(*SeededNoise)(nil).AnswerInto(&a, m, []Sum{s})
	if len(a.Sum) != 2 || a.Sum[0] != 0.75 || a.Sum[1] != -0.25 || a.Slots != 2 || len(a.Cohorts) != 1 || a.Cohorts[0] != 7 {
		t.Errorf("got %+v, want the sum of two records of cohort 7", a)
	}
	protected := must(t)(NewGaussian(1, 5))
	mustPanic(t, "noise without a source", func() {
		(*SeededNoise)(nil).AnswerInto(&a, protected, []Sum{filled(protected, 1, 2, 1)})
	})
}
