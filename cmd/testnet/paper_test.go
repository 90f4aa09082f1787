package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"p2pnode/testnet/paper"
)

// madeUp is an experiment that takes no time; the second cell calls stop.
func madeUp(name string, stop func()) paper.Experiment {
	return paper.Experiment{
		Name: name, Title: "About " + name, About: "Nothing at all.",
		Plan: func(o paper.Options) (*paper.Plan, error) {
			p := &paper.Plan{Identity: fmt.Sprint(o.Seed, o.Seeds, o.Quick), Seeds: max(1, o.Seeds)}
			for k := range 3 {
				p.Cells = append(p.Cells, paper.Cell{Key: fmt.Sprint(k), Cost: 1, Run: func(ctx context.Context) (paper.Numbers, error) {
					if k == 1 && stop != nil {
						stop()
						return nil, ctx.Err()
					}
					return paper.Numbers{"x": {float64(k)}}, nil
				}})
			}
			p.Report = func(done paper.Done) (*paper.Report, error) {
				return &paper.Report{Summary: "So it is.", Rows: []paper.Row{{
					Setting: "s", Epsilon: paper.Number(1), Delta: paper.Number(1e-6), Measure: "RMSE", Error: paper.Number(float64(len(done))),
				}}}, nil
			}
			return p, nil
		},
	}
}

// paperRun runs 'testnet paper' with other experiments in an empty directory.
func paperRun(t *testing.T, ctx context.Context, list []paper.Experiment, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	root := newCommand(t.TempDir())
	for _, cmd := range root.Commands() {
		if cmd.Name() == "paper" {
			root.RemoveCommand(cmd)
		}
	}
	root.AddCommand(newPaper(list, t.TempDir()))
	var out, errs bytes.Buffer
	code = execute(ctx, root, append([]string{"paper"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestPaperRunsAnExperiment(t *testing.T) {
	t.Chdir(t.TempDir())
	list := []paper.Experiment{madeUp("one", nil)}
	code, stdout, stderr := paperRun(t, t.Context(), list, "one", "--seeds", "2")
	if code != 0 || !strings.Contains(stdout, "About one") || !strings.Contains(stdout, "testnet-results/one.html") {
		t.Errorf("exit %d, output %q, errors %q", code, stdout, stderr)
	}
	list[0].UsesPeople = true
	code, stdout, stderr = paperRun(t, t.Context(), list, "one", "--seeds", "2", "--people", "300", "--json")
	var r paper.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s", code, err, stdout)
	}
	if r.Command != "testnet paper one --seed 1 --seeds 2 --people 300" || r.Seeds != 2 || !r.Complete || len(r.Rows) != 1 || *r.Rows[0].Error != 3 {
		t.Errorf("result %+v", r)
	}
	if !strings.Contains(stderr, "3 of 3 cells are taken up") {
		t.Errorf("nothing is said of the cells of the first run: %q", stderr)
	}
	for _, ending := range []string{"html", "json", "csv"} {
		if text, err := os.ReadFile("testnet-results/one." + ending); err != nil || len(text) == 0 {
			t.Errorf("%v, %d bytes", err, len(text))
		}
	}
}

// All runs what it can, says what it leaves out, and one that fails does not keep
// the others from running.
func TestPaperAll(t *testing.T) {
	t.Chdir(t.TempDir())
	fed, hungry, yours, broken := madeUp("fed", nil), madeUp("hungry", nil), madeUp("yours", nil), madeUp("broken", nil)
	fed.Data, fed.Place, hungry.Data, hungry.Place, yours.Data = "d", "there", "get it from x", "gone", "a file of yours"
	broken.Plan = func(paper.Options) (*paper.Plan, error) { return nil, errors.New("no plan") }
	if err := os.MkdirAll("data/there", 0o755); err != nil {
		t.Fatal(err)
	}
	large := madeUp("large", nil)
	large.Apart = "It takes all memory"
	list := []paper.Experiment{broken, madeUp("one", nil), fed, hungry, yours, large}
	if code, _, stderr := paperRun(t, t.Context(), list, "all", "--data", "date"); code != exitFailed || !strings.Contains(stderr, "--data: open date") {
		t.Errorf("a directory that is not there: exit %d, errors %q", code, stderr)
	}
	code, stdout, stderr := paperRun(t, t.Context(), list, "all", "--data", "data")
	if code != exitFailed || !strings.Contains(stdout, "About one") || !strings.Contains(stdout, "testnet-results/index.html") {
		t.Errorf("exit %d, output %q, errors %q", code, stdout, stderr)
	}
	index, err := os.ReadFile("testnet-results/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`href="one.html"`, `href="fed.html"`, "So it is.", "get it from x", "testnet paper yours", "It takes all memory: run 'testnet paper large'.", "no plan", "testnet paper all --data data"} {
		if !strings.Contains(html.UnescapeString(string(index)), want) {
			t.Errorf("the index does not say %q", want)
		}
	}
	if one, err := os.ReadFile("testnet-results/one.html"); err != nil || !strings.Contains(string(one), `href="index.html"`) {
		t.Errorf("%v: the page does not lead back to the index", err)
	}

	code, stdout, _ = paperRun(t, t.Context(), list[1:], "all", "--data", "data", "--json")
	var all struct {
		Experiments []paper.Result
		LeftOut     []struct{ Name, Why string } `json:"left_out"`
	}
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || code != 0 || len(all.Experiments) != 2 || len(all.LeftOut) != 3 {
		t.Errorf("exit %d, %v: %s", code, err, stdout)
	} else if c := all.Experiments[1].Command; c != "testnet paper fed --seed 1 --data data/there" {
		t.Errorf("command %q", c)
	}
}

func TestPaperAllInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	list := []paper.Experiment{madeUp("one", nil), madeUp("two", cancel), madeUp("three", nil)}
	code, stdout, stderr := paperRun(t, ctx, list, "all")
	if code != exitInterrupted || !strings.Contains(stdout, "INTERRUPTED") || !strings.Contains(stderr, "goes on from here") {
		t.Errorf("exit %d, output %q, errors %q", code, stdout, stderr)
	}
	index, err := os.ReadFile("testnet-results/index.html")
	if err != nil || !strings.Contains(string(index), "INTERRUPTED, so far") || !strings.Contains(string(index), "Not run yet") {
		t.Errorf("%v: the index does not say that it is not complete: %s", err, index)
	}
	list[1] = madeUp("two", nil)
	code, _, stderr = paperRun(t, t.Context(), list, "all")
	if code != 0 || !strings.Contains(stderr, "one: 3 of 3 cells are taken up") {
		t.Errorf("exit %d, errors %q", code, stderr)
	}
}

func TestPaperInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	code, stdout, stderr := paperRun(t, ctx, []paper.Experiment{madeUp("one", cancel)}, "one")
	if code != exitInterrupted || !strings.Contains(stdout, "INTERRUPTED") || !strings.Contains(stderr, "goes on from here") {
		t.Errorf("exit %d, output %q, errors %q", code, stdout, stderr)
	}
}

func TestPaperUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	fed := madeUp("fed", nil)
	fed.Data, fed.Place, fed.UsesPeople = "ml-100k, from GroupLens", "ml-100k", true
	list := []paper.Experiment{madeUp("one", nil), fed}
	for _, c := range []struct{ args, want string }{
		{"two", "paper two: choose all or one of one, fed"},
		{"one more", `unknown argument "more"`},
		{"one --data x", "unknown flag: --data"},
		{"one --real", "unknown flag: --real"},
		{"one --epsilon 1", "unknown flag: --epsilon"},
		{"one --seeds -1", "--seeds -1: choose from 1"},
		{"one --seeds 0", "--seeds 0: choose from 1"},
		{"one --seeds 1000000000", "--seeds 1000000000: choose from 1 to 1000"},
		{"all --seeds 0", "--seeds 0: choose from 1"},
		{"fed --data x --people 0", "--people 0: say how many"},
		{"one --restart --trust-cells", "--trust-cells: does not go with --restart"},
		{"fed", "--data: needed: ml-100k, from GroupLens"},
	} {
		code, stdout, stderr := paperRun(t, t.Context(), list, strings.Fields(c.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("testnet paper %s: exit %d, output %q, errors %q; want 2 and %q", c.args, code, stdout, stderr, c.want)
		}
	}
	code, stdout, _ := paperRun(t, t.Context(), list)
	if code != 0 || !strings.Contains(stdout, "About fed") {
		t.Errorf("exit %d, list %q", code, stdout)
	}
	code, stdout, _ = paperRun(t, t.Context(), list, "fed", "--help")
	if code != 0 || !strings.Contains(stdout, "--data ml-100k") || !strings.Contains(stdout, "Nothing at all.") {
		t.Errorf("exit %d, help %q", code, stdout)
	}
}

func TestPaperLine(t *testing.T) {
	for _, c := range []struct {
		p    paper.Progress
		want string
	}{
		{paper.Progress{Left: -1}, "  12s x: reading the data"},
		{paper.Progress{Cells: 5, Left: -1}, "  12s x: 0 of 5 cells"},
		{paper.Progress{Cells: 5, Done: 2, Left: 90500 * time.Millisecond}, "  12s x: 2 of 5 cells, about 1m31s left"},
	} {
		if got := paperLine("x", 12*time.Second, c.p); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// The command on the page has every flag that the numbers depend on.
func TestCommandIsWhole(t *testing.T) {
	o := paperOptions{Options: paper.Options{Seed: 3, Seeds: 2, Quick: true, Real: true, Data: "my file", CSV: paper.CSV{
		Node: "who", Target: "price", Kind: "classes", Task: "r.toml", Epsilon: 2, Delta: 1e-5, SkipBad: true,
	}}}
	want := "testnet paper csv --seed 3 --data 'my file' --seeds 2 --quick --real --node-column who --epsilon 2 --delta 1e-05 --target price --kind classes --task r.toml --skip-bad"
	if got := o.command(paper.Experiment{Name: "csv", Data: "d", UsesCSV: true}); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestHelpIsFolded(t *testing.T) {
	words := strings.Repeat("many words ", 40)
	got := folded("short\n\n" + words + "\n" + strings.Repeat("x", 100))
	lines := strings.Split(got, "\n")
	if lines[0] != "short" || lines[1] != "" || strings.Join(strings.Fields(got), " ") != strings.TrimSpace("short "+words+strings.Repeat("x", 100)) {
		t.Errorf("words were lost: %q", got)
	}
	for _, line := range lines[:len(lines)-1] {
		if len(line) > 88 {
			t.Errorf("a line of %d bytes: %q", len(line), line)
		}
	}
}

// A user's own file, from the command to the rows.
func TestPaperCSV(t *testing.T) {
	t.Chdir(t.TempDir())
	var text strings.Builder
	text.WriteString("who;age;town;price\n")
	for i := range 40 {
		fmt.Fprintf(&text, "n%d;%d;%s;%d,5\n", i%4, 20+i, []string{"Oslo", "Lima"}[i%2], 100+3*i)
	}
	if err := os.WriteFile("people.csv", []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := paperRun(t, t.Context(), experiments(), "csv", "--data", "people.csv", "--node-column", "who", "--epsilon", "2", "--json")
	var result struct {
		Verdict string      `json:"verdict"`
		Rows    []paper.Row `json:"rows"`
	}
	if code != 0 || json.Unmarshal([]byte(stdout), &result) != nil || !strings.Contains(result.Verdict, " of 4 nodes better") || len(result.Rows) != 7 || *result.Rows[2].Epsilon != 2 || result.Rows[2].Valid {
		t.Errorf("exit %d, output %q, errors %q", code, stdout, stderr)
	}
	if _, err := os.Stat("testnet-results/csv.html"); err != nil {
		t.Error(err)
	}
	// Lines that cannot be read are an error, and left out if that is wanted, by the header or by a value.
	if err := os.WriteFile("bad.csv", []byte(text.String()+"n1;30\n;30;Oslo;110\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr = paperRun(t, t.Context(), experiments(), "csv", "--data", "bad.csv", "--node-column", "who")
	if code != 1 || !strings.Contains(stderr, "leave them out with --skip-bad") {
		t.Errorf("exit %d, errors %q", code, stderr)
	}
	code, stdout, stderr = paperRun(t, t.Context(), experiments(), "csv", "--data", "bad.csv", "--node-column", "who", "--skip-bad")
	if code != 0 || !strings.Contains(stdout, "Lines that cannot be read were left out: 2, for example line 42: 2 of 4 cells") || !strings.Contains(stdout, "40 records of 4 nodes") {
		t.Errorf("exit %d, output %q, errors %q", code, stdout, stderr)
	}
	code, _, stderr = paperRun(t, t.Context(), experiments(), "csv", "--data", "people.csv")
	if code != 1 || !strings.Contains(stderr, `no column "node"`) || !strings.Contains(stderr, "--node-column") {
		t.Errorf("exit %d, errors %q", code, stderr)
	}
}

// Every experiment can be planned, says what it needs, and makes a report of nothing,
// which is what an interruption may leave.
func TestExperimentsReportOnNothing(t *testing.T) {
	for _, e := range experiments() {
		if e.Name == "" || e.Title == "" || e.About == "" || strings.HasSuffix(e.Title, ".") {
			t.Errorf("%+v: a name, a title without a full stop and a text are needed", e)
		}
		o := paper.Options{Seed: 1, Quick: true}
		if e.Data != "" {
			shared := os.Getenv("P2PNODE_SHARED")
			if shared == "" || e.Place == "" {
				continue
			}
			o.Data = filepath.Join(shared, "data", e.Place)
		}
		plan, err := e.Plan(o)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		report, err := plan.Report(paper.Done{})
		if err != nil {
			t.Errorf("%s: a report of nothing: %v", e.Name, err)
			continue
		}
		for i := range report.Rows {
			if err := report.Rows[i].Validate(); err != nil {
				t.Errorf("%s: %v", e.Name, err)
			}
		}
		for _, s := range report.Sections {
			for _, c := range s.Charts {
				if c.Title == "" || c.Alt == "" || c.X.Label == "" && c.X.Names == nil || c.Y.Label == "" && c.Y.Names == nil {
					t.Errorf("%s: chart %q needs a title, a description and labelled axes: %+v", e.Name, c.Title, c)
				}
			}
		}
	}
}
