package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"p2pnode/internal/require"
)

// TestMain turns the test binary into the command when a test asks for it.
func TestMain(m *testing.M) {
	if os.Getenv("TESTNET_AS_COMMAND") != "" {
		main()
		return
	}
	dir, err := os.MkdirTemp("", "testnet")
	if err != nil {
		panic(err)
	}
	if err := os.Setenv(programs, dir); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// programs is the variable with the directory of what tests build.
const programs = "TESTNET_PROGRAMS"

// daemon is p2pnode, built once for all tests.
func daemon(t *testing.T) string {
	t.Helper()
	program, err := built()
	require.NoError(t, err)
	return program
}

var built = sync.OnceValues(func() (string, error) {
	program := filepath.Join(os.Getenv(programs), "p2pnode")
	if out, err := exec.Command("go", "build", "-o", program, "p2pnode/cmd/p2pnode").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build p2pnode: %w\n%s", err, out)
	}
	return program, nil
})

// testnetRun runs the command in this process, with the results in a temporary
// directory.
func testnetRun(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	t.Chdir(t.TempDir())
	code = run(ctx, args, t.TempDir(), &out, &errs)
	return code, out.String(), errs.String()
}

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"surplus", `unknown argument "surplus"`},
		{"--no-such-flag", "unknown flag"},
		{"--nodes one", "--nodes one: must be a number from 2 up"},
		{"--nodes 1", "--nodes 1"},
		{"--nodes -5", "--nodes -5"},
		{"--nodes all --task linear", "say how many people"},
		{"--task chess", `--task chess: no built-in task "chess"`},
		{"--task missing.toml", "missing.toml"},
		{"--epsilon 0 --task linear", "--epsilon 0: must be above 0"},
		{"--epsilon NaN --task linear", "--epsilon NaN"},
		{"--epsilon 1e9 --task linear", "at most"},
		{"--epsilon much", `--epsilon: "much" must be a number`},
		{"--delta 1 --task linear", "--delta 1: must be above 0"},
		{"--seeds 0 --task linear", "--seeds 0: must be at least 1"},
		{"--seed -1", `--seed: "-1" must be a whole number from 0 up`},
		{"--processes 1 --task linear", "--processes 1: must be a number from 2 up"},
		{"--processes 5 --nodes 5 --task linear", "--nodes: --processes says how many"},
		{"--processes 5 --sim --task linear", "exclude each other"},
		{"--processes 5 --netns 5 --task linear", "nodes must be at home"},
		{"--processes 9 --netns 5 --online 0 --task linear", "online 0: must be more than 0"},
		{"--processes 9 --p2pnode /nowhere/p2pnode --task linear", "--p2pnode: "},
		{"--node-column viewer", "--node-column: goes with --data"},
		{"--skip-bad", "--skip-bad: goes with --data"},
		{"--groups 3", "--groups: goes with --task clusters"},
		{"--groups 1 --task clusters", "--groups 1: must be a number from 2 to 10"},
		{"--netns 5 --task linear", "--netns: goes with --processes"},
		{"--loss 0.2 --task linear", "--loss: goes with --processes"},
		{"--processes 9 --online 0.5 --task linear", "--online: goes with --netns"},
		{"export", "--out: say where"},
		{"--data ml-100k/u.data --node-column user", "--node-column: goes with --data and a CSV"},
		{"export surplus", "unknown argument"},
		{"terms surplus", "unknown argument"},
	} {
		code, stdout, stderr := testnetRun(t, t.Context(), strings.Fields(c.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "--help") {
			t.Errorf("testnet %s: exit %d, output %q, errors %q; want 2 and %q", c.args, code, stdout, stderr, c.want)
		}
	}
}

func TestRunErrors(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "people.csv")
	if err := os.WriteFile(bad, []byte("node,genres,year,rating\na,Drama,1999,4\na,Drama,soon,4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "readings.csv")
	if err := os.WriteFile(other, []byte("node,outside,power\na,3.5,1.2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	unowned := filepath.Join(t.TempDir(), "unowned.csv")
	if err := os.WriteFile(unowned, []byte("house,power\na,1.2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--nodes", "611"}, "has 610, 611 were asked for"},
		{[]string{"--data", "nowhere.csv"}, "nowhere.csv"},
		{[]string{"rehearse", "--task", "movies", "--data", "."}, "testnet: read .: is a directory"},
		{[]string{"--data", "u.data"}, "u.item must lie beside"},
		{[]string{"--sim", "--nodes", "2", "--out", bad}, "--out " + bad},
		{[]string{"paper", "polar", "--quick", "--out", bad}, "--out " + bad},
		{[]string{"paper", "all", "--quick", "--out", bad}, "--out " + bad},
		{[]string{"--data", other}, `has no column "genres", which the task "movies" reads; name the task that belongs to the file with --task`},
		{[]string{"paper", "csv", "--data", unowned, "--quick"}, "testnet: " + unowned + ` has no column "node"`},
		{[]string{"--data", unowned, "--sim", "--nodes", "all"}, "if there is none, testnet rehearse deals the lines out"},
		{[]string{"paper", "csv", "--data", unowned, "--quick"}, "of a file that has none testnet rehearse deals the lines out to people"},
		{[]string{"--data", bad}, "line 3: column \"year\": \"soon\""},
		{[]string{"export", "--out", filepath.Join(bad, "x"), "--nodes", "2"}, "export"},
	} {
		code, stdout, stderr := testnetRun(t, t.Context(), c.args...)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("testnet %s: exit %d, output %q, errors %q; want 1 and %q", c.args, code, stdout, stderr, c.want)
		}
	}
}

func TestHelp(t *testing.T) {
	code, stdout, _ := testnetRun(t, t.Context(), "--help")
	for _, want := range []string{"Examples:", "--nodes", "GroupLens", "must be cited", "direction is public"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit %d; the help does not say %q", code, want)
		}
	}
}

func TestTerms(t *testing.T) {
	code, stdout, _ := testnetRun(t, t.Context(), "terms")
	if code != 0 || !strings.Contains(stdout, "Usage License") || !strings.Contains(stdout, "GroupLens") {
		t.Errorf("exit %d, terms %.80q", code, stdout)
	}
}

func TestSimulatedTable(t *testing.T) {
	code, stdout, stderr := testnetRun(t, t.Context(), "--sim", "--task", "linear", "--nodes", "8", "--out", "results")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"8 people", "alone (tuned)", "private sum", "newcomers", "sum without noise", "private broadcast", "Bellet", "public profile", "results/testnet.html"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the report does not say %q:\n%s", want, stdout)
		}
	}
	for _, file := range []string{"testnet.html", "results.json", "curve.svg", "gain.svg"} {
		if _, err := os.Stat(filepath.Join("results", file)); err != nil {
			t.Error(err)
		}
	}
	raw, err := os.ReadFile(filepath.Join("results", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var numbers struct {
		People []struct{ Spent map[string]float64 }
	}
	if err := json.Unmarshal(raw, &numbers); err != nil || len(numbers.People) != 8 {
		t.Fatalf("results.json: %v, %d people", err, len(numbers.People))
	}
	for i, p := range numbers.People {
		if len(p.Spent) != 2 || p.Spent["private"] != 1 || p.Spent["broadcast"] < 0 || p.Spent["broadcast"] > 1 {
			t.Errorf("person %d spent %v", i+1, p.Spent)
		}
	}
}

// With --json, standard output is one object and nothing else; the rest goes to
// standard error.
func TestJSONOutput(t *testing.T) {
	code, stdout, stderr := testnetRun(t, t.Context(), "--sim", "--nodes", "6", "--json", "--epsilon", "0.5", "--seed", "3")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	result := decodeResult(t, stdout)
	if result.Nodes != 6 || result.Seed != 3 || len(result.Rows) != 4 || *result.Rows[1].Epsilon != 0.5 || *result.Rows[2].Epsilon != 0.5 || result.Rows[3].Epsilon != nil {
		t.Errorf("result %+v", result)
	}
	if !strings.Contains(stderr, "Harper") {
		t.Errorf("the data set is not cited:\n%s", stderr)
	}
}

type result struct {
	Nodes    int
	Seed     uint64
	Complete bool
	Rows     []struct {
		Method  string
		Epsilon *float64
	}
}

func decodeResult(t *testing.T, text string) (r result) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&r); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("something follows the JSON object: %v", err)
	}
	return r
}

// What export writes, given a column of names, is what --data reads.
func TestExportedPeopleLearn(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := testnetRun(t, t.Context(), "export", "--out", dir, "--nodes", "4")
	if code != 0 || !strings.Contains(stdout, "Harper") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	joined := filepath.Join(dir, "all.csv")
	var all strings.Builder
	for i, name := range []string{"1.csv", "2.csv", "3.csv", "4.csv"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		header, rows, _ := strings.Cut(string(text), "\n")
		if i == 0 {
			all.WriteString("node," + header + "\n")
		}
		for row := range strings.Lines(rows) {
			all.WriteString(name + "," + row)
		}
	}
	if err := os.WriteFile(joined, []byte(all.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = testnetRun(t, t.Context(), "--sim", "--data", joined)
	if code != 0 || !strings.Contains(stdout, "4 people of "+joined) || strings.Contains(stdout, "Harper") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

func TestInterruptedBeforeAnything(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, stderr := testnetRun(t, ctx, "--sim", "--nodes", "5", "--json")
	if code != exitInterrupted {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if r := decodeResult(t, stdout); r.Complete || len(r.Rows) != 1 {
		t.Errorf("result %+v", r)
	}
}

// command starts the real command with real nodes and returns once it has made
// a directory for them.
func command(t *testing.T, size ...string) (cmd *exec.Cmd, stdout *bytes.Buffer, stderr *bufio.Reader, nodes string) {
	t.Helper()
	nodes, err := os.MkdirTemp("", "testnet") // short: sockets are made in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(nodes) })
	cmd = exec.Command(os.Args[0], append([]string{"--task", "linear", "--out", t.TempDir()}, size...)...)
	cmd.Env = append(os.Environ(), "TESTNET_AS_COMMAND=1", "TMPDIR="+nodes)
	stdout = &bytes.Buffer{}
	cmd.Stdout = stdout
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	require.Eventually(t, "a node", func() bool {
		made, _ := filepath.Glob(filepath.Join(nodes, "*", "*", "5")) // the first four are the committee's
		return len(made) > 0
	})
	return cmd, stdout, bufio.NewReader(pipe), nodes
}

func interrupt(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
}

// wantStopped checks the exit code and that no node left anything behind.
func wantStopped(t *testing.T, cmd *exec.Cmd, nodes string) {
	t.Helper()
	_ = cmd.Wait() // an exit code other than 0 is an error
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d, want %d", code, exitInterrupted)
	}
	if left, err := os.ReadDir(nodes); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestInterruptOnce(t *testing.T) {
	cmd, stdout, stderr, nodes := command(t, "--nodes", "6")
	interrupt(t, cmd)
	if _, err := io.Copy(io.Discard, stderr); err != nil {
		t.Fatal(err)
	}
	wantStopped(t, cmd, nodes)
	if !strings.Contains(stdout.String(), "Interrupted") {
		t.Errorf("the report does not say that it was interrupted:\n%s", stdout)
	}
}

func TestInterruptTwice(t *testing.T) {
	cmd, _, stderr, nodes := command(t, "--nodes", "6")
	interrupt(t, cmd)
	for line := ""; !strings.Contains(line, "stopping"); {
		var err error
		if line, err = stderr.ReadString('\n'); err != nil {
			t.Fatalf("it did not say that it stops: %v", err)
		}
	}
	interrupt(t, cmd)
	if _, err := io.Copy(io.Discard, stderr); err != nil {
		t.Fatal(err)
	}
	wantStopped(t, cmd, nodes)
}

// Export takes the lines of whom a column names, and deals out those of a file without one
// among as many as are asked for.
func TestExportOfAStrangersFile(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "people.csv"), func(number int) string { return filepath.Join(dir, fmt.Sprint("out", number)) }
	text := "viewer,genres,year,rating\n"
	for i := range 24 {
		text += fmt.Sprintf("v%d,Drama,%d,%d\n", i%2, 1990+i, 1+i%5)
	}
	bad := filepath.Join(dir, "bad.csv")
	if err := os.WriteFile(bad, []byte(text+"v1,Drama,1999,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		flags, out, err string
		code            int
	}{
		{"--node-column viewer --nodes all", "2 people of " + file, "", 0},
		{"--nodes 3", "3 people of " + file, "so the lines were dealt out to 3 people in turn", 0},
		{"", "", `no column "node" that says whose record a line is: name another with --node-column; if there is none, testnet rehearse deals the lines out to people, and so does testnet export with --nodes`, exitFailed},
		{"--node-column reader --nodes 3", "", `no column "reader"`, exitFailed},
		{"--node-column viewer --data " + bad, "", "leave them out with --skip-bad", exitFailed},
		{"--node-column viewer --nodes all --skip-bad --data " + bad, "2 people of " + bad, "Left out: " + bad + " has 1 bad line:", 0},
	} {
		code, stdout, stderr := testnetRun(t, t.Context(), append([]string{"export", "--out", out(i), "--data", file}, strings.Fields(c.flags)...)...)
		if code != c.code || !strings.Contains(stdout, c.out) || !strings.Contains(stderr, c.err) {
			t.Errorf("export %s: exit %d, output %q, errors %q", c.flags, code, stdout, stderr)
		}
	}
	third, err := os.ReadFile(filepath.Join(out(1), "3.csv"))
	if err != nil || strings.Count(string(third), "\n") != 1+24/3 {
		t.Errorf("%v: the third person has\n%s", err, third)
	}
}
