package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// casesFile writes a file of cases.
func casesFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cases.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	rightCase = `{"id": "right", "kind": "gauss_delta", "input": {"eps": 1, "mu": 1}, "expected": 0.12693673750664394, "rel_tol": 1e-9, "side": "both", "oracle": "mpmath"}`
	wrongCase = `{"id": "wrong", "kind": "gauss_delta", "input": {"eps": 1, "mu": 1}, "expected": 0.1, "rel_tol": 1e-9, "side": "both"}`
	oddCase   = `{"id": "odd", "kind": "palmistry", "input": {}, "expected": 0.1, "rel_tol": 1e-9, "side": "both"}`
)

func TestPrivacyCases(t *testing.T) {
	for _, c := range []struct {
		name, text string
		code       int
		want       []string // in the output
		failure    string   // in the errors
	}{
		{"right", `{"cases": [` + rightCase + `]}`, 0, []string{"right  gauss_delta  0.1269367375  0.1269367375  both  ok", "1 of 1 cases are right."}, ""},
		{"wrong", `{"cases": [` + rightCase + "," + wrongCase + `]}`, 1, []string{"FAIL", "1 of 2 cases are right."}, "1 of 2 cases are not right"},
		{"odd", `{"cases": [` + oddCase + `]}`, 1, []string{`ERROR: unknown kind "palmistry"`}, "1 of 1"},
		{"malformed", `{"cases": [}`, 1, nil, "not a list of cases in JSON"},
		{"empty", `{}`, 1, nil, "has no \"cases\""},
	} {
		code, stdout, stderr := testnetRun(t, t.Context(), "privacy", "--cases", casesFile(t, c.text))
		if code != c.code || !strings.Contains(stderr, c.failure) || (c.failure == "") != (stderr == "") {
			t.Errorf("%s: exit %d, errors %q; want %d and %q", c.name, code, stderr, c.code, c.failure)
		}
		for _, want := range c.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: the output does not say %q:\n%s", c.name, want, stdout)
			}
		}
	}
}

func TestPrivacyJSON(t *testing.T) {
	code, stdout, _ := testnetRun(t, t.Context(), "privacy", "--json", "--cases", casesFile(t, "["+rightCase+","+wrongCase+"]"))
	var out struct {
		Passed, Failed int
		Cases          []struct {
			ID, Side      string
			Got, Expected float64
			OK            bool
		}
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil {
		t.Fatal(err)
	}
	if code != 1 || out.Passed != 1 || out.Failed != 1 || !out.Cases[0].OK || out.Cases[1].OK || out.Cases[1].Expected != 0.1 || out.Cases[1].Got == 0 {
		t.Errorf("exit %d, %+v", code, out)
	}
}

func TestPrivacyUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"privacy", "--cases: say which file"},
		{"privacy values.json", "unknown argument"},
		{"privacy --case x", "unknown flag"},
	} {
		code, stdout, stderr := testnetRun(t, t.Context(), strings.Fields(c.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("testnet %s: exit %d, output %q, errors %q; want 2 and %q", c.args, code, stdout, stderr, c.want)
		}
	}
	if code, _, stderr := testnetRun(t, t.Context(), "privacy", "--cases", "nowhere.json"); code != exitFailed || !strings.Contains(stderr, "nowhere.json") {
		t.Errorf("a missing file: exit %d, errors %q", code, stderr)
	}
}
