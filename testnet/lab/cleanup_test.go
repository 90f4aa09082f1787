package lab

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// underName is the name under which the test binary is the helper of [NewSystem].
const underName = "under"

// TestMain turns the test binary into a process that makes a lab and waits to be
// killed, or tells the time, when a test asks for it.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == underName:
		RunUnder()
	case os.Getenv("LAB_TO_BE_KILLED") != "":
		toBeKilled()
	case os.Getenv("LAB_TELLS_TIME") != "":
		tells()
	default:
		os.Exit(m.Run())
	}
}

func TestCommandsEndWithTheLab(t *testing.T) {
	l := newLab(t)
	a := newSegment(t, l, 1, nil)[0]
	cmd := a.host.Command(t.Context(), "sleep", "1000")
	require.NoError(t, cmd.Start())
	require.NoError(t, l.Close())
	if err := cmd.Wait(); err == nil {
		t.Error("the command has ended well, want it killed")
	}
	if _, err := New(); err != nil {
		t.Error(err)
	}
}

// toBeKilled makes a lab with a process on a host behind a slow cable, says which
// one, and waits.
func toBeKilled() {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	l, err := New()
	check(err)
	s, err := l.Segment(subnet)
	check(err)
	h, err := l.Host("host")
	check(err)
	_, err = h.JoinSlow(s, s.Addr(1), Delay{Latency: time.Millisecond})
	check(err)
	cmd := h.Command(l.ctx, "sleep", "1000")
	check(cmd.Start())
	fmt.Println(cmd.Process.Pid)
	_ = cmd.Wait()
}

// What a killed lab leaves is found by the processes in its namespaces, and by
// the names of namespaces: it makes none.
func TestNothingIsLeftByAKilledLab(t *testing.T) {
	newLab(t)
	names := func() string {
		list, _ := filepath.Glob("/run/netns/*")
		return strings.Join(list, " ")
	}
	before := names()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LAB_TO_BE_KILLED=yes")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	child := filepath.Join("/proc", strings.TrimSpace(line))
	space, err := os.Readlink(filepath.Join(child, "ns/net"))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, child+" left the killed lab's "+space, func() bool {
		now, err := os.Readlink(filepath.Join(child, "ns/net"))
		return err != nil || now != space
	})
	if after := names(); after != before {
		t.Errorf("names of namespaces: %q, before %q", after, before)
	}
}
