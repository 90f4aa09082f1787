package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"p2pnode/privacy"
	"p2pnode/testnet/audit"
)

func TestAuditTable(t *testing.T) {
	args := []string{"audit", "--learner", "personal", "--noise", "gaussian", "--accounting", "gdp", "--runs", "400", "--dimension", "3", "--seed", "7"}
	code, stdout, stderr := testnetRun(t, t.Context(), args...)
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d, errors %q", code, stderr)
	}
	for _, want := range []string{"learner", "personal  gaussian  gdp", "(1, 0.001)", "holds", "1 - 1e-6"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the table does not say %q:\n%s", want, stdout)
		}
	}
	if _, again, _ := testnetRun(t, t.Context(), args...); again != stdout {
		t.Errorf("the same seed gives another table:\n%s%s", stdout, again)
	}
}

func TestAuditJSON(t *testing.T) {
	code, stdout, stderr := testnetRun(t, t.Context(), "audit", "--json", "--learner", "personal", "--noise", "laplace", "--accounting", "pure", "--runs", "400", "--epsilon", "2", "--releases", "1")
	var out struct {
		Interrupted bool
		Findings    []struct {
			Learner, Noise, Accounting string
			Epsilon                    float64 `json:"claim_epsilon"`
			Bound                      float64 `json:"bound_95"`
			Holds                      bool
		}
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if code != 0 || out.Interrupted || len(out.Findings) != 1 || !out.Findings[0].Holds || out.Findings[0].Epsilon != 2 || out.Findings[0].Noise != "laplace" {
		t.Errorf("exit %d, %+v", code, out)
	}
}

// Private sums are audited as releases are, and attacked besides.
func TestAuditOfPrivateSums(t *testing.T) {
	args := []string{"audit", "--learner", "sums", "--runs", "400", "--dimension", "6"}
	code, stdout, stderr := testnetRun(t, t.Context(), args...)
	if code != 0 {
		t.Fatalf("exit %d, errors %q", code, stderr)
	}
	for _, want := range []string{"sums items", "sums gradient", "2 members have two lists voted on", "holds"} {
		if !strings.Contains(stdout, want) || strings.Contains(stdout, "BROKEN") {
			t.Errorf("the table does not say %q:\n%s", want, stdout)
		}
	}
	_, stdout, _ = testnetRun(t, t.Context(), append(args, "--json")...)
	var out struct {
		Findings []struct{ Recipe string }
		Attempts []audit.Attempt
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || len(out.Findings) != 5 || out.Findings[2].Recipe != "mean of classes" || len(out.Attempts) != 7 {
		t.Errorf("%v: %s", err, stdout)
	}
	r := auditReport{attempts: []audit.Attempt{{Attack: "looks", Found: "numbers", Holds: true}, {Attack: "steals"}}}
	if err := r.verdict(); err == nil || !strings.Contains(err.Error(), "an attack") {
		t.Errorf("an attack that does not hold: %v", err)
	}
}

func TestAuditUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"audit surplus", "unknown argument"},
		{"audit --learner nobody", "--learner nobody"},
		{"audit --noise salt", `--noise salt: choose all or one of ["gaussian" "laplace" "truncated-gaussian" "truncated-laplace"]`},
		{"audit --accounting salt", `--accounting salt: choose all or one of ["gdp" "renyi" "plan" "pure"]`},
		{"audit --bogus", "Run 'testnet audit --help'"},
		{"audit --noise laplace --accounting gdp", "no learner releases in this way"},
		{"audit --runs 1", "1 runs, choose"},
		{"audit --releases 0", "0 releases, choose"},
		{"audit --dimension 0", "0 coordinates, choose"},
		{"audit --epsilon 0", "epsilon is 0"},
		{"audit --delta NaN", "delta is NaN"},
	} {
		code, stdout, stderr := testnetRun(t, t.Context(), strings.Fields(c.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("testnet %s: exit %d, output %q, errors %q; want 2 and %q", c.args, code, stdout, stderr, c.want)
		}
	}
}

func TestAuditInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, stderr := testnetRun(t, ctx, "audit", "--learner", "personal", "--noise", "laplace")
	if code != exitInterrupted || !strings.Contains(stdout, "learner") || !strings.Contains(stdout, "INTERRUPTED: 0 of 4 ways") {
		t.Errorf("exit %d, output %q, errors %q; want %d and an empty table that says so", code, stdout, stderr, exitInterrupted)
	}
	code, stdout, stderr = testnetRun(t, ctx, "audit", "--json")
	if code != exitInterrupted || !strings.Contains(stdout, `"interrupted": true`) {
		t.Errorf("exit %d, output %q, errors %q; want %d and JSON that says so", code, stdout, stderr, exitInterrupted)
	}
}

// A gate above the claim is said in the table and by the exit code.
func TestAuditVerdict(t *testing.T) {
	claim := privacy.Budget{Epsilon: 1, Delta: 1e-3}
	subject := audit.Subjects("personal")[0]
	holds := audit.Finding{Subject: subject, Claim: claim, Gate: 1}
	broken := audit.Finding{Subject: subject, Claim: claim, Gate: 1.001}
	if err := (&auditReport{findings: []audit.Finding{holds}}).verdict(); err != nil {
		t.Errorf("a gate at the claim: %v", err)
	}
	r := auditReport{findings: []audit.Finding{holds, broken}, wanted: 2, interrupted: true}
	if err := r.verdict(); err == nil || !strings.Contains(err.Error(), "more than is claimed") {
		t.Errorf("a gate above the claim: %v", err)
	}
	var table bytes.Buffer
	if err := r.write(&table); err != nil {
		t.Fatal(err)
	}
	if text := table.String(); strings.Count(text, "holds") != 1 || strings.Count(text, "BROKEN") != 1 {
		t.Errorf("table:\n%s", text)
	}
}
