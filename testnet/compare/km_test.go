package compare

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
	"p2pnode/privacy/accountant"
)

func noiseStd(t *testing.T) map[string]Row {
	t.Helper()
	rows, err := Options{}.run(t.Context(), noiseTrials())
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Row{}
	for _, r := range rows {
		by[r.Setting] = r
	}
	return by
}

// DP-dKM's ranking of the noise for one number (EXPERIMENTS section 4): truncated
// Laplace, Laplace, Gaussian, and the values. The truncated Gaussian, calibrated as it
// must be, is not better than the Gaussian; by theorem 6 it is better, and not private.
func TestRankingOfOneNumber(t *testing.T) {
	rows := noiseStd(t)
	for law, want := range map[string]float64{
		"gaussian": 4.610, "laplace": 2.828, "truncated-laplace": 2.728, "truncated-gaussian": 4.614, "truncated-gaussian by theorem 6": 1.0,
	} {
		r := rows["1 release of 1 number: "+law]
		if math.Abs(r.Mean/want-1) > 1e-3 {
			t.Errorf("%s: standard deviation %v, want %v", law, r.Mean, want)
		}
		if valid := r.Valid == "yes"; valid == strings.Contains(law, "theorem 6") {
			t.Errorf("%s: valid %q", law, r.Valid)
		}
	}
}

// For vectors the ranking is the other way round, and the more so the more releases.
func TestRankingOfVectorsIsReversed(t *testing.T) {
	rows := noiseStd(t)
	for _, c := range []struct {
		setting string
		factor  float64
	}{{"1 release of 10 numbers: ", 1.9}, {"20 releases of 10 numbers: ", 4.2}} {
		gaussian, laplace := rows[c.setting+"gaussian"].Mean, rows[c.setting+"laplace"].Mean
		if laplace < c.factor*gaussian {
			t.Errorf("%sLaplace %v, Gaussian %v", c.setting, laplace, gaussian)
		}
		if truncated := rows[c.setting+"truncated-laplace"].Mean; truncated < 0.99*laplace {
			t.Errorf("%struncated Laplace %v, Laplace %v", c.setting, truncated, laplace)
		}
		if truncated := rows[c.setting+"truncated-gaussian"].Mean; truncated < gaussian {
			t.Errorf("%struncated Gaussian %v, Gaussian %v", c.setting, truncated, gaussian)
		}
	}
}

// Theorem 6 takes the mass of one end for delta. It is that, and the true delta is
// 0.238.
func TestTheorem6(t *testing.T) {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	a, bound := 1/theorem6Sigma, theorem6Bound/theorem6Sigma
	end := (phi(bound) - phi(bound-a)) / (2*phi(bound) - 1)
	if math.Abs(end-kmBudget.Delta) > 1e-9 {
		t.Errorf("one end has mass %v, want %v", end, kmBudget.Delta)
	}
	if got := accountant.TruncatedGaussian(a, bound).Delta(kmBudget.Epsilon); math.Abs(got-0.238) > 5e-4 {
		t.Errorf("true delta %v, want 0.238", got)
	}
}

// With all releases paid for the Gaussian laws are far ahead of the Laplace laws, under
// every operator; truncation makes no difference.
func TestRankingOfLearners(t *testing.T) {
	for _, c := range []struct{ loss, operator string }{
		{"squared", "gradient"}, {"squared", "proximal"}, {"squared", "douglas-rachford"}, {"logistic", "proximal"},
	} {
		rmse := map[privacy.Noise]float64{}
		for _, law := range append([]privacy.Noise{privacy.Unprotected}, laws...) {
			rmse[law] = measured(t, 2, kmSetting{c.loss, c.operator, law, 10}.trial())[0].Mean
		}
		if rmse[privacy.Gaussian] < rmse[privacy.Unprotected] || rmse[privacy.Laplace] < 1.5*rmse[privacy.Gaussian] {
			t.Errorf("%v: want none below Gaussian, and Laplace half as much again at least: %v", c, rmse)
		}
		for _, pair := range [][2]privacy.Noise{{privacy.Laplace, privacy.TruncatedLaplace}, {privacy.Gaussian, privacy.TruncatedGaussian}} {
			if math.Abs(rmse[pair[1]]/rmse[pair[0]]-1) > 0.05 {
				t.Errorf("%v: %v", c, rmse)
			}
		}
	}
}

// The optimum of the toy: no coordinate can be moved to the better.
func TestLassoProblem(t *testing.T) {
	for _, loss := range []string{"squared", "logistic"} {
		p := newLassoProblem(loss, 0.02, 1)
		value := func(w []float64) float64 {
			sum := 0.
			for _, records := range p.records {
				for _, r := range records {
					z := floats.Dot(w, r.X)
					if loss == "squared" {
						sum += (r.Y - z) * (r.Y - z)
					} else {
						sum += math.Log1p(math.Exp(-r.Y * z))
					}
				}
			}
			return sum/(kmAgents*kmRecords) + 0.02*floats.Norm(w, 1)
		}
		best, zeros := value(p.optimum), 0
		for k, v := range p.optimum {
			if v == 0 {
				zeros++
			}
			for _, step := range []float64{-1e-3, 1e-3} {
				w := append([]float64(nil), p.optimum...)
				if w[k] += step; value(w) <= best {
					t.Errorf("%s: coordinate %d is better at %g", loss, k, w[k])
				}
			}
		}
		if zeros == 0 || zeros == kmWidth {
			t.Errorf("%s: %d coordinates are zero", loss, zeros)
		}
	}
}
