package privacy

import (
	"math"
	"testing"

	"p2pnode/privacy/accountant"
)

// The price of a plan of truncated Laplace noise is that of the continuous law it is
// made for, at bounds so near that they are most of it. The law is scaled to 1: the
// sensitivity is 2 clips in units of the scale, to which a unit of the grid comes for each coordinate.
func TestPlanPriceOfTruncatedLaplace(t *testing.T) {
	const dim, scale, bound = 3, 5.0, 20.0
	b := Budget{1, 0.1}
	m := must(t)(NewTruncatedLaplace(1, scale, bound))
	for _, count := range []int{1, 3} {
		got, err := NewSchedule(Step{m, count}).cost(b, dim)
		if err != nil {
			t.Fatal(err)
		}
		loss, err := accountant.Compose(b.Delta, accountant.Group{Step: accountant.TruncatedLaplace(2/scale, bound/scale), Count: count})
		if err != nil {
			t.Fatal(err)
		}
		want := loss.Delta(b.Epsilon) / b.Delta
		free, err := accountant.Compose(b.Delta, accountant.Group{Step: accountant.Laplace(2 / scale), Count: count})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got/want-1) > 1e-3 || want < 1.02*free.Delta(b.Epsilon)/b.Delta {
			t.Errorf("%d releases cost %v of the budget, want %v; without bounds %v", count, got, want, free.Delta(b.Epsilon)/b.Delta)
		}
	}
}

// Discreteness is charged for Gaussian numbers alone.
func TestGaussianCoordinates(t *testing.T) {
	gaussian, cut := must(t)(NewGaussian(1, 100)), must(t)(NewTruncatedGaussian(1, 100, 500))
	laplace := must(t)(NewLaplace(1, 100))
	s := NewSchedule(Step{laplace, 3}, Step{gaussian, 2}, Step{cut, 4})
	if got := s.gaussianCoordinates(5); got != 30 {
		t.Errorf("%v coordinates, want 30: five in each of six releases", got)
	}
}
