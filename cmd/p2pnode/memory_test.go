//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// What the daemon takes of memory at its peak: it imports the records, fits a model to
// them, measures it and answers; at a million of ten number columns that is 300 MB.
const (
	memoryAtRest    = 60_000_000
	memoryPerRecord = 240
)

// maxAnswer is how long the status of a daemon takes that has fitted its model.
const maxAnswer = 200 * time.Millisecond

// The memory of a daemon, and of who asks it, stays within bounds however it came to its
// records; and its status does not wait for them. P2PNODE_ROWS sets how many they are.
func TestMemoryOfRecords(t *testing.T) {
	rows := 30_000
	if set := os.Getenv("P2PNODE_ROWS"); set != "" {
		var err error
		if rows, err = strconv.Atoi(set); err != nil {
			t.Fatal(err)
		}
	}
	dir, file := shortTemp(t), filepath.Join(t.TempDir(), "rows.csv")
	writeRows(t, file, rows)
	task := filepath.Join(t.TempDir(), "task.toml")
	if err := os.WriteFile(task, []byte(numbersTask()), 0o600); err != nil {
		t.Fatal(err)
	}
	cli(t, nil, "init", "--dir", dir, "--task", task, "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0")
	most := memoryAtRest + memoryPerRecord*rows
	if underRace() { // which takes memory of its own
		most = math.MaxInt
	}

	d := start(t, dir)
	runWithin(t, most, "data", "import", file, "--dir", dir)
	busy := timeStatus(t, d, rows)
	awaitFit(t, d)
	warm := timeStatus(t, d, rows)
	runWithin(t, most, "status", "--dir", dir)
	checkPeak(t, d, most, "imported, fitted and answered")
	runWithin(t, most, "data", "list", "--json", "--dir", dir)
	runWithin(t, most, "data", "list", "--content", "--dir", dir)
	checkPeak(t, d, most, "listed")
	runWithin(t, most, "data", "delete", "1", "5-9", "--dir", dir)
	checkPeak(t, d, most, "deleted a few")
	runWithin(t, most, "data", "delete", fmt.Sprintf("1-%d", rows/50), "--dir", dir)
	checkPeak(t, d, most, "deleted many")
	d.interrupt(t, os.Interrupt)

	d = start(t, dir)
	awaitFit(t, d)
	checkPeak(t, d, most, "started with the records, and fitted")
	d.interrupt(t, os.Interrupt)
	runWithin(t, most, "status", "--dir", dir)
	t.Logf("%d records: the status takes %v, during the first fit %v", rows, warm, busy)
	if warm > maxAnswer {
		t.Errorf("the status of a warm daemon takes %v, want %v at the most", warm, maxAnswer)
	}
}

func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

// runWithin runs a command that must succeed and take no more memory than that.
func runWithin(t *testing.T, most int, args ...string) {
	t.Helper()
	var complaint bytes.Buffer
	cmd := exec.Command("p2pnode", args...)
	cmd.Stderr = &complaint
	if err := cmd.Run(); err != nil {
		t.Fatalf("p2pnode %q: %v\n%s", args, err, &complaint)
	}
	// Where it is less than that of this process, which started it, it is not told.
	peak := int(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10
	t.Logf("p2pnode %q: %d MB at the peak, %v of a processor", args, peak/1e6, cmd.ProcessState.UserTime())
	if peak > max(most, peakOf(t, os.Getpid())) {
		t.Errorf("p2pnode %q took %d MB, want %d MB at the most", args, peak/1e6, most/1e6)
	}
}

// awaitFit asks until the model knows every record.
func awaitFit(t *testing.T, d *daemon) {
	t.Helper()
	require.Within(t, patience, "the model is fitted", func() bool {
		s := d.status(t)
		return s.Fit != nil && s.Fit.Current
	})
}

// timeStatus is how long the fastest of a few answers took: on a busy machine the others
// say how busy it is.
func timeStatus(t *testing.T, d *daemon, rows int) time.Duration {
	t.Helper()
	least := time.Hour
	for range 5 {
		began := time.Now()
		if s := d.status(t); s.Records != rows {
			t.Fatalf("%d records, want %d", s.Records, rows)
		}
		least = min(least, time.Since(began))
	}
	return least
}

func checkPeak(t *testing.T, d *daemon, most int, what string) {
	t.Helper()
	peak := peakOf(t, d.cmd.Process.Pid)
	t.Logf("%s: %d MB at the peak, of %d", what, peak/1e6, most/1e6)
	if peak > most {
		t.Errorf("%s: the daemon took %d MB, want %d MB at the most", what, peak/1e6, most/1e6)
	}
}

// peakOf is the most memory a process had resident so far, in bytes.
func peakOf(t *testing.T, process int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var kilobytes int
		if n, _ := fmt.Sscanf(string(line), "VmHWM: %d kB", &kilobytes); n == 1 {
			return kilobytes << 10
		}
	}
	t.Fatalf("no peak in %s", text)
	return 0
}
