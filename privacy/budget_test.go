package privacy

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"p2pnode/privacy/accountant"
)

// reference reads a file of reference values into v.
func reference(t *testing.T, name string, v any) {
	t.Helper()
	dir := os.Getenv("P2PNODE_SHARED")
	if dir == "" {
		t.Skip("set P2PNODE_SHARED to the directory that has reference/" + name)
	}
	data, err := os.ReadFile(filepath.Join(dir, "reference", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// The agents' golden file states the sigma of T releases and the total mu of a
// budget, computed by another program.
func TestGoldenCalibration(t *testing.T) {
	var file struct {
		Gaussian []struct {
			Eps, Delta, Sens, Sigma float64
			T                       int
		}
		Accounting map[string]struct {
			Mu float64 `json:"gdp_mu_total"`
		} `json:"accounting_delta_exp-5_per_step"`
	}
	reference(t, "agents_golden.json", &file)
	if len(file.Gaussian) == 0 || len(file.Accounting) == 0 {
		t.Fatal("the file has no calibrations")
	}
	for _, c := range file.Gaussian {
		m := mustCalibrate(t, Budget{c.Eps, c.Delta}, c.Sens/2, c.T, 100)
		// The grid, and the charge for 100 coordinates, cost less than 3e-8.
		if ratio := m.Scale() / c.Sigma; ratio < 1-1e-9 || ratio > 1+3e-8 {
			t.Errorf("eps %v delta %v T %d: calibrated sigma is %.12f of the golden one", c.Eps, c.Delta, c.T, ratio)
		}
	}
	for name, c := range file.Accounting {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "eps"), "_")
		epsilon, err := strconv.ParseFloat(number, 64)
		if err != nil {
			t.Fatal(err)
		}
		if mu := (Budget{epsilon, math.Exp(-5)}).Mu(); math.Abs(mu/c.Mu-1) > 1e-9 {
			t.Errorf("%s: mu %.15g, want %.15g", name, mu, c.Mu)
		}
	}
}

func TestBudgetValidate(t *testing.T) {
	for _, b := range []Budget{{1, 1e-6}, {1e-9, 1e-300}, {1e6, 0.5}} {
		if err := b.Validate(); err != nil || b.Mu() <= 0 {
			t.Errorf("%+v: %v, mu %v", b, err, b.Mu())
		}
	}
	for _, b := range []Budget{
		{}, {0, 0.1}, {-1, 0.1}, {1e-10, 0.1}, {2e6, 0.1}, {math.Inf(1), 0.1}, {math.NaN(), 0.1},
		{1, 0}, {1, -1}, {1, 0.51}, {1, 1e-301}, {1, math.NaN()}, {1, math.Inf(1)},
	} {
		if b.Validate() == nil {
			t.Errorf("%+v is accepted", b)
		}
		if b.Mu() != 0 {
			t.Errorf("%+v has the mu %v", b, b.Mu())
		}
		for _, k := range []int{1, 3} {
			if got := b.ForRecords(k).Epsilon; !math.IsInf(got, 1) {
				t.Errorf("%+v for %d records has epsilon %v", b, k, got)
			}
		}
	}
}

func TestBudgetForRecords(t *testing.T) {
	b := Budget{1, 1e-6}
	if got := b.ForRecords(1); got != b {
		t.Errorf("one record costs %+v, want %+v", got, b)
	}
	last := b.Epsilon
	for k := 2; k <= 40; k++ {
		got := b.ForRecords(k)
		// k mu keeps the stated epsilon, and not much less.
		mu := float64(k) * b.Mu()
		over := accountant.GaussianDelta(got.Epsilon, mu) > b.Delta*(1+1e-12)
		loose := accountant.GaussianDelta(got.Epsilon*(1-1e-9), mu) < b.Delta
		if over || loose {
			t.Errorf("%d records cost %+v, that is not the epsilon of %d mu", k, got, k)
		}
		if got.Delta != b.Delta || got.Epsilon <= last+b.Epsilon*0.99 {
			t.Errorf("%d records cost %+v, that is no more than %v plus one", k, got, last)
		}
		last = got.Epsilon
	}
}
