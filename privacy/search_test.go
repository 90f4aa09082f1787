package privacy

import (
	"errors"
	"math"
	"testing"
)

func TestNoiseGrid(t *testing.T) {
	for _, g := range []noiseGrid{3, planGrid, filterGrid} {
		octave := int64(1) << g
		last := 0.0
		for k := -13 * octave; k < 30*octave; k += max(1, octave/17) {
			x := g.noise(k)
			if x <= last || g.index(x) != k || g.index(math.Nextafter(x, 0)) != k-1 || g.noise(k+octave) != 2*x {
				t.Fatalf("grid %d: noise %d is %v, after %v, index %d", g, k, x, last, g.index(x))
			}
			last = x
		}
		if g.noise(0) != 1 || g.noise(g.index(leastNoise)) != leastNoise || g.noise(g.index(mostNoise)) != mostNoise {
			t.Errorf("grid %d does not have 1 and its ends", g)
		}
	}
}

// least finds the first number over any threshold from any start, whatever the shape of the cost.
func TestLeastNoise(t *testing.T) {
	const g = planGrid
	shapes := map[string]func(x float64) float64{
		"power":  func(x float64) float64 { return math.Pow(x, -2) },
		"steep":  func(x float64) float64 { return math.Exp(20 - 20*x) },
		"step":   func(x float64) float64 { return map[bool]float64{true: 0, false: math.Inf(1)}[x >= 1] },
		"uneven": func(x float64) float64 { return map[bool]float64{true: 1 - 1e-12, false: 1e30}[x >= 1] },
	}
	for name, shape := range shapes {
		for _, threshold := range []float64{0, leastNoise, 1e-3, 0.999, 1, 1.001, 17, mostNoise} {
			for _, start := range []float64{1e-9, leastNoise, 1, 16, mostNoise, 1e100, math.Inf(1)} {
				calls := 0
				cost := func(k int64) (float64, error) {
					calls++
					return shape(g.noise(k) / threshold), nil
				}
				k, found, err := g.least(cost, start, mostNoise)
				got, want := g.noise(k), max(threshold, leastNoise)
				if err != nil || !found || got < want || g.noise(k-1) >= want {
					t.Errorf("%s, threshold %v from %v: %v, %v, %v", name, threshold, start, got, found, err)
				}
				if calls > 75 {
					t.Errorf("%s, threshold %v from %v takes %d trials", name, threshold, start, calls)
				}
			}
		}
	}
}

// A cost of regular shape, as that of a plan is, takes few trials: each is a composition.
func TestLeastNoiseTakesFewTrials(t *testing.T) {
	const g = planGrid
	all := 0
	for _, power := range []float64{1, 1.5, 2, 3} {
		for _, threshold := range []float64{2.3, 7.1, 40.7} {
			calls := 0
			_, found, err := g.least(func(k int64) (float64, error) {
				calls++
				return math.Pow(threshold/g.noise(k), power) * (1 + threshold/g.noise(k)) / 2, nil
			}, threshold*1.1, mostNoise)
			if err != nil || !found || calls > 11 {
				t.Errorf("power %v, threshold %v: %d trials, %v", power, threshold, calls, err)
			}
			all += calls
		}
	}
	if all > 86 { // 84, and 91 if an end that stays counts in full
		t.Errorf("%d trials for twelve thresholds", all)
	}
}

func TestLeastNoiseOfNone(t *testing.T) {
	const g = planGrid
	if _, found, err := g.least(func(int64) (float64, error) { return 2, nil }, 1, mostNoise); found || err != nil {
		t.Errorf("found what does not exist, %v", err)
	}
	broken := errors.New("broken")
	for failing := 1; ; failing++ {
		calls := 0
		_, found, err := g.least(func(k int64) (float64, error) {
			if calls++; calls == failing {
				return 0, broken
			}
			return 7.3 / g.noise(k), nil
		}, 1, mostNoise)
		if calls < failing {
			break
		}
		if found || !errors.Is(err, broken) {
			t.Fatalf("the error of call %d is lost", failing)
		}
	}
}
