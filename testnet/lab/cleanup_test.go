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
)

// TestMain turns the test binary into a process that makes a lab and waits to be
// killed, when a test asks for it.
func TestMain(m *testing.M) {
	if os.Getenv("LAB_TO_BE_KILLED") != "" {
		toBeKilled()
		return
	}
	os.Exit(m.Run())
}

func TestCommandsEndWithTheLab(t *testing.T) {
	l := newLab(t)
	a := newSegment(t, l, 1, nil)[0]
	cmd := a.host.Command(t.Context(), "sleep", "1000")
	must(t, cmd.Start())
	must(t, l.Close())
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
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	child := filepath.Join("/proc", strings.TrimSpace(line))
	space, err := os.Readlink(filepath.Join(child, "ns/net"))
	must(t, err)
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		now, err := os.Readlink(filepath.Join(child, "ns/net"))
		if err != nil || now != space {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s is still in the killed lab's %s", child, space)
		}
	}
	if after := names(); after != before {
		t.Errorf("names of namespaces: %q, before %q", after, before)
	}
}
