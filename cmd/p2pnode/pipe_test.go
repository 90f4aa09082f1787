package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/internal/require"
	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/local"
	"p2pnode/node/server"
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

// daemonThatDies serves the socket of a directory like a daemon that is killed after it has stored
// the first lines, and before it says so.
func daemonThatDies(t *testing.T, dir string) {
	t.Helper()
	n, err := node.Open(dir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	socket, err := server.Listen(local.SocketPath(dir))
	require.NoError(t, err)
	dies := http.NewServeMux()
	daemon := http.Server{Handler: dies}
	dies.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	dies.HandleFunc("POST /v1/records/lines", func(w http.ResponseWriter, r *http.Request) {
		var lines api.Lines
		err := json.NewDecoder(r.Body).Decode(&lines)
		a, putErr := n.Put(r.Context(), lines)
		if len(lines.Lines) == 0 {
			err = errors.Join(err, putErr, json.NewEncoder(w).Encode(a))
		} else {
			err = errors.Join(err, putErr, n.Close(), daemon.Close())
		}
		if err != nil {
			t.Error(err)
		}
	})
	go daemon.Serve(socket)
	t.Cleanup(func() { daemon.Close() })
}

// When a daemon is killed with lines in its hands, those with keys are sent again: what it has
// stored of them changes nothing, also if they are a whole pipe. Others end the pipe, because
// they could be there twice.
func TestPipeSurvivesAKilledDaemon(t *testing.T) {
	t.Parallel()
	for _, keyed := range []bool{true, false} {
		dir := emptyNode(t)
		daemonThatDies(t, dir)
		args := []string{"data", "import", "-", "--json", "--dir", dir}
		if keyed {
			args = append(args, "--id", "k")
		}
		cmd := exec.Command("p2pnode", args...)
		var said bytes.Buffer
		cmd.Stderr = &said
		cmd.Stdin = strings.NewReader("{\"k\":1,\"genres\":\"Drama\",\"year\":1990,\"rating\":3}\n{\"k\":2,\"genres\":\"Drama\",\"year\":1991,\"rating\":4}\n")
		out, err := cmd.Output()
		if keyed && (err != nil || strings.Count(string(out), `"outcome":"same"`) != 2) {
			t.Errorf("with keys: %v, %s, %s", err, out, &said)
		} else if !keyed && (err == nil || !strings.Contains(said.String(), "lines 1 to 2 were not acknowledged")) {
			t.Errorf("without keys: %v, %s, %s", err, out, &said)
		}
		var st api.Status
		if cli(t, &st, "status", "--dir", dir); st.Records != 2 {
			t.Errorf("%d records, want each line once", st.Records)
		}
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

// A pipe whose first line never ends is refused, and one that was interrupted before it says so.
func TestPipeWithoutALine(t *testing.T) {
	zeros, writer, err := os.Pipe()
	require.NoError(t, err)
	go func() {
		_, _ = writer.Write(make([]byte, 2*maxPipeLine)) // an error once nobody reads
	}()
	var said strings.Builder
	cmd := new(cobra.Command)
	cmd.SetOut(&said)
	cmd.SetContext(t.Context())
	if err := importPipe(cmd, new(options), zeros, api.ImportOptions{}); !errors.Is(err, errLongLine) {
		t.Errorf("a line without an end: %v", err)
	}
	require.NoError(t, zeros.Close(), writer.Close())

	silent, writer, err := os.Pipe()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd.SetContext(ctx)
	require.NoError(t, importPipe(cmd, new(options), silent, api.ImportOptions{}), writer.Close(), silent.Close())
	if said.String() != "No line had come.\n" {
		t.Errorf("an interrupted import says %q", said.String())
	}
}
