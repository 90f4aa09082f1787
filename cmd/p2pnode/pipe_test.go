package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// sensor is a pipe into p2pnode data import -.
type sensor struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	next int // the line that is sent next
}

// emptyNode is a new directory without records.
func emptyNode(t *testing.T) string {
	t.Helper()
	dir := shortTemp(t)
	cli(t, nil, "init", "--dir", dir, "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0")
	return dir
}

func startSensor(t *testing.T, dir string, flags ...string) *sensor {
	t.Helper()
	s := &sensor{cmd: exec.Command("p2pnode", append([]string{"data", "import", "-", "--json", "--dir", dir}, flags...)...), next: 1}
	s.cmd.Stderr = os.Stderr
	in, err := s.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := s.cmd.StdoutPipe()
	require.NoError(t, err, s.cmd.Start())
	s.in, s.out = in, bufio.NewScanner(out)
	t.Cleanup(func() { s.cmd.Process.Kill() })
	return s
}

// send writes a rating, with the line's number as its key.
func (s *sensor) send(t *testing.T) {
	t.Helper()
	_, err := fmt.Fprintf(s.in, "{\"k\":%d,\"genres\":\"Drama\",\"year\":1990,\"rating\":%d}\n", s.next, 1+s.next%5)
	require.NoError(t, err)
	s.next++
}

// heard is the next acknowledgement; nil after the last.
func (s *sensor) heard(t *testing.T) *api.LineOutcome {
	t.Helper()
	if !s.out.Scan() {
		return nil
	}
	var l api.LineOutcome
	err := json.Unmarshal(s.out.Bytes(), &l)
	if err != nil && !s.out.Scan() {
		return nil // a torn last line acknowledges nothing
	}
	require.NoError(t, err)
	return &l
}

// A sensor that writes now and then is acknowledged line by line, while daemons start and
// stop and others use the directory; an interrupt stores what was sent and ends cleanly.
func TestPipeOutlivesDaemons(t *testing.T) {
	t.Parallel()
	dir := emptyNode(t)
	s := startSensor(t, dir)
	say := func() {
		t.Helper()
		s.send(t)
		if l := s.heard(t); l == nil || l.Line != s.next-1 || l.Outcome != api.LineNew {
			t.Fatalf("line %d: %+v", s.next-1, l)
		}
	}
	say()
	say()
	var st api.Status
	free := func() {
		require.Eventually(t, "the directory is let go", func() bool {
			out, err := exec.Command("p2pnode", "status", "--json", "--dir", dir).Output()
			return err == nil && json.Unmarshal(out, &st) == nil
		})
	}
	free()
	d := start(t, dir)
	say()
	d.interrupt(t, os.Interrupt)
	say()
	free()
	d = start(t, dir)
	if st := d.status(t); st.Records != 4 {
		t.Errorf("the daemon has %d records, want 4", st.Records)
	}
	s.send(t)
	s.send(t)
	if l := s.heard(t); l == nil || l.Line != 5 {
		t.Fatalf("%+v", l)
	}
	require.NoError(t, s.cmd.Process.Signal(os.Interrupt))
	s.heard(t) // line 6, or the end
	require.NoError(t, s.cmd.Wait())
	d.interrupt(t, os.Interrupt)
	cli(t, &st, "status", "--dir", dir)
	if st.Records < 5 || st.Records > 6 {
		t.Errorf("%d records, want the 5 or 6 that were read", st.Records)
	}
}

// Who is killed while lines pour in has stored every line that was acknowledged, and with
// keys each line once when they are sent again.
func TestKilledPipeLosesNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 71))
	dir := emptyNode(t)
	acknowledged, most := 0, 0
	for i := 0; i < 6 || acknowledged == 0 && i < 60; i++ { // on a busy machine the first do not get that far, and later ones have longer
		s := startSensor(t, dir, "--id", "k")
		s.cmd.Stderr = nil
		time.AfterFunc(time.Duration((300+r.IntN(1200))*(1+i/6))*time.Millisecond, func() { s.cmd.Process.Kill() })
		go func() {
			for i := 1; i <= 20_000; i++ {
				if _, err := fmt.Fprintf(s.in, "{\"k\":%d,\"genres\":\"Drama\",\"year\":1990,\"rating\":%d}\n", i, 1+i%5); err != nil {
					return
				}
			}
		}()
		for {
			l := s.heard(t)
			if l == nil {
				break
			}
			if l.Outcome != api.LineNew && l.Outcome != api.LineSame {
				t.Fatalf("%+v", l)
			}
			acknowledged = max(acknowledged, l.Line)
		}
		s.cmd.Wait()
		var st api.Status
		cli(t, &st, "status", "--dir", dir)
		if st.Records < acknowledged || st.Records < most || st.Records > 20_000 {
			t.Fatalf("%d records; %d were acknowledged, %d were there before", st.Records, acknowledged, most)
		}
		most = st.Records
	}
	if acknowledged == 0 {
		t.Fatal("nothing was acknowledged")
	}
	out, err := exec.Command("p2pnode", "data", "list", "--content", "--dir", dir).Output()
	require.NoError(t, err)
	if n := strings.Count(string(out), "deleted"); n != 0 {
		t.Errorf("%d records were replaced by the same", n)
	}
}
