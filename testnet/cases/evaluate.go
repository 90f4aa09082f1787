package cases

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Result is a case with its result. If the case could not be evaluated, Got is nil and
// Error says why.
type Result struct {
	ID       string  `json:"id"`
	Kind     string  `json:"kind"`
	Got      *Value  `json:"got,omitempty"`
	Expected *Value  `json:"expected,omitempty"`
	RelTol   float64 `json:"rel_tol"`
	Side     string  `json:"side"`
	OK       bool    `json:"ok"`
	Error    string  `json:"error,omitempty"`
}

// Verdict is the result in one word, or a sentence if there is no result.
func (r Result) Verdict() string {
	switch {
	case r.Error != "":
		return "ERROR: " + r.Error
	case !r.OK:
		return "FAIL"
	}
	return "ok"
}

// Evaluate computes the case and compares: every number must lie on the side and within
// the relative tolerance that the case states.
func (c *Case) Evaluate() Result {
	r := Result{ID: c.ID, Kind: c.Kind, RelTol: c.relTol, Side: string(c.side)}
	if len(c.expected.numbers) > 0 {
		r.Expected = &c.expected
	}
	got, err := c.compute()
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.Got, r.OK = &got, true
	for i, n := range got.numbers {
		low, high := c.side.bounds(float64(c.expected.numbers[i]), c.relTol)
		r.OK = r.OK && low <= float64(n) && float64(n) <= high
	}
	return r
}

// answer is the result of a kind: numbers by name, the main one under "", or a list.
type answer struct {
	named map[string]float64
	list  []float64
}

func one(f float64) answer { return answer{named: map[string]float64{"": f}} }

// computation is a kind whose arguments have been read.
type computation func() (answer, error)

func (c *Case) compute() (Value, error) {
	if c.err != nil {
		return Value{}, c.err
	}
	in := newArguments(c.input)
	compute := kind(c.Kind, in)
	if compute == nil {
		return Value{}, fmt.Errorf("unknown kind %q", c.Kind)
	}
	if err := in.done(); err != nil {
		return Value{}, fmt.Errorf("input: %w", err)
	}
	a, err := compute()
	if err != nil {
		return Value{}, err
	}
	return a.in(c.expected)
}

// in gives the answer the shape of the expected value.
func (a answer) in(expected Value) (Value, error) {
	v := Value{names: expected.names, scalar: expected.scalar}
	if v.names == nil {
		list := a.list
		if main, ok := a.named[""]; ok {
			list = []float64{main}
		}
		if len(list) != len(expected.numbers) {
			return Value{}, fmt.Errorf("expected has %d numbers, the result has %d", len(expected.numbers), len(list))
		}
		for _, f := range list {
			v.numbers = append(v.numbers, number(f))
		}
		return v, nil
	}
	for _, name := range expected.names {
		f, ok := a.named[name]
		if !ok || name == "" {
			known := slices.DeleteFunc(slices.Sorted(maps.Keys(a.named)), func(s string) bool { return s == "" })
			return Value{}, fmt.Errorf("expected has an unknown field %q; known: %s", name, strings.Join(known, ", "))
		}
		v.numbers = append(v.numbers, number(f))
	}
	return v, nil
}

// kind reads the arguments of a kind; it returns nil for an unknown kind.
func kind(name string, in *arguments) computation {
	switch name {
	case "gauss_sigma":
		return gaussSigma(in)
	case "gauss_delta":
		return gaussDelta(in)
	case "gauss_compose_eps":
		return gaussComposeEps(in)
	case "laplace_delta":
		return laplaceDelta(in)
	case "pure_compose_eps", "approx_compose_eps":
		return pureComposeEps(in)
	case "pure_hetero_eps":
		return pureHeteroEps(in)
	case "kairouz_min":
		return kairouzMin(in)
	case "pld_eps":
		return pldEps(in)
	case "trunc_laplace_delta", "trunc_laplace_2fold_delta":
		return truncatedDelta(in, "trunc_laplace", name)
	case "trunc_gauss_delta", "trunc_gauss_2fold_delta", "thm6_must_reject":
		return truncatedDelta(in, "trunc_gauss", name)
	case "trunc_laplace_calibrate":
		return truncLaplaceCalibrate(in)
	case "trunc_gauss_calibrate":
		return truncGaussCalibrate(in)
	case "sub_wor_gauss_delta":
		return subsampledDelta(in, "gaussian")
	case "sub_wor_laplace_delta":
		return subsampledDelta(in, "laplace")
	case "laplace_step", "pure_step":
		return largestStep(in, name)
	case "laplace_rdp", "gauss_rdp":
		return renyi(in, name)
	case "zcdp_eps":
		return zcdpEps(in)
	case "conditional_sensitivity":
		return conditionalSensitivity(in)
	}
	return nil
}
