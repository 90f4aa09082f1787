package main

import (
	"bytes"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/client"
	"p2pnode/node/local"
	"p2pnode/testnet/lab"
)

// What the README says to paste into three terminals and a fourth one works, on a
// machine of its own with a local network: everybody has heard of everybody.
func TestLabReadme(t *testing.T) {
	inNamespaces(t)
	host, dir := readersMachine(t), checkout(t)
	blocks := pasted(t, "README.md", "## Three terminals that learn together")
	if len(blocks) < 2 || !strings.HasPrefix(blocks[0], "N=1\n") {
		t.Fatalf("the README has %q", blocks)
	}
	threeTerminals(t, host, dir, blocks[0])
	for _, n := range []string{"1", "2", "3"} {
		require.Eventually(t, "node "+n+" hears two others", func() bool { return heard(t, filepath.Join(dir, "try", "node"+n)) == 2 })
	}
	fourth := host.Command(t.Context(), "sh", "-e", "-c", blocks[1])
	fourth.Dir = dir
	said, err := fourth.CombinedOutput()
	if err != nil {
		t.Fatalf("the fourth terminal: %v\n%s", err, said)
	}
	for _, want := range []string{"epsilon 1, delta 1e-06 guaranteed", "neighbours  2; 2 listening now, 2 heard", "gain        "} {
		if !strings.Contains(string(said), want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}

// inNamespaces lets a test that runs daemons in network namespaces run beside others, or
// skips it.
func inNamespaces(t *testing.T) {
	t.Helper()
	if os.Getenv("P2PNODE_LAB") == "" {
		t.Skip("runs in a step of its own: set P2PNODE_LAB=yes to run daemons in network namespaces")
	}
	if err := lab.Available(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
}

// nightly leaves a test in network namespaces to the nightly run: the gate has others that go
// through most of the same code.
func nightly(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: runs nightly")
	}
	if os.Getenv("P2PNODE_LAB") == "" {
		t.Skip("runs nightly: set P2PNODE_LAB=yes to run daemons in network namespaces")
	}
}

// readersMachine is a machine of its own with a local network. Its address is none of those
// that are kept for private networks: a rented server has no other.
func readersMachine(t *testing.T) *lab.Host {
	t.Helper()
	l, err := lab.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	segment, err := l.Segment(netip.MustParsePrefix("203.0.113.0/24"))
	require.NoError(t, err)
	host, err := l.Host("reader")
	require.NoError(t, err)
	_, err = host.Join(segment, segment.Addr(1))
	require.NoError(t, err)
	return host
}

// threeTerminals pastes a block into three terminals, each with a number of its own.
func threeTerminals(t *testing.T, host *lab.Host, dir, block string) {
	t.Helper()
	for _, n := range []string{"1", "2", "3"} {
		script := strings.Replace(block, "N=1", "N="+n, 1)
		script = strings.Replace(script, "bin/p2pnode run", "exec bin/p2pnode run", 1) // so that it ends with the test
		terminal := host.Command(t.Context(), "sh", "-e", "-c", script)
		terminal.Dir = dir
		var said bytes.Buffer
		terminal.Stdout, terminal.Stderr = &said, &said
		require.NoError(t, terminal.Start())
		t.Cleanup(func() {
			_ = terminal.Process.Kill()
			_ = terminal.Wait()
			if t.Failed() {
				t.Logf("terminal %s said:\n%s", n, &said)
			}
		})
	}
}

// heard is of how many neighbours the daemon of a directory has a model, 0 without one.
func heard(t *testing.T, dir string) int {
	t.Helper()
	daemon := client.New(client.Socket(local.SocketPath(dir)))
	defer daemon.Close()
	if s, err := daemon.Status(t.Context()); err == nil {
		return s.Heard
	}
	return 0
}

// built is a directory with p2pnode in bin.
func built(t *testing.T) string {
	t.Helper()
	dir := shortTemp(t)
	program, err := exec.LookPath("p2pnode")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	require.NoError(t, os.Symlink(program, filepath.Join(dir, "bin", "p2pnode")))
	return dir
}

// checkout is a directory with what the README builds in bin.
func checkout(t *testing.T) string {
	t.Helper()
	dir := built(t)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "bin", "testnet"), "../testnet").CombinedOutput(); err != nil {
		t.Fatalf("build testnet: %v\n%s", err, out)
	}
	return dir
}

// pasted are the blocks of commands below a heading of a document, up to the next.
func pasted(t *testing.T, document, heading string) (blocks []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", document))
	require.NoError(t, err)
	_, section, found := strings.Cut("\n"+string(page), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no %q", document, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range regexp.MustCompile("(?ms)^```\n(.*?)^```$").FindAllStringSubmatch(section, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}
