package learner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Quantiles from tables.
func TestStudent(t *testing.T) {
	for degrees, want := range map[float64]float64{1: 12.7062, 2: 4.30265, 9: 2.26216, 29: 2.04523, 1e6: normal} {
		if got := student(degrees); math.Abs(got-want) > 1e-4 {
			t.Errorf("97.5%% quantile of t with %v degrees: %v, want %v", degrees, got, want)
		}
	}
}

// Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
func TestWilsonAgainstPublished(t *testing.T) {
	for _, c := range []struct{ wrong, n, low, high float64 }{{81, 263, .2553, .3662}, {15, 148, .0624, .1605}, {0, 20, 0, .1611}, {1, 29, .0061, .1718}} {
		v := wilson(c.wrong/c.n, c.n)
		if math.Abs(v.Low-c.low) > 5e-5 || math.Abs(v.High-c.high) > 5e-5 {
			t.Errorf("%v of %v: [%.4f, %.4f], want [%v, %v]", c.wrong, c.n, v.Low, v.High, c.low, c.high)
		}
	}
}

func TestIntervalOfTooFew(t *testing.T) {
	for _, c := range []struct {
		m      Measure
		losses []float64
		want   bool
	}{{RMSE, []float64{1, 2}, false}, {RMSE, []float64{1, 2, 3}, true}, {RMSE, []float64{0, 0, 0}, false}, {ErrorShare, nil, false}, {ErrorShare, []float64{0}, true}} {
		s := ScoreOf(c.m, c.losses)
		if got := s.Interval(); (got != nil) != c.want || got != nil && !(got.Low <= s.Error && s.Error <= got.High) {
			t.Errorf("%s of %v: %+v, want one: %v", c.m, c.losses, got, c.want)
		}
	}
	if got := ScoreOf(RMSE, []float64{1, 2}).Gain(ScoreOf(RMSE, []float64{2, 3})); got != nil {
		t.Errorf("gain of two records: %+v, want none", got)
	}
}

func TestWord(t *testing.T) {
	for _, c := range []struct {
		v    Interval
		want string
	}{{Interval{1, 0.5, 2}, Better}, {Interval{-1, -2, -0.5}, Worse}, {Interval{0.1, -1, 1}, CannotTell}, {Interval{0.1, 0, 1}, CannotTell}, {Interval{}, CannotTell}} {
		if got := c.v.Word(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.v, got, c.want)
		}
	}
}

// noise draws a residual.
type noise struct {
	name   string
	draw   func(r *rand.Rand) float64
	square float64 // its mean square
	least  float64 // coverage that the comment of [Score.Interval] promises
}

var noises = []noise{
	{"uniform", func(r *rand.Rand) float64 { return 2*r.Float64() - 1 }, 1. / 3, .95},
	{"Gaussian", (*rand.Rand).NormFloat64, 1, .95},
	{"biased", func(r *rand.Rand) float64 { return 1 + r.NormFloat64() }, 2, .95},
	{"Laplace", func(r *rand.Rand) float64 { return r.ExpFloat64() * float64(2*r.IntN(2)-1) }, 2, .90},
	{"t4", func(r *rand.Rand) float64 {
		// A chi-square with four degrees is the double of two exponentials' sum.
		return r.NormFloat64() / math.Sqrt((r.ExpFloat64()+r.ExpFloat64())/2)
	}, 2, .85},
}

const sets = 2000 // of records, for each coverage

// wantCovered allows for the chance of a true coverage of least: over 2000 sets its
// standard deviation is at most .0080, so that 4.5 of them are .036 at .85 and .022 at
// .95: the 25 comparisons of one test fail falsely with a probability of less than 1e-4.
func wantCovered(t *testing.T, what string, covered int, least float64) {
	t.Helper()
	got := float64(covered) / sets
	t.Logf("%s: %.4f", what, got)
	if slack := 4.5 * math.Sqrt(least*(1-least)/sets); got < least-slack {
		t.Errorf("%s: covered in %.4f of the sets, want %v less %.3f for chance", what, got, least, slack)
	}
}

func TestCoverageOfRMSE(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	for _, from := range noises {
		for _, n := range []int{3, 5, 12, 30, 100} {
			covered := 0
			for range sets {
				losses := make([]float64, n)
				for i := range losses {
					losses[i] = math.Pow(from.draw(r), 2)
				}
				if v := ScoreOf(RMSE, losses).Interval(); v.Low <= math.Sqrt(from.square) && math.Sqrt(from.square) <= v.High {
					covered++
				}
			}
			wantCovered(t, fmt.Sprint(from.name, ", records: ", n), covered, from.least)
		}
	}
}

// Two models whose residuals share a part: the one adds noise of its own of half the
// size of the shared part, the other of more, as much or none. By how much their
// RMSEs differ is known.
func TestCoverageOfGainInRMSE(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 2))
	for _, from := range noises[1:4] {
		for _, own := range []float64{1, 0.5, 0} {
			want := math.Sqrt(from.square+own*own) - math.Sqrt(from.square+0.25)
			for _, n := range []int{3, 10, 30} {
				covered := 0
				for range sets {
					with, alone := make([]float64, n), make([]float64, n)
					for i := range with {
						shared := from.draw(r)
						with[i] = math.Pow(shared+0.5*r.NormFloat64(), 2)
						alone[i] = math.Pow(shared+own*r.NormFloat64(), 2)
					}
					if v := ScoreOf(RMSE, with).Gain(ScoreOf(RMSE, alone)); v.Low <= want && want <= v.High {
						covered++
					}
				}
				wantCovered(t, fmt.Sprint(from.name, ", own noise ", own, ", records ", n), covered, .935)
			}
		}
	}
}

// Exact: sums of binomial and trinomial probabilities, no chance.
func TestCoverageOfShares(t *testing.T) {
	for _, n := range []int{5, 12, 30, 100} {
		var mean float64
		const steps = 99
		for k := 1; k <= steps; k++ {
			mean += wilsonCovers(float64(k)/(steps+1), n) / steps
		}
		t.Logf("Wilson, %d records: %.4f in the mean of all shares", n, mean)
		if mean < .948 {
			t.Errorf("%d records: the interval of a share covers it in %.4f of the cases, want .948", n, mean)
		}
		for _, p := range [][2]float64{{.01, .01}, {.05, .05}, {.1, .02}, {.2, .2}, {.3, .1}, {.5, .05}} {
			if got := gainCovers(p[0], p[1], n); got < .935 {
				t.Errorf("%d records, %v of them right in one model only: the interval covers in %.4f of the cases, want .935", n, p, got)
			}
		}
	}
}

func wilsonCovers(p float64, n int) (sum float64) {
	for k := range n + 1 {
		if v := wilson(float64(k)/float64(n), float64(n)); v.Low <= p && p <= v.High {
			sum += multinomialProbability(n, k, 0, p, 0)
		}
	}
	return sum
}

// gainCovers is how often the gain up - down is covered, where one model alone is right
// with probability up, the other with down.
func gainCovers(up, down float64, n int) (sum float64) {
	for a := range n + 1 {
		for b := range n + 1 - a {
			with, alone := make([]float64, n), make([]float64, n)
			for i := range a {
				alone[i] = 1
			}
			for i := range b {
				with[a+i] = 1
			}
			if v := ScoreOf(ErrorShare, with).Gain(ScoreOf(ErrorShare, alone)); v.Low <= up-down && up-down <= v.High {
				sum += multinomialProbability(n, a, b, up, down)
			}
		}
	}
	return sum
}

// multinomialProbability is that of a and b among n.
func multinomialProbability(n, a, b int, p, q float64) float64 {
	log := func(k int) float64 { v, _ := math.Lgamma(float64(k) + 1); return v }
	return math.Exp(log(n)-log(a)-log(b)-log(n-a-b)) * math.Pow(p, float64(a)) * math.Pow(q, float64(b)) * math.Pow(1-p-q, float64(n-a-b))
}
