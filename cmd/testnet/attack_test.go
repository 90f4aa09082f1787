package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"p2pnode/testnet/attack"
)

// attackRun runs the command with these attacks.
func attackRun(t *testing.T, scenarios []attack.Scenario, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), alone(newAttack(scenarios, t.TempDir())), args, &out, &errs)
	return code, out.String(), errs.String()
}

// alone makes a subcommand say nothing of errors, as the command it belongs to does.
func alone(cmd *cobra.Command) *cobra.Command {
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	return cmd
}

// finds is an attack that measures so many of something, of which 5 are allowed.
func finds(name string, measured float64) attack.Scenario {
	return attack.Scenario{Name: name, About: "measures " + name, Run: func(_ context.Context, o attack.Options) ([]attack.Bar, error) {
		o.Say("at work")
		return []attack.Bar{attack.AtMost("4 "+name, measured, 5, "edges")}, nil
	}}
}

func TestAttackTable(t *testing.T) {
	code, stdout, stderr := attackRun(t, []attack.Scenario{finds("mild", 5), finds("wild", 6)}, "mild", "wild")
	for _, want := range []string{"bar", "4 mild  5         at most 5 edges  held", "4 wild  6         at most 5 edges  NOT HELD", "1 of 2 bars are held."} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the table does not say %q:\n%s", want, stdout)
		}
	}
	if code != exitFailed || !strings.Contains(stderr, "mild: at work") || !strings.Contains(stderr, "testnet: 1 of 2 bars are not held") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, stdout, _ := attackRun(t, []attack.Scenario{finds("mild", 5), finds("wild", 6)}, "mild"); code != 0 || strings.Contains(stdout, "wild") {
		t.Errorf("exit %d: %s", code, stdout)
	}
}

func TestAttackJSON(t *testing.T) {
	code, stdout, stderr := attackRun(t, []attack.Scenario{finds("wild", 6)}, "--json")
	var out struct {
		Bars []struct {
			Name              string
			Measured, Allowed float64
			Held              bool
		}
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if b := out.Bars; code != exitFailed || len(b) != 1 || b[0].Name != "4 wild" || b[0].Measured != 6 || b[0].Allowed != 5 || b[0].Held {
		t.Errorf("exit %d, %+v", code, out)
	}
}

// An attack that fails is said, and does not keep the others from being made.
func TestAttackThatFails(t *testing.T) {
	fails := attack.Scenario{Name: "fails", Run: func(context.Context, attack.Options) ([]attack.Bar, error) {
		return nil, errors.New("the victim ended")
	}}
	code, stdout, stderr := attackRun(t, []attack.Scenario{fails, finds("mild", 5)})
	if code != exitFailed || !strings.Contains(stdout, "4 mild") || !strings.Contains(stderr, "testnet: fails: the victim ended") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

func TestAttackList(t *testing.T) {
	code, stdout, _ := testnetRun(t, t.Context(), "attack", "--list")
	for _, want := range []string{"providers", "real daemons", "hash table of the victim"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit %d; the list does not say %q:\n%s", code, want, stdout)
		}
	}
	_, stdout, _ = testnetRun(t, t.Context(), "attack", "--list", "--json")
	var listed struct{ Attacks []listedAttack }
	if err := json.Unmarshal([]byte(stdout), &listed); err != nil || len(listed.Attacks) < 20 || listed.Attacks[0].Where != "real daemons" {
		t.Errorf("%v: %s", err, stdout)
	}
}

func TestAttackUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"attack nobody", `there is no attack "nobody"; choose from calm, providers`},
		{"attack --minutes 0", "--minutes 0: must be above 0"},
		{"attack --minutes NaN", "--minutes NaN"},
		{"attack --quick --minutes 3", "--minutes: --quick says"},
		{"attack --bogus", "Run 'testnet attack --help'"},
	} {
		code, stdout, stderr := testnetRun(t, t.Context(), strings.Fields(c.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("testnet %s: exit %d, output %q, errors %q; want 2 and %q", c.args, code, stdout, stderr, c.want)
		}
	}
}

func TestAttackInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	code := execute(ctx, alone(newAttack([]attack.Scenario{finds("mild", 5)}, t.TempDir())), []string{"--json"}, &out, &errs)
	if code != exitInterrupted || !strings.Contains(out.String(), `"interrupted": true`) || !strings.Contains(out.String(), `"bars": []`) {
		t.Errorf("exit %d: %s%s", code, out.String(), errs.String())
	}
}
