package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// A process that is killed in an import leaves the whole file or nothing of it, whether
// the command itself writes or a daemon for it; so the file can be imported again, or is
// known.
func TestKillDuringImport(t *testing.T) {
	t.Parallel()
	const rows = 30_000
	file, task := filepath.Join(t.TempDir(), "rows.csv"), filepath.Join(t.TempDir(), "task.toml")
	writeRows(t, file, rows)
	require.NoError(t, os.WriteFile(task, []byte(numbersTask()), 0o600))
	for _, who := range []string{"the command", "the daemon"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			interrupted := 0
			for _, size := range []int64{1 << 19, 2 << 20, 4 << 20} {
				dir := shortTemp(t)
				cli(t, nil, "init", "--dir", dir, "--task", task, "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0")
				importing := exec.Command("p2pnode", "data", "import", file, "--dir", dir)
				if who == "the command" {
					require.NoError(t, importing.Start())
					killAt(t, dir, size, importing.Process)
				} else {
					d := start(t, dir)
					require.NoError(t, importing.Start())
					killAt(t, dir, size, d.cmd.Process)
					d.end(t)
				}
				ended := importing.Wait()
				var s api.Status
				cli(t, &s, "status", "--dir", dir)
				again, err := exec.Command("p2pnode", "data", "import", file, "--dir", dir).CombinedOutput()
				switch known := strings.Contains(string(again), "imported before"); {
				case s.Records == 0 && err == nil && ended != nil:
					interrupted++
				case s.Records == rows && err != nil && known:
				default:
					t.Fatalf("killed at %d bytes: %d records; the import ended with %v; once more: %v\n%s", size, s.Records, ended, err, again)
				}
				if cli(t, &s, "status", "--dir", dir); s.Records != rows {
					t.Errorf("%d records in the end, want %d", s.Records, rows)
				}
			}
			if interrupted == 0 {
				t.Error("no kill hit an import")
			}
		})
	}
}

// An import that is interrupted says what is stored of its file.
func TestInterruptedImportSaysWhatIsStored(t *testing.T) {
	dir := shortTemp(t)
	listener, err := net.Listen("unix", filepath.Join(dir, "p2pnode.sock"))
	require.NoError(t, err)
	reached := make(chan bool)
	daemon := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/records/file" {
			_, _ = io.Copy(io.Discard, r.Body)
			reached <- true
			<-r.Context().Done()
		}
		_, _ = w.Write([]byte("[]"))
	})}
	served := make(chan error, 1)
	go func() { served <- daemon.Serve(listener) }()
	defer func() { _ = daemon.Close(); <-served }()
	file := filepath.Join(dir, "rows.csv")
	writeRows(t, file, 10)
	for flag, want := range map[string]string{
		"--skip-bad": "interrupted; nothing of the file is stored: import it again (if ",
		"--again":    "interrupted; nothing of the file is stored, or all of it, ",
		"--id=x0":    "interrupted; some lines of the file may be stored: ",
	} {
		cmd := exec.Command("p2pnode", "data", "import", file, "--dir", dir, flag)
		var said strings.Builder
		cmd.Stderr = &said
		require.NoError(t, cmd.Start())
		kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		select {
		case <-reached:
		case <-time.After(patience):
			t.Fatal("the file was not sent")
		}
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		if err := cmd.Wait(); err == nil || !strings.HasPrefix(said.String(), "p2pnode: "+want) {
			t.Errorf("%s: the interrupted command ends with %v and says %q", flag, err, said.String())
		}
		kill.Stop()
	}
}

// killAt kills a process when the database of a directory has grown to that size, which
// it does in the import.
func killAt(t *testing.T, dir string, size int64, process *os.Process) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if info, err := os.Stat(filepath.Join(dir, "p2pnode.db")); err == nil && info.Size() >= size {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the database has not grown to %d bytes within %v", size, patience)
		}
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// writeRows makes a file of so many rows for numbersTask.
func writeRows(t *testing.T, path string, rows int) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	r, out := rand.New(rand.NewPCG(1, 1)), bufio.NewWriter(file)
	for i := range 10 {
		fmt.Fprintf(out, "x%d,", i)
	}
	fmt.Fprintln(out, "y")
	for range rows {
		y := 0.5 * r.NormFloat64()
		for i := range 10 {
			x := 2*r.Float64() - 1
			y += 0.1 * float64(i+1) * x
			fmt.Fprintf(out, "%.5f,", x)
		}
		fmt.Fprintf(out, "%.4f\n", y)
	}
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// numbersTask has ten columns of numbers and a target.
func numbersTask() string {
	var b strings.Builder
	b.WriteString("name = \"rows\"\nlearner = \"personal\"\nloss = \"squared\"\nconstant = 0.5\nmu = 1.0\nlambda = 1.0\nclip = 1.0\n" +
		"confidence_at = 100\nradius = 20.0\ncohort_size = 100000\n")
	for i := range 10 {
		fmt.Fprintf(&b, "\n[[features]]\nname = \"x%d\"\nkind = \"number\"\nmin = -1.0\nmax = 1.0\n", i)
	}
	b.WriteString("\n[target]\nname = \"y\"\nmin = -10.0\nmax = 10.0\n\n[graph]\nrule = \"random\"\ndegree = 10\n\n" +
		"[local]\neta = 1.0\neta_constant = 0.1\nkappa = 1.0\n\n[release]\nepsilon = 1.0\ndelta = 1e-6\nreleases = 16\n" +
		"max_epsilon = 10.0\nmax_delta = 1e-3\nmax_releases = 1000\nwake_seconds = 60.0\nmin_wake = 0.05\n")
	return b.String()
}
