package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// A node killed with -9 in the middle and restarted continues with its budget,
// and its peers hear it again within 10 s. One of the nodes killed is the one
// the others started from, and each has another address afterwards.
func TestKilledNodeContinues(t *testing.T) {
	t.Parallel()
	nodes := []*daemon{start(t, initNode(t))}
	for range 3 {
		nodes = append(nodes, start(t, initNode(t, "--bootstrap", nodes[0].address)))
	}
	require.Within(t, patience, "everybody has heard everybody", func() bool {
		for _, d := range nodes {
			for _, other := range nodes {
				if d != other && d.heard(t, other.id) == 0 {
					return false
				}
			}
		}
		return true
	})
	for _, victim := range []int{2, 0} {
		nodes[victim] = killAndRestart(t, nodes, victim)
	}
	for _, d := range nodes {
		d.interrupt(t, os.Interrupt)
	}
}

// killAndRestart kills one of the nodes and checks what its disk remembers and
// what the others hear once it is back.
func killAndRestart(t *testing.T, nodes []*daemon, victim int) *daemon {
	t.Helper()
	dead := nodes[victim]
	before := spent(t, dead)
	if err := dead.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	dead.end(t)

	var budget api.Budget
	cli(t, &budget, "budget", "--dir", dead.dir)
	if len(budget.Cohorts) != 1 {
		t.Fatalf("cohorts on disk: %+v, want one", budget.Cohorts)
	}
	onDisk := budget.Cohorts[0]
	if onDisk.Spent < before.Spent || onDisk.Releases < before.Releases {
		t.Errorf("on disk %+v is less than %+v before the kill", onDisk, before)
	}
	var status api.Status
	cli(t, &status, "status", "--dir", dead.dir)
	for _, d := range nodes {
		// Nothing was published that is not on disk.
		if d == dead {
			continue
		}
		if round := d.heard(t, dead.id); round > status.Round {
			t.Errorf("a peer heard round %d, the disk knows of %d", round, status.Round)
		}
	}

	restart := time.Now()
	alive := start(t, dead.dir)
	if alive.id != dead.id {
		t.Errorf("restarted as %s, was %s", alive.id, dead.id)
	}
	for i, d := range nodes {
		if i == victim {
			continue
		}
		require.Within(t, patience, "a peer hears a round after the kill", func() bool {
			return d.heard(t, alive.id) > status.Round
		})
	}
	t.Logf("heard again by all %v after the restart", time.Since(restart))
	if after := spent(t, alive); after.Spent <= onDisk.Spent || after.Releases <= onDisk.Releases {
		t.Errorf("after new releases the budget is %+v, before %+v", after, onDisk)
	}
	return alive
}

// spent is the one cohort's budget, from the daemon.
func spent(t *testing.T, d *daemon) api.CohortBudget {
	t.Helper()
	b, err := d.owner.Budget(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Cohorts) != 1 {
		t.Fatalf("cohorts: %+v, want one", b.Cohorts)
	}
	return b.Cohorts[0]
}

// Nodes with different tasks never mix, even when one starts from the other.
// That the stranger finds nobody means something only after time enough: a node
// of the right task, which starts after it and knows the same address, has by
// then become a neighbour and been heard.
func TestTasksDoNotMix(t *testing.T) {
	t.Parallel()
	first := start(t, initNode(t))
	text, err := os.ReadFile(filepath.Join(first.dir, "task.toml"))
	if err != nil {
		t.Fatal(err)
	}
	// One public constant is another
	other := regexp.MustCompile(`(?m)^clip = .*$`).ReplaceAll(text, []byte("clip = 0.75"))
	otherTask := filepath.Join(t.TempDir(), "other.toml")
	if err := os.WriteFile(otherTask, other, 0o600); err != nil {
		t.Fatal(err)
	}
	stranger := start(t, initNode(t, "--task", otherTask, "--bootstrap", first.address))
	require.Within(t, patience, "the stranger is connected", func() bool { return stranger.status(t).Traffic.BytesIn > 0 })
	friend := start(t, initNode(t, "--bootstrap", first.address))
	require.Within(t, patience, "two nodes of one task hear each other", func() bool {
		return first.heard(t, friend.id) > 0 && friend.heard(t, first.id) > 0
	})

	if a, b := first.status(t), stranger.status(t); a.Network == b.Network {
		t.Fatalf("both tasks name the network %s", a.Network)
	}
	if s := stranger.status(t); s.Neighbours != 0 || s.Heard != 0 || s.Round != 0 || s.Privacy.Spent != 0 {
		t.Errorf("a stranger's status: %+v; want no neighbours and no release", s)
	}
	for _, d := range []*daemon{first, friend} {
		peers, err := d.owner.Peers(t.Context())
		if err != nil || len(peers) != 1 || peers[0].ID == stranger.id {
			t.Errorf("neighbours %+v, %v; want each other only", peers, err)
		}
	}
	for _, d := range []*daemon{first, friend, stranger} {
		d.interrupt(t, syscall.SIGTERM)
	}
}

// A second interrupt ends the daemon at once, even while the first one's clean
// stop waits for something: here for an import that never gets to its end.
func TestSecondInterrupt(t *testing.T) {
	dir := initNode(t)
	cmd := exec.Command("p2pnode", "run", "--dir", dir)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	awaitLine(t, stdout, "Ready. Others join with the ticket")

	fifo := filepath.Join(t.TempDir(), "endless.csv") // a file, which is stored as a whole
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	load := exec.Command("p2pnode", "data", "import", fifo, "--dir", dir)
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	endless, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	// More than all buffers on the way: once it is written, the daemon reads.
	if _, err := io.WriteString(endless, "genres,year,rating\n"+strings.Repeat("Drama,1990,4\n", 1<<17)); err != nil {
		t.Fatal(err)
	}

	interrupt := func() { // not by SIGINT, which shells let background jobs ignore
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	interrupt()
	awaitLine(t, stderr, "stopping; interrupt again to stop at once")
	interrupt()
	_ = cmd.Wait() // its state says more than the error
	if how := cmd.ProcessState.Sys().(syscall.WaitStatus); !how.Signaled() || how.Signal() != syscall.SIGTERM {
		t.Errorf("the daemon ended with %v, want by the second interrupt", cmd.ProcessState)
	}
	if err := endless.Close(); err != nil {
		t.Error(err)
	}
	if err := load.Wait(); err == nil {
		t.Error("an import that was cut off claims success")
	}
	var s api.Status
	if cli(t, &s, "status", "--dir", dir); s.Records != 6 {
		t.Errorf("%d records, want the 6 of before", s.Records)
	}
}

// awaitLine reads lines until one contains a text.
func awaitLine(t *testing.T, r io.Reader, text string) {
	t.Helper()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	t.Fatalf("no line with %q", text)
}
