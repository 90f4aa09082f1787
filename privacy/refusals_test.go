package privacy

import (
	"math"
	"strings"
	"testing"
)

// No account opens on a budget that protects nothing, whatever the accounting.
func TestNoAccountWithoutABudget(t *testing.T) {
	for _, d := range []Design{
		{Accounting: GaussianFilter}, {Accounting: RenyiFilter}, {Accounting: CommittedPlan}, {Accounting: PureFilter, Noise: Laplace},
	} {
		d.Budget, d.Dimension, d.Clip, d.Releases = Budget{1, 1e-6}, 3, 1, 5
		good := mustPolicy(t, d)
		if _, err := NewAccount(good); err != nil {
			t.Fatal(err)
		}
		for _, b := range []Budget{{}, {-1, 1e-6}, {math.NaN(), 1e-6}, {math.Inf(1), 1e-6}, {1, -1}, {1, 1}, {1, math.NaN()}} {
			p := good
			p.Terms.Budget = b
			if _, err := NewAccount(p); err == nil {
				t.Errorf("%s: an account opens on the budget %+v", d.Accounting, b)
			}
		}
	}
}

// A filter that has no price says for what.
func TestNoPriceNamesTheNoise(t *testing.T) {
	for batch, says := range map[int]string{0: "for laplace noise", 1: "for subsampled laplace noise"} {
		d := Design{Budget: Budget{1, 1e-6}, Dimension: 3, Clip: 1, Releases: 5, Noise: Laplace, Accounting: GaussianFilter, Batch: batch, Slots: 2 * batch}
		if _, err := d.Policy(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// It says which have a price, and of which noise.
func TestNoPriceNamesTheChoices(t *testing.T) {
	const want = `choose "gdp", "renyi" or "plan" for gaussian, "pure", "renyi" or "plan" for laplace, "plan" for any other`
	if err := GaussianFilter.noPrice(TruncatedLaplace, false); !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// Without private sums releases have all of a limit; with them never more than their share.
func TestReleasableIsRoundedDown(t *testing.T) {
	for apart, want := range map[float64]float64{0: 0.3, 0.25: 0.225, 1: 0} {
		got := Policy{Apart: apart}.releasable(0.3)
		if got > want || got < want*(1-1e-15) || apart == 0 && got != want {
			t.Errorf("%v of 0.3 is apart, and %v is left", apart, got)
		}
	}
}

// Text with something behind it that is not base64 is no schedule, though what
// stands before is.
func TestScheduleTextEndsWhereItEnds(t *testing.T) {
	text, err := NewSchedule(Step{must(t)(NewGaussian(1, 5)), 3}).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"!", "!!!!", "=", "AAA"} {
		if err := new(Schedule).UnmarshalText([]byte(string(text) + more)); err == nil {
			t.Errorf("text that ends with %q is taken", more)
		}
	}
}

// A law that nobody knows draws no zeros.
func TestUnknownLawDrawsNothing(t *testing.T) {
	mustPanic(t, "an unknown law", func() { Mechanism{noise: "none", sigma: 1}.draw(seeded(1)) })
}

// The last of growing releases has the least noise, 1 time itself, and each before it
// more by the same factor.
func TestGrowingStretches(t *testing.T) {
	d := Design{Pace: Growing, Contraction: 0.5, Releases: 5, Accounting: GaussianFilter}
	list, err := d.stretches()
	if err != nil || len(list) != 5 {
		t.Fatalf("%v, %v", list, err)
	}
	for i, s := range list {
		if want := math.Pow(0.5, -float64(4-i)/4); s.count != 1 || math.Abs(s.noise/want-1) > 1e-12 {
			t.Errorf("release %d: %+v, want noise %v", i+1, s, want)
		}
	}
}
