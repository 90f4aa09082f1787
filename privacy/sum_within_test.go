package privacy

import (
	"slices"
	"testing"
)

// addWithin takes what is at most the bound, to the last unit, and gives back the
// sum as it was where it does not.
func TestAddWithin(t *testing.T) {
	for _, c := range []struct {
		gradient []float64
		factor   float64
		bound    int64
		fits     bool
	}{
		{[]float64{3, -4}, 1, 5, true},
		{[]float64{3, -4}, 1, 4, false},
		{[]float64{3, -4, 1}, 1, 5, false},
		{[]float64{1.5, -2}, 2, 5, true},
		{[]float64{0, 0}, 1, 0, true},
		{[]float64{3, -4}, 1, 5 << 40, true},             // only the square of the bound needs more
		{[]float64{3 << 40, -4 << 40}, 1, 5 << 40, true}, // the squares need more than 64 bits
		{[]float64{3 << 40, -4<<40 - 1}, 1, 5 << 40, false},
	} {
		total := []int64{7, -8, 9}[:len(c.gradient)]
		want := slices.Clone(total)
		if c.fits {
			for j, g := range c.gradient {
				want[j] += int64(g * c.factor)
			}
		}
		if got := addWithin(total, c.gradient, c.factor, c.bound); got != c.fits || !slices.Equal(total, want) {
			t.Errorf("%v times %v within %d: %v and %v, want %v and %v", c.gradient, c.factor, c.bound, got, total, c.fits, want)
		}
	}
}
