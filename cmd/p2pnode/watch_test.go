package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// fakeFile is a file as a look sees it.
type fakeFile struct {
	fs.FileInfo
	name    string
	size    int64
	changed time.Time
}

func (f fakeFile) Name() string       { return f.name }
func (f fakeFile) Size() int64        { return f.size }
func (f fakeFile) ModTime() time.Time { return f.changed }

// A file is whole when two looks see the same; an empty one never is, and one that is
// done only when it changes.
func TestLook(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	seen := make(map[string]*watched)
	for i, step := range []struct {
		files []fs.FileInfo
		want  []string
	}{
		{[]fs.FileInfo{fakeFile{name: "a", size: 1, changed: start}, fakeFile{name: "empty", changed: start}}, nil},
		{[]fs.FileInfo{fakeFile{name: "a", size: 2, changed: start}, fakeFile{name: "empty", changed: start}}, nil},
		{[]fs.FileInfo{fakeFile{name: "a", size: 2, changed: start.Add(1)}, fakeFile{name: "empty", changed: start}}, nil},
		{[]fs.FileInfo{fakeFile{name: "a", size: 2, changed: start.Add(1)}, fakeFile{name: "b", size: 2}}, []string{"a"}},
		{[]fs.FileInfo{fakeFile{name: "a", size: 2, changed: start.Add(1)}, fakeFile{name: "b", size: 2}}, []string{"b"}}, // a is done
		{[]fs.FileInfo{fakeFile{name: "b", size: 2}}, nil},
		{[]fs.FileInfo{fakeFile{name: "a", size: 2, changed: start.Add(1)}, fakeFile{name: "b", size: 3}}, nil},
		{[]fs.FileInfo{fakeFile{name: "a", size: 2, changed: start.Add(1)}, fakeFile{name: "b", size: 3}}, []string{"a", "b"}},
	} {
		got := look(seen, step.files, start)
		if !slices.Equal(got, step.want) {
			t.Errorf("look %d: %q, want %q", i, got, step.want)
		}
		for _, name := range got {
			seen[name].done = true
		}
	}
	for name, want := range map[string]bool{"a.csv": false, ".a.csv": true, "a.csv~": true, "a.PART": true, "part": false, "a.csv.tmp": true} {
		if leftAlone(name) != want {
			t.Errorf("%q is left alone: %v", name, !want)
		}
	}
}

// watcher is a running p2pnode data watch.
type watcher struct {
	cmd *exec.Cmd
	out *bufio.Scanner
}

func startWatch(t *testing.T, dir, inbox string, flags ...string) *watcher {
	t.Helper()
	return runWatch(t, exec.Command("p2pnode", append([]string{"data", "watch", inbox, "--every", "100ms", "--json", "--dir", dir}, flags...)...), inbox)
}

func runWatch(t *testing.T, cmd *exec.Cmd, inbox string) *watcher {
	t.Helper()
	w := &watcher{cmd: cmd}
	w.cmd.Stderr = os.Stderr
	out, err := w.cmd.StdoutPipe()
	require.NoError(t, err, w.cmd.Start())
	w.out = bufio.NewScanner(out)
	t.Cleanup(func() { w.cmd.Process.Kill() })
	if e := w.next(t); e == nil || e.Watching != inbox {
		t.Fatalf("it began with %+v", e)
	}
	return w
}

// next is what it says next; nil: it has ended.
func (w *watcher) next(t *testing.T) *watchEvent {
	t.Helper()
	if !w.out.Scan() {
		return nil
	}
	var e watchEvent
	err := json.Unmarshal(w.out.Bytes(), &e)
	if err != nil && !w.out.Scan() {
		return nil // torn by a kill
	}
	require.NoError(t, err)
	return &e
}

// wants reads what it says next.
func (w *watcher) wants(t *testing.T, file, outcome, reason string) *watchEvent {
	t.Helper()
	e := w.next(t)
	if e == nil || e.File != file || e.Outcome != outcome || !strings.Contains(e.Reason, reason) {
		t.Fatalf("%+v, want %s %s (%s)", e, file, outcome, reason)
	}
	return e
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}

const watchHeader = "k,genres,year,rating\n"

// Files are imported once, even if they are renamed later or another process holds the
// directory. A file that fails is named, and tried again when it changes.
func TestWatch(t *testing.T) {
	t.Parallel()
	dir, inbox := emptyNode(t), t.TempDir()
	in := func(name string) string { return filepath.Join(inbox, name) }
	w := startWatch(t, dir, inbox)
	writeFile(t, in("half.csv.part"), watchHeader+"1,Drama,1990,4\n")
	writeFile(t, in("a.csv"), watchHeader+"1,Drama,1990,4\n2,Drama,1991,4\n")
	if e := w.wants(t, "a.csv", "imported", ""); e.Report.Records != 2 {
		t.Errorf("%+v", e.Report)
	}
	require.NoError(t, os.Rename(in("half.csv.part"), in("half.csv")))
	w.wants(t, "half.csv", "imported", "")
	writeFile(t, in("copy.csv"), watchHeader+"1,Drama,1990,4\n2,Drama,1991,4\n")
	w.wants(t, "copy.csv", "known", "")
	writeFile(t, in("bad.csv"), watchHeader+"1,Drama,soon,4\n2,Drama,1991,5\n")
	if e := w.wants(t, "bad.csv", "failed", "bad lines, nothing was imported"); e.Report.Bad != 1 || e.Report.Lines[0].Line != 2 {
		t.Errorf("%+v", e.Report)
	}
	writeFile(t, in("bad.csv"), watchHeader+"1,Drama,1990,5\n2,Drama,1991,5\n")
	w.wants(t, "bad.csv", "imported", "")
	writeFile(t, in("alien.csv"), "height\n12\n")
	w.wants(t, "alien.csv", "failed", "the header has no column")
	writeFile(t, in("bad.csv"), watchHeader+"1,Drama,1990,5\n2,Drama,1991,5\n3,Drama,1992,5\n")
	w.wants(t, "bad.csv", "failed", "a file of this name was imported with other content; nothing was stored, because rows that were in it would be records twice")
	require.NoError(t, w.cmd.Process.Signal(os.Interrupt))
	if e := w.next(t); e == nil || e.Ended == nil || e.Ended.Imported != 3 || e.Ended.Known != 1 || !slices.Equal(e.Ended.Not, []string{"alien.csv", "bad.csv"}) {
		t.Errorf("it ended with %+v", e)
	}
	require.NoError(t, w.cmd.Wait())

	// With a daemon, and after a restart: all files are known, and the changed one still is.
	d := start(t, dir)
	w = startWatch(t, dir, inbox)
	for _, name := range []string{"a.csv", "alien.csv", "bad.csv", "copy.csv", "half.csv"} {
		switch e := w.next(t); {
		case e == nil || e.File != name:
			t.Fatalf("%+v, want %s", e, name)
		case name == "alien.csv" || name == "bad.csv":
			if e.Outcome != "failed" {
				t.Errorf("%+v", e)
			}
		case e.Outcome != "known":
			t.Errorf("%+v", e)
		}
	}
	if s := d.status(t); s.Records != 5 {
		t.Errorf("%d records, want 5", s.Records)
	}
	require.NoError(t, w.cmd.Process.Signal(os.Interrupt), w.cmd.Wait())
	d.interrupt(t, os.Interrupt)
}

// A directory that goes away is named as the owner named it, and watched again when it is
// back.
func TestWatchOfADirectoryThatGoesAway(t *testing.T) {
	t.Parallel()
	dir, inbox := emptyNode(t), filepath.Join(t.TempDir(), "inbox")
	require.NoError(t, os.Mkdir(inbox, 0o700))
	w := startWatch(t, dir, inbox)
	require.NoError(t, os.Remove(inbox))
	if e := w.wants(t, inbox, "waiting", "no such file"); strings.Contains(e.Reason, "inbox") {
		t.Errorf("the directory is named twice: %q", e.Reason)
	}
	require.NoError(t, os.Mkdir(inbox, 0o700))
	writeFile(t, filepath.Join(inbox, "a.csv"), watchHeader+"1,Drama,1990,4\n")
	w.wants(t, "a.csv", "imported", "")
}

// A file that comes under the name of one that was imported can be imported by hand where
// the owner knows that no row is in both, and is known then.
func TestWatchOfALogThatIsRotated(t *testing.T) {
	t.Parallel()
	dir, inbox := emptyNode(t), t.TempDir()
	log := filepath.Join(inbox, "log.csv")
	w := startWatch(t, dir, inbox)
	writeFile(t, log, watchHeader+"1,Drama,1990,4\n")
	w.wants(t, "log.csv", "imported", "")
	writeFile(t, log, watchHeader+"2,Drama,1991,4\n3,Drama,1992,4\n")
	w.wants(t, "log.csv", "failed", "give each file a name of its own, as readings-2026-11-29.csv, or name the column with your own key of each row: --id COLUMN; if no row is in both, import it with p2pnode data import --again FILE")
	require.NoError(t, w.cmd.Process.Kill())
	_ = w.cmd.Wait() // it was killed
	var report api.ImportReport
	cli(t, &report, "data", "import", "--again", log, "--dir", dir)
	if report.Records != 2 {
		t.Errorf("%+v", report)
	}
	startWatch(t, dir, inbox).wants(t, "log.csv", "known", "")
}

// What feeds a node ends cleanly when its terminal is closed, with what it says at its end,
// unless nohup says that it goes on.
func TestFeedersEndAtSIGHUP(t *testing.T) {
	t.Parallel()
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP) // else, under nohup, what the test starts ignores the signal as the test does
	defer signal.Stop(heard)
	dir, inbox := emptyNode(t), t.TempDir()
	w := startWatch(t, dir, inbox)
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGHUP))
	if e := w.next(t); e == nil || e.Ended == nil {
		t.Errorf("it ended with %+v", e)
	}
	require.NoError(t, w.cmd.Wait())

	pipe := exec.Command("p2pnode", "data", "import", "-", "--json", "--dir", dir)
	in, err := pipe.StdinPipe()
	require.NoError(t, err)
	out, err := pipe.StdoutPipe()
	require.NoError(t, err, pipe.Start())
	fmt.Fprint(in, watchHeader+"1,Drama,1990,4\n")
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.Contains(lines.Text(), `"new"`) {
		t.Errorf("the pipe began with %q", lines.Text())
	}
	require.NoError(t, pipe.Process.Signal(syscall.SIGHUP))
	if !lines.Scan() || !strings.Contains(lines.Text(), `"records":1`) {
		t.Errorf("the pipe ended with %q", lines.Text())
	}
	require.NoError(t, pipe.Wait())

	w = runWatch(t, exec.Command("sh", "-c", `trap "" HUP; exec p2pnode "$@"`, "sh", "data", "watch", inbox, "--every", "100ms", "--json", "--dir", dir), inbox)
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGHUP))
	writeFile(t, filepath.Join(inbox, "a.csv"), watchHeader+"2,Drama,1991,4\n")
	w.wants(t, "a.csv", "imported", "")
}

// Nor does it leave a part of an export that looks complete.
func TestExportEndsAtSIGHUP(t *testing.T) {
	t.Parallel()
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP) // as above
	defer signal.Stop(heard)
	dir, rows := emptyNode(t), filepath.Join(t.TempDir(), "rows.csv")
	writeFile(t, rows, watchHeader+strings.Repeat("1,Drama,1990,4\n", 50_000)) // long enough to be stopped in
	cli(t, nil, "data", "import", rows, "--dir", dir)
	file := filepath.Join(t.TempDir(), "out.csv")
	export := exec.Command("p2pnode", "data", "export", "--out", file, "--dir", dir)
	require.NoError(t, export.Start())
	for began := time.Now(); time.Since(began) < patience; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			break
		}
	}
	require.NoError(t, export.Process.Signal(syscall.SIGHUP))
	if err := export.Wait(); err == nil || export.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
}

// With keys a file may grow.
func TestWatchOfAFileThatGrows(t *testing.T) {
	t.Parallel()
	dir, inbox := emptyNode(t), t.TempDir()
	w := startWatch(t, dir, inbox, "--id", "k")
	text := watchHeader
	for i := range 4 {
		text += fmt.Sprintf("%d,Drama,1990,4\n", i)
		writeFile(t, filepath.Join(inbox, "log.csv"), text)
		if e := w.wants(t, "log.csv", "imported", ""); e.Report.Records != 1 || e.Report.Same != i {
			t.Errorf("%d: %+v", i, e.Report)
		}
	}
}

// Killed at any moment, again and again, while files come: in the end each line
// of each file is there once.
func TestKilledWatchImportsEachFileOnce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 91))
	dir, inbox := emptyNode(t), t.TempDir()
	const files, rows = 8, 3000
	go func() {
		for i := range files {
			name := filepath.Join(inbox, fmt.Sprintf("%d.csv", i))
			file, err := os.Create(name + ".part")
			if err != nil {
				return // the test has ended
			}
			fmt.Fprint(file, watchHeader)
			for k := range rows {
				fmt.Fprintf(file, "%d-%d,Drama,%d,4\n", i, k, 1900+k%100)
			}
			if file.Close() != nil || os.Rename(name+".part", name) != nil {
				return
			}
		}
	}()
	for range 5 {
		w := startWatch(t, dir, inbox)
		w.cmd.Stderr = nil
		time.AfterFunc(time.Duration(r.IntN(800))*time.Millisecond, func() { w.cmd.Process.Kill() })
		for w.next(t) != nil {
		}
		w.cmd.Wait()
	}
	w := startWatch(t, dir, inbox)
	for done := 0; done < files; {
		switch e := w.next(t); {
		case e == nil || e.Outcome == "failed":
			t.Fatalf("%+v", e)
		case e.Outcome != "waiting":
			done++
		}
	}
	require.NoError(t, w.cmd.Process.Signal(os.Interrupt), w.cmd.Wait())
	var s api.Status
	cli(t, &s, "status", "--dir", dir)
	if s.Records != files*rows {
		t.Errorf("%d records, want %d", s.Records, files*rows)
	}
}
