package privacy

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
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

// referenceCase is one entry of privacy_values.json. Input differs by kind.
type referenceCase struct {
	ID, Kind, Side string
	Input          json.RawMessage
	Expected       any     // a float64 in the kinds that are computed here
	RelTol         float64 `json:"rel_tol"`
}

// accepts reports whether got is on the right side of the expected value: an
// upper bound may be over it by rel_tol but under it by rounding only.
func (c referenceCase) accepts(got float64) bool {
	want, ok := c.Expected.(float64)
	below, above := c.RelTol, c.RelTol
	switch c.Side {
	case "upper":
		below = 5e-6
	case "lower":
		above = 5e-6
	}
	return ok && got >= want*(1-below) && got <= want*(1+above)
}

func TestReferenceValues(t *testing.T) {
	var file struct{ Cases []referenceCase }
	reference(t, "privacy_values.json", &file)
	compute := map[string]func(referenceCase) float64{
		"gauss_sigma": func(c referenceCase) float64 {
			var in struct{ Eps, Delta, L2 float64 }
			decode(t, c.Input, &in)
			mu, err := GaussianMu(Budget{in.Eps, in.Delta})
			if err != nil {
				t.Error(err)
			}
			return in.L2 / mu
		},
		"gauss_delta": func(c referenceCase) float64 {
			var in struct{ Eps, Mu float64 }
			decode(t, c.Input, &in)
			return GaussianDelta(in.Eps, in.Mu)
		},
		"gauss_compose_eps": func(c referenceCase) float64 {
			var in struct {
				L2, Sigma []float64
				Delta     float64
			}
			decode(t, c.Input, &in)
			var squares float64
			for i := range in.L2 {
				squares += math.Pow(in.L2[i]/in.Sigma[i], 2)
			}
			return GaussianEpsilon(in.Delta, math.Sqrt(squares))
		},
	}
	seen := map[string]int{}
	for _, c := range file.Cases {
		f, ok := compute[c.Kind]
		if !ok {
			continue // a kind that this package does not compute
		}
		seen[c.Kind]++
		if got := f(c); !c.accepts(got) {
			t.Errorf("%s: got %.15g, want %v (%s, %g)", c.ID, got, c.Expected, c.Side, c.RelTol)
		}
	}
	for kind := range compute {
		if seen[kind] == 0 {
			t.Errorf("the file has no case of kind %s", kind)
		}
	}
}

func decode(t *testing.T, data json.RawMessage, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}
