package lab

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// tells is what a process says that reads lines, and answers each with the time of day, how
// long the process has run by its other clock, and how long a file took to be on disk.
func tells() {
	begin, file := time.Now(), os.Getenv("LAB_TELLS_TIME")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		now := time.Now()
		f, err := os.Create(file)
		if err != nil {
			panic(err)
		}
		if err := f.Sync(); err != nil {
			panic(err)
		}
		fmt.Println(now.UnixNano(), int64(now.Sub(begin)), int64(time.Since(now)))
	}
}

// The time of day is another one as soon as it is set, elapsed time stays right, and a file
// is on disk when the disk is not slow any more, or never if the process is killed.
func TestSystem(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("a thing of Linux on amd64")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	helper := filepath.Join(t.TempDir(), underName)
	require.NoError(t, os.Symlink(self, helper))
	cmd := exec.CommandContext(t.Context(), self)
	Tie(cmd)
	cmd.Env = append(os.Environ(), "LAB_TELLS_TIME="+filepath.Join(t.TempDir(), "file"))
	s, err := NewSystem(cmd, helper)
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	answered := make(chan error, 1)
	go func() { answered <- s.Run() }()
	answers := bufio.NewScanner(out)
	ask := func() (ahead, ran, took time.Duration) {
		t.Helper()
		_, err := fmt.Fprintln(in)
		require.NoError(t, err)
		if !answers.Scan() {
			t.Fatal("it has ended")
		}
		var now int64
		_, err = fmt.Sscan(answers.Text(), &now, (*int64)(&ran), (*int64)(&took))
		require.NoError(t, err)
		return time.Until(time.Unix(0, now)) + took, ran, took
	}
	for _, ahead := range []time.Duration{0, 9 * time.Hour, -7 * time.Hour, 87_600 * time.Hour} {
		s.SetAhead(ahead)
		if got, ran, took := ask(); (got-ahead).Abs() > time.Minute || ran < 0 || ran > 10*time.Minute || took > 10*time.Minute {
			t.Errorf("set %v ahead it is %v; it has run for %v, the file took %v", ahead, got, ran, took)
		}
	}
	const slow = 300 * time.Millisecond
	s.Stall(slow)
	if _, _, took := ask(); took < slow/2 {
		t.Errorf("on a slow disk a file took %v", took)
	}
	s.Stall(time.Hour)
	_, err = fmt.Fprintln(in)
	require.NoError(t, err)
	require.Eventually(t, "a file waits for the disk", func() bool { return s.Held() == 1 })
	require.NoError(t, cmd.Process.Kill(), <-answered)
	if err := cmd.Wait(); err == nil || s.Held() != 0 {
		t.Errorf("it has ended with %v, and %d of its calls wait", err, s.Held())
	}
}
