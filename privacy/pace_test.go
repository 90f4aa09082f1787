package privacy

import (
	"math"
	"slices"
	"testing"
)

// noiseTerm is what proposition 2 minimises: the sum of C^{T-1-t} times the
// variance of release t.
func noiseTerm(p Policy, contraction float64) float64 {
	n, sum := p.Schedule.Releases(), 0.0
	for t := range n {
		m, _ := p.Next(t)
		sum += math.Pow(contraction, float64(n-1-t)) * m.NoiseStd() * m.NoiseStd()
	}
	return sum
}

// The corrected proposition 2 beats the uniform pace by what an independent
// computation says, and every other pace of its family; the paper's, which is the
// reverse, does much worse.
func TestGrowingPaceIsTheOptimum(t *testing.T) {
	for _, c := range []struct {
		noise                     Noise
		accounting                Accounting
		releases                  int
		correct, paper, tolerance float64
	}{
		{Laplace, PureFilter, 50, 0.55, 4.48, 0.005},
		{Laplace, PureFilter, 10, 0.97, 1.09, 0.005},
		{Gaussian, GaussianFilter, 50, 0.66, 0, 0.005},
		{Laplace, RenyiFilter, 50, 0.65, 0, 0.01},
		{Laplace, CommittedPlan, 10, 0.98, 0, 0.02},
	} {
		d := Design{Budget: Budget{1, math.Exp(-5)}, Dimension: 2, Clip: 1, Releases: c.releases, Noise: c.noise, Accounting: c.accounting}
		uniform := noiseTerm(mustPolicy(t, d), 0.9)
		d.Pace, d.Contraction = Growing, 0.9
		growing := noiseTerm(mustPolicy(t, d), 0.9) / uniform
		if math.Abs(growing-c.correct) > c.tolerance {
			t.Errorf("%s, %s, %d releases: %.4f of the uniform noise, want %.2f", c.noise, c.accounting, c.releases, growing, c.correct)
		}
		others := []float64{0.85, 0.95}
		if c.accounting == CommittedPlan {
			others = nil // squares add up nearly, so it is nearly the best
		}
		for _, other := range others {
			d.Contraction = other
			if term := noiseTerm(mustPolicy(t, d), 0.9) / uniform; term < growing {
				t.Errorf("%s, %s: a pace for %v has %.4f, the one for 0.9 has %.4f", c.noise, c.accounting, other, term, growing)
			}
		}
		if c.paper == 0 {
			continue
		}
		// Reversed in time, the same releases cost the same under a filter.
		d.Contraction = 0.9
		steps := slices.Clone(mustPolicy(t, d).Schedule.steps)
		for i, j := 0, len(steps)-1; i < j; i, j = i+1, j-1 {
			steps[i], steps[j] = steps[j], steps[i]
		}
		if paper := noiseTerm(Policy{Schedule: NewSchedule(steps...)}, 0.9) / uniform; math.Abs(paper-c.paper) > c.tolerance {
			t.Errorf("the paper's pace has %.4f of the uniform noise, want %.2f", paper, c.paper)
		}
	}
}

// A contraction whose first release has 2^25 times the noise of the last is hard, and
// leaves a signal.
func TestAHardContractionIsTaken(t *testing.T) {
	d := Design{Budget: Budget{1, 1e-6}, Dimension: 1, Clip: 1, Releases: 100, Pace: Growing, Contraction: 0.5}
	p := mustPolicy(t, d)
	first, _ := p.Next(0)
	last, _ := p.Next(d.Releases - 1)
	if ratio := math.Log2(first.Scale() / last.Scale()); math.Abs(ratio-99.0/4) > 0.01 {
		t.Errorf("the first release has 2^%v times the noise of the last, want 2^24.75", ratio)
	}
}
