package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// The dashboard in Chromium, beside three nodes that learn together: node/dashboard/browser
// has what the owner does there, and asks for what she does in a terminal.
func TestDashboardInBrowser(t *testing.T) {
	if os.Getenv("P2PNODE_BROWSER") == "" {
		t.Skip("runs in a step of its own: set P2PNODE_BROWSER=yes")
	}
	o := newBrowserOwner(t)
	browser := installed(t, "chromium")
	walk := modules(t)
	var code struct{ URL string }
	cli(t, &code, "dashboard", "--dir", o.dir)
	cmd := exec.CommandContext(t.Context(), installed(t, "node"), "walk.mjs", browser, code.URL, o.node.id)
	cmd.Dir, cmd.Stderr = walk, os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err, cmd.Start())
	passed := o.answer(t, out, in)
	if err := cmd.Wait(); err != nil || !passed {
		t.Errorf("the walk ended with %v", err)
	}
}

// installed is the path of a program that must be there.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(err)
	}
	return path
}

// modules is a directory with the walk and what it imports, at the versions of its lock file.
func modules(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "node", "dashboard", "browser"))))
	npm := exec.CommandContext(t.Context(), installed(t, "npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	npm.Dir = dir
	if text, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm: %v\n%s", err, text)
	}
	return dir
}

// browserOwner has a node that is shown in a browser, and neighbours.
type browserOwner struct {
	dir, address string // address of the interface, the same after a restart
	node         *daemon
}

func newBrowserOwner(t *testing.T) *browserOwner {
	t.Helper()
	first := start(t, initNode(t))
	start(t, initNode(t, "--bootstrap", first.address))
	o := &browserOwner{dir: initNode(t, "--bootstrap", first.address), address: freeAddress(t)}
	o.run(t)
	return o
}

func (o *browserOwner) run(t *testing.T) {
	t.Helper()
	o.node = startWith(t, o.dir, exec.Command("p2pnode", "run", "--json", "--dir", o.dir, "--api", o.address))
}

// answer does what the walk asks for until it ends, and says whether it passed.
func (o *browserOwner) answer(t *testing.T, out io.Reader, in io.Writer) (passed bool) {
	t.Helper()
	for words := bufio.NewScanner(out); words.Scan(); {
		said := time.Now()
		answer := o.do(t, words.Text())
		t.Logf("%s: %s in %v", words.Text(), answer, time.Since(said))
		passed = words.Text() == "passed"
		if _, err := fmt.Fprintln(in, answer); err != nil && !passed {
			t.Fatal(err)
		}
	}
	return passed
}

// do does one thing.
func (o *browserOwner) do(t *testing.T, word string) string {
	t.Helper()
	switch word {
	case "import":
		file := filepath.Join(t.TempDir(), "more.csv")
		require.NoError(t, os.WriteFile(file, []byte("genres,year,rating\nComedy,1994,4\nDrama,1995,3\n"), 0o600))
		cli(t, nil, "data", "import", file, "--dir", o.dir)
		return "2"
	case "paused?":
		return fmt.Sprint(len(o.node.status(t).Paused) > 0)
	case "stop":
		o.node.interrupt(t, os.Interrupt)
	case "start":
		o.run(t)
	case "passed":
	default:
		t.Errorf("the walk says %q", strings.TrimSpace(word))
	}
	return "done"
}
