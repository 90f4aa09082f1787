package accountant

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
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

// numbers is a number or a list of them.
type numbers []float64

func (n *numbers) UnmarshalJSON(data []byte) error {
	if data[0] == '[' {
		return json.Unmarshal(data, (*[]float64)(n))
	}
	*n = make(numbers, 1)
	return json.Unmarshal(data, &(*n)[0])
}

// referenceInput has the inputs of all kinds.
type referenceInput struct {
	Eps, L2, Sigma                            numbers
	Delta, Mu, Eps0, Delta0, Slack, Sens, Rho float64
	Alpha, Q                                  float64
	Shift                                     float64 `json:"a"`
	Bound                                     float64 `json:"A"`
	K, T                                      int
	Steps                                     []referenceStep
}

type referenceStep struct {
	Type, Mode string
	Shift      float64 `json:"a"`
	Bound      float64 `json:"A"`
	Q          float64
	Base       *referenceStep
	Count      int
}

func (s referenceStep) step() Step {
	switch s.Type {
	case "gaussian":
		return Gaussian(s.Shift)
	case "laplace":
		return Laplace(s.Shift)
	case "trunc_laplace":
		return TruncatedLaplace(s.Shift, s.Bound)
	case "trunc_gauss":
		return TruncatedGaussian(s.Shift, s.Bound)
	case "sub":
		step, err := Subsampled(s.Base.step(), s.Q, map[string]Sampling{"wor": WithoutReplacement, "poisson": Poisson}[s.Mode])
		if err == nil {
			return step
		}
	}
	return nil // Compose says so
}

func epsilonOf(delta float64, groups ...Group) float64 {
	loss, err := Compose(delta, groups...)
	if err != nil {
		return math.NaN()
	}
	return loss.Epsilon(delta)
}

func deltaOf(epsilon float64, groups ...Group) float64 {
	loss, err := Compose(1e-3, groups...)
	if err != nil {
		return math.NaN()
	}
	return loss.Delta(epsilon)
}

// evaluate is what this package says to a case, in the order of the keys of
// what is expected.
var evaluate = map[string]func(in referenceInput) []float64{
	"gauss_sigma": func(in referenceInput) []float64 { return []float64{in.L2[0] / lowMu(in.Eps[0], in.Delta)} },
	"gauss_delta": func(in referenceInput) []float64 { return []float64{GaussianDelta(in.Eps[0], in.Mu)} },
	"gauss_compose_eps": func(in referenceInput) []float64 {
		var squares float64
		for i := range in.L2 {
			squares += math.Pow(in.L2[i]/in.Sigma[i], 2)
		}
		return []float64{GaussianEpsilon(in.Delta, math.Sqrt(squares))}
	},
	"pure_compose_eps": func(in referenceInput) []float64 { return []float64{PureEpsilon(in.Eps0, in.K, in.Delta)} },
	"approx_compose_eps": func(in referenceInput) []float64 {
		return []float64{ApproxPureEpsilon(in.Eps0, in.Delta0, in.K, in.Delta)}
	},
	"pure_hetero_eps": func(in referenceInput) []float64 {
		var groups []Group
		for _, e := range in.Eps {
			groups = append(groups, Group{Pure(e), 1})
		}
		return []float64{epsilonOf(in.Delta, groups...)}
	},
	"kairouz_min": func(in referenceInput) []float64 {
		k := Kairouz(in.Eps, in.Slack)
		return []float64{k.Basic, k.Min(), k.Second, k.Third}
	},
	"pld_eps": func(in referenceInput) []float64 {
		var groups []Group
		for _, s := range in.Steps {
			groups = append(groups, Group{s.step(), s.Count})
		}
		return []float64{epsilonOf(in.Delta, groups...)}
	},
	"trunc_laplace_delta": func(in referenceInput) []float64 {
		return []float64{TruncatedLaplace(in.Shift, in.Bound).Delta(in.Eps[0])}
	},
	"trunc_gauss_delta": func(in referenceInput) []float64 {
		return []float64{TruncatedGaussian(in.Shift, in.Bound).Delta(in.Eps[0])}
	},
	"trunc_laplace_2fold_delta": func(in referenceInput) []float64 {
		return []float64{deltaOf(in.Eps[0], Group{TruncatedLaplace(in.Shift, in.Bound), 2})}
	},
	"trunc_gauss_2fold_delta": func(in referenceInput) []float64 {
		return []float64{deltaOf(in.Eps[0], Group{TruncatedGaussian(in.Shift, in.Bound), 2})}
	},
	"trunc_laplace_calibrate": func(in referenceInput) []float64 {
		scale, bound := TruncatedLaplaceFor(in.Eps[0], in.Delta, in.Sens)
		return []float64{bound, scale}
	},
	"sub_wor_gauss_delta": func(in referenceInput) []float64 {
		s, _ := Subsampled(Gaussian(in.Shift), in.Q, WithoutReplacement)
		return []float64{s.Delta(in.Eps[0])}
	},
	"laplace_delta": func(in referenceInput) []float64 { return []float64{Laplace(in.Shift).Delta(in.Eps[0])} },
	"laplace_step": func(in referenceInput) []float64 {
		a, _ := LargestLaplaceStep(in.Eps[0], in.Delta, in.T)
		return []float64{a}
	},
	"pure_step": func(in referenceInput) []float64 {
		e, _ := LargestPureStep(in.Eps[0], in.Delta, in.T)
		return []float64{e}
	},
	"laplace_rdp": func(in referenceInput) []float64 { return []float64{LaplaceRenyi(in.Alpha, in.Shift)} },
	"zcdp_eps":    func(in referenceInput) []float64 { return []float64{ZCDPEpsilon(in.Rho, in.Delta)} },
}

// Side "upper": an upper bound may be over the expected value by the tolerance,
// but under it by the oracle's rounding only; "lower" is the converse.
func TestReferenceValues(t *testing.T) {
	var file struct {
		Cases []struct {
			ID, Kind, Side string
			Input          json.RawMessage
			Expected       json.RawMessage
			RelTol         float64 `json:"rel_tol"`
		}
	}
	reference(t, "privacy_values.json", &file)
	seen := map[string]int{}
	for _, c := range file.Cases {
		f, ok := evaluate[c.Kind]
		if !ok {
			continue // a kind that belongs to another package
		}
		seen[c.Kind]++
		var in referenceInput
		if err := json.Unmarshal(c.Input, &in); err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		below, above := c.RelTol, c.RelTol
		switch c.Side {
		case "upper":
			below = 5e-6
		case "lower":
			above = 5e-6
		}
		got := f(in)
		for i, want := range expected(t, c.Expected) {
			if !(got[i] >= want*(1-below) && got[i] <= want*(1+above)) {
				t.Errorf("%s: got %.15g, want %.15g (%s, %g)", c.ID, got[i], want, c.Side, c.RelTol)
			}
		}
	}
	for kind := range evaluate {
		if seen[kind] == 0 {
			t.Errorf("the file has no case of kind %s", kind)
		}
	}
}

// expected is one number, or those of an object in the order of its keys.
func expected(t *testing.T, data json.RawMessage) []float64 {
	t.Helper()
	var one numbers
	if one.UnmarshalJSON(data) == nil {
		return one
	}
	var object map[string]float64
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	var values []float64
	for _, key := range slices.Sorted(maps.Keys(object)) {
		values = append(values, object[key])
	}
	return values
}
