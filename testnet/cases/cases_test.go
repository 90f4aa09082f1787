package cases

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The reference values were computed independently of this code. The privacy
// engine must agree with all of them.
func TestReferenceValues(t *testing.T) {
	dir := os.Getenv("P2PNODE_SHARED")
	if dir == "" {
		t.Skip("P2PNODE_SHARED does not say where the reference values are")
	}
	f, err := os.Open(filepath.Join(dir, "reference", "privacy_values.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 94 {
		t.Errorf("%d cases, want 94", len(list))
	}
	for i := range list {
		if r := list[i].Evaluate(); !r.OK {
			t.Errorf("%s: got %v, want %v on side %s: %s", r.ID, r.Got, r.Expected, r.Side, r.Verdict())
		}
	}
}

// evaluate reads a file with one case and evaluates it.
func evaluate(t *testing.T, text string) Result {
	t.Helper()
	list, err := Read(strings.NewReader(`{"cases": [` + text + `]}`))
	if err != nil || len(list) != 1 {
		t.Fatalf("%d cases, error %v in %s", len(list), err, text)
	}
	return list[0].Evaluate()
}

// oneCase is a case with tolerance 1e-9 on both sides.
func oneCase(kind, input, expected string) string {
	return fmt.Sprintf(`{"id": "x", "kind": %q, "input": %s, "expected": %s, "rel_tol": 1e-9, "side": "both"}`, kind, input, expected)
}

func TestKinds(t *testing.T) {
	for _, c := range []struct{ kind, input, expected string }{
		{"gauss_sigma", `{"eps": 1, "delta": 1e-5}`, `3.730631634815942`},
		{"gauss_sigma", `{"eps": "1", "delta": 1e-5, "l2": 2}`, `7.461263269631884`},
		{"gauss_delta", `{"eps": 1, "a": 1}`, `[0.12693673750664394]`},
		{"gauss_compose_eps", `{"l2": 1, "sigma": [5,5,5,5,5,5,5,5,5,5], "delta": 1e-5}`, `2.5943833805276078`},
		{"gauss_compose_eps", `{"l2": [1, 2, 0.5, 0.1], "sigma": [4, 9, 3, 7], "delta": 1e-6}`, `1.6409006964515427`},
		{"kairouz_min", `{"eps": [0.1, 0.2, 0.3], "slack": 1e-6}`, `{"basic": 0.6, "second": 1.9651395095572082}`},
		{"kairouz_min", `{"eps": 0.1, "slack": 1e-6}`, `0.1`},
		{"trunc_laplace_calibrate", `{"eps": 0.5, "delta": 0.001, "sens": 2}`, `{"b": 4, "A": 23.139736857429118}`},
		{"thm6_must_reject", `{"a": 1, "A": 4.083730058646639, "eps": 0.5}`, `0.23844665091550343`},
		{"gauss_rdp", `{"alpha": 3, "a": 2}`, `6`},
		{"sub_wor_laplace_delta", `{"q": 1, "a": 0.5, "eps": 0.2}`, `0.1392920235749422`},
		{"conditional_sensitivity", `{"scheme": "iid", "mu": 0.5, "G": 2, "T": 1}`, `2`},
		{"conditional_sensitivity", `{"scheme": "i.i.d.", "mu": 1, "G": 1, "T": 2}`, `[2, 2]`},
		{"conditional_sensitivity", `{"scheme": "transmit-only", "akk": 0.5, "mu": 0.5, "G": 1, "T": 3}`, `[1, 1.5, 1.75]`},
		{"conditional_sensitivity", `{"scheme": "gh", "akk": 0.4, "mu": 0.5, "G": 1, "T": 3}`, `[1, 2, 3]`},
		{"conditional_sensitivity", `{"scheme": "graph-homomorphic", "mu": 0.5, "G": 1, "T": 2}`, `[1, 2]`},
		{"conditional_sensitivity", `{"scheme": "graph_homomorphic", "mu": 0.5, "G": 1, "T": 2}`, `[1, 2]`},
		{"pld_eps", `{"steps": [{"type": "trunc_laplace", "a": 2, "A": 1}], "delta": 1e-6}`, `"inf"`},
		{"pld_eps", `{"steps": [{"type": "trunc_laplace", "a": 2, "A": 1}], "delta": 1e-6}`, `Infinity`},
	} {
		if r := evaluate(t, oneCase(c.kind, c.input, c.expected)); !r.OK {
			t.Errorf("%s %s: got %v, want %s: %s", c.kind, c.input, r.Got, c.expected, r.Verdict())
		}
	}
}

// Spellings of the same step give the same epsilon.
func TestStepSpellings(t *testing.T) {
	epsilon := func(steps string) string {
		t.Helper()
		r := evaluate(t, oneCase("pld_eps", `{"steps": `+steps+`, "delta": 1e-4}`, "1"))
		if r.Error != "" {
			t.Errorf("%s: %s", steps, r.Error)
			return ""
		}
		return r.Got.String()
	}
	for _, same := range [][]string{
		{`[{"type": "pure", "a": 0.3}]`, `[{"type": "pure", "eps": 0.3, "count": 1}]`, `[{"type": "pure", "eps0": 0.3, "delta": 0}]`},
		{`[{"type": "pure", "a": 0.3, "delta": 1e-6, "count": 2}]`, `[{"type": "approx_pure", "eps0": 0.3, "delta0": 1e-6, "count": 2}]`},
		{`[{"type": "trunc_gauss", "a": 0.2, "A": 6}]`, `[{"type": "truncated-gaussian", "a": 0.2, "A": 6}]`},
		{`[{"type": "trunc_laplace", "a": 0.2, "A": 16}]`, `[{"type": "Truncated_Laplace", "a": 0.2, "A": 16}]`},
		{`[{"type": "gaussian", "a": 0.5, "count": 3}]`, `[{"type": "gauss", "mu": 0.5}, {"type": "gaussian", "a": 0.5, "count": 2}]`},
		{
			`[{"type": "sub", "base": {"type": "laplace", "a": 0.5, "count": 1}, "q": 0.2, "mode": "wor", "count": 5}]`,
			`[{"type": "subsampled", "base": {"type": "laplace", "a": 0.5}, "q": 0.2, "mode": "without-replacement", "count": 5}]`,
		},
	} {
		want := epsilon(same[0])
		for _, steps := range same[1:] {
			if got := epsilon(steps); got != want {
				t.Errorf("%s gives %s, %s gives %s", steps, got, same[0], want)
			}
		}
	}
	for _, base := range []string{
		`{"type": "gaussian", "a": 1}`, `{"type": "pure", "eps": 1}`,
		`{"type": "trunc_laplace", "a": 0.5, "A": 20}`, `{"type": "trunc_gauss", "a": 0.5, "A": 8}`,
	} {
		for _, mode := range []string{"wor", "poisson"} {
			epsilon(`[{"type": "sub", "base": ` + base + `, "q": 0.1, "mode": "` + mode + `", "count": 3}]`)
		}
	}
}

func TestSides(t *testing.T) {
	const tol = 1e-3
	for _, c := range []struct {
		side     side
		expected float64
		got      float64
		within   bool
	}{
		{upper, 2, 2 * (1 + 0.999*tol), true},
		{upper, 2, 2 * (1 + 1.001*tol), false},
		{upper, 2, 2 * (1 - 4.9e-6), true},
		{upper, 2, 2 * (1 - 5.1e-6), false},
		{lower, 2, 2 * (1 - 0.999*tol), true},
		{lower, 2, 2 * (1 - 1.001*tol), false},
		{lower, 2, 2 * (1 + 4.9e-6), true},
		{lower, 2, 2 * (1 + 5.1e-6), false},
		{both, 2, 2 * (1 + 0.999*tol), true},
		{both, 2, 2 * (1 - 0.999*tol), true},
		{both, 2, 2 * (1 - 1.001*tol), false},
		{both, 2, 2 * (1 + 1.001*tol), false},
		{both, -2, -2 * (1 + 0.999*tol), true},
		{both, 0, 0, true},
		{both, 0, 1e-300, false},
		{upper, math.Inf(1), math.Inf(1), true},
		{upper, math.Inf(1), 1e300, false},
		{upper, 2, math.Inf(1), false},
		{both, 2, math.NaN(), false},
	} {
		low, high := c.side.bounds(c.expected, tol)
		if within := low <= c.got && c.got <= high; within != c.within {
			t.Errorf("%s of %v: %v is within: %v, want %v", c.side, c.expected, c.got, within, c.within)
		}
	}
}

func TestWrongValuesFail(t *testing.T) {
	for _, c := range []struct{ kind, input, expected string }{
		{"gauss_delta", `{"eps": 1, "mu": 1}`, `0.1269367`},
		{"kairouz_min", `{"eps": [0.1, 0.2, 0.3], "slack": 1e-6}`, `{"min": 0.6, "second": 1.9}`},
		{"conditional_sensitivity", `{"scheme": "iid", "mu": 0.5, "G": 1, "T": 2}`, `[1, 1.1]`},
		{"pld_eps", `{"steps": [{"type": "laplace", "a": 0.1}], "delta": 1e-6}`, `"inf"`},
		{"thm6_must_reject", `{"a": 1, "A": 4.083730058646639, "eps": 0.5}`, `1e-3`},
	} {
		if r := evaluate(t, oneCase(c.kind, c.input, c.expected)); r.OK || r.Error != "" || r.Verdict() != "FAIL" {
			t.Errorf("%s %s is not %s, but the verdict is %q", c.kind, c.input, c.expected, r.Verdict())
		}
	}
}

func TestFaultyCasesSayWhy(t *testing.T) {
	gauss := `{"eps": 1, "mu": 1}`
	for _, c := range []struct{ text, want string }{
		{`7`, "must be an object"},
		{`{"kind": "gauss_delta", "input": {}, "expected": 1, "rel_tol": 1, "side": "both"}`, `field "id": is missing`},
		{oneCase("gauss_epsilon", gauss, "1"), `unknown kind "gauss_epsilon"`},
		{oneCase("gauss_delta", `{"eps": 1}`, "1"), "mu or a"},
		{oneCase("gauss_delta", `{"eps": 1, "mu": 1, "sigma": 2}`, "1"), `unknown field "sigma"`},
		{oneCase("gauss_delta", `{"eps": 1, "MU": 1}`, "1"), "missing"},
		{oneCase("gauss_delta", `{"eps": "much", "mu": 1}`, "1"), `field "eps": "much" is not a number`},
		{oneCase("gauss_delta", `{"eps": null, "mu": 1}`, "1"), `field "eps"`},
		{oneCase("gauss_delta", `[1, 1]`, "1"), "must be an object"},
		{oneCase("gauss_delta", gauss, "null"), `"expected"`},
		{oneCase("gauss_delta", gauss, "[]"), "no number"},
		{oneCase("gauss_delta", gauss, "{}"), "no number"},
		{oneCase("gauss_delta", gauss, `[1, 2]`), "expected has 2 numbers, the result has 1"},
		{oneCase("gauss_delta", gauss, `{"delta": 1}`), `unknown field "delta"`},
		{oneCase("kairouz_min", `{"eps": 1, "slack": 0.1}`, `{"min": 1, "fourth": 1}`), `unknown field "fourth"; known: basic, min, second, third`},
		{oneCase("kairouz_min", `{"eps": {"a": 1}, "slack": 0.1}`, `1`), "must be a list"},
		{oneCase("gauss_compose_eps", `{"l2": [1, 1], "sigma": [1, 1, 1], "delta": 0.1}`, "1"), "2 sensitivities and 3 sigmas"},
		{oneCase("pure_compose_eps", `{"eps0": 0.1, "k": 2.5, "delta": 0.1}`, "1"), "not a whole number"},
		{oneCase("pure_compose_eps", `{"eps0": 0.1, "k": 1e300, "delta": 0.1}`, "1"), "not a whole number"},
		{oneCase("pld_eps", `{"steps": 3, "delta": 0.1}`, "1"), `"steps"`},
		{oneCase("pld_eps", `{"steps": [{"type": "cauchy", "a": 1}], "delta": 0.1}`, "1"), `step 1: field "type": unknown type "cauchy"`},
		{oneCase("pld_eps", `{"steps": [{"type": "laplace", "a": 1, "A": 2}], "delta": 0.1}`, "1"), `unknown field "A"`},
		{oneCase("pld_eps", `{"steps": [{"type": "laplace", "a": 1, "count": 0}], "delta": 0.1}`, "1"), `"count"`},
		{oneCase("pld_eps", `{"steps": [{"type": "sub", "q": 0.1, "mode": "wor"}], "delta": 0.1}`, "1"), "base"},
		{oneCase("pld_eps", `{"steps": [{"type": "sub", "base": {"type": "laplace", "a": 1, "count": 2}, "q": 0.1, "mode": "wor"}], "delta": 0.1}`, "1"), "a base is one step"},
		{oneCase("pld_eps", `{"steps": [{"type": "sub", "base": {"type": "laplace", "a": 1}, "q": 0.1, "mode": "shuffle"}], "delta": 0.1}`, "1"), "not wor or poisson"},
		{oneCase("conditional_sensitivity", `{"scheme": "clean", "mu": 1, "G": 1, "T": 2}`, "[1, 2]"), "clean needs it"},
		{oneCase("conditional_sensitivity", `{"scheme": "tidy", "akk": 1, "mu": 1, "G": 1, "T": 2}`, "[1, 2]"), "not iid, clean or gh"},
		{oneCase("conditional_sensitivity", `{"scheme": "iid", "mu": 1, "G": 1, "T": 1e9}`, "[1]"), "at most"},
		{strings.Replace(oneCase("gauss_delta", gauss, "1"), `"both"`, `"left"`, 1), `side is "left"`},
		{strings.Replace(oneCase("gauss_delta", gauss, "1"), `1e-9`, `-1`, 1), "rel_tol is -1"},
		{strings.Replace(oneCase("gauss_delta", gauss, "1"), `"rel_tol"`, `"abs_tol"`, 1), `field "rel_tol": is missing`},
		{strings.Replace(oneCase("gauss_delta", gauss, "1"), `"id"`, `"date": 1, "id"`, 1), `unknown field "date"`},
	} {
		r := evaluate(t, c.text)
		if r.OK || !strings.Contains(r.Error, c.want) || !strings.HasPrefix(r.Verdict(), "ERROR: ") || r.ID == "" {
			t.Errorf("%s\n is %q: %q; want an error with %q", c.text, r.ID, r.Verdict(), c.want)
		}
	}
}

func TestFaultyFiles(t *testing.T) {
	for _, text := range []string{"", "{", `{"cases": 1}`, `{"cases": []}`, `[]`, `{}`, `"cases"`, `{"cases": [NaN]}`} {
		if list, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%q: %d cases, want an error", text, len(list))
		}
	}
	bare := "[" + oneCase("gauss_delta", `{"eps": 1, "mu": 1}`, "0.12693673750664394") + "]"
	if list, err := Read(strings.NewReader(bare)); err != nil || len(list) != 1 || !list[0].Evaluate().OK {
		t.Errorf("a bare list: %d cases, error %v", len(list), err)
	}
}

func TestValuesKeepTheirShape(t *testing.T) {
	for text, people := range map[string]string{
		`1.5`:             "1.5",
		`"inf"`:           "+Inf",
		`"-inf"`:          "-Inf",
		`[1,2]`:           "[1 2]",
		`[1]`:             "[1]",
		`{"a":1,"b":0.5}`: "a=1 b=0.5",
	} {
		var v Value
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if out, err := json.Marshal(v); err != nil || string(out) != text {
			t.Errorf("%s becomes %s, error %v", text, out, err)
		}
		if v.String() != people {
			t.Errorf("%s reads %q, want %q", text, v.String(), people)
		}
	}
}

// Whatever a file holds, reading and evaluating give results, never a panic.
func FuzzCases(f *testing.F) {
	f.Add(`{"cases": [` + oneCase("gauss_delta", `{"eps": 1, "mu": 1}`, "1") + `]}`)
	f.Add(oneCase("pure_compose_eps", `{"eps0": -1, "k": 3, "delta": 7}`, `"inf"`))
	f.Add(oneCase("trunc_gauss_delta", `{"a": 1, "A": -1, "eps": 0}`, `[1]`))
	f.Add(`[{"id": "x", "kind": "kairouz_min", "input": {"eps": [], "slack": -1}, "expected": {"min": 0}, "rel_tol": 1, "side": "upper"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		for i := range list {
			if r := list[i].Evaluate(); r.OK && (r.Error != "" || r.Got == nil) {
				t.Errorf("case %d is right without a result", i)
			}
		}
	})
}
