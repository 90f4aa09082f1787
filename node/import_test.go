package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/client"
	"p2pnode/node/datadir"
	"p2pnode/node/server"
	"p2pnode/node/tokens"
)

// served is the node through its socket, until the test ends.
func served(t *testing.T, n *Node) api.Owner {
	t.Helper()
	path := filepath.Join(n.dir, datadir.SocketFile)
	listener, err := server.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	all := server.New(server.Config{Owner: n, Log: n.log, Ready: n.Ready, Left: func() {}, Tokens: new(tokens.Store)})
	go func() { ended <- all.Serve(ctx, listener, server.Socket{}) }()
	c := client.New(client.Socket(path))
	require.Eventually(t, "the socket answers", func() bool { return c.Alive(t.Context()) == nil })
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return c
}

// pipe hides that a text can be read twice.
type pipe struct{ io.Reader }

// A file that was imported before is refused, with and without a daemon, whether it
// can be read twice or not, and nothing of it is stored; nor is one that has more at its end.
// Lines that say the same are never dropped, nor is a file that differs in one byte before it.
func TestImportRefusesAKnownFile(t *testing.T) {
	const file = "a,b,y\n1,0,2\n1,0,2\n0,1,3\n"
	for _, through := range []string{"the directory", "the daemon"} {
		t.Run(through, func(t *testing.T) {
			n := testNode(t, lineTask(), nil, nil)
			var owner api.Owner = n
			if through == "the daemon" {
				owner = served(t, n)
			}
			stored := 0
			for i, c := range []struct {
				what    string
				in      io.Reader
				again   bool
				records int // 0: refused
			}{
				{"a file", strings.NewReader(file), false, 3},
				{"again", strings.NewReader(file), false, 0},
				{"again, as a pipe", pipe{strings.NewReader(file)}, false, 0},
				{"again, as was said", strings.NewReader(file), true, 3},
				{"and once more", pipe{strings.NewReader(file)}, true, 3},
				{"without saying so", strings.NewReader(file), false, 0},
				{"the same with one byte more", strings.NewReader(file + "\n"), false, 0},
				{"the same lines with another end", strings.NewReader(strings.Replace(file, "\n", "\r\n", 1)), false, 3},
				{"one of the lines", pipe{strings.NewReader("a,b,y\n1,0,2\n")}, false, 1},
			} {
				r, err := owner.Import(t.Context(), c.in, api.ImportOptions{Again: c.again})
				refused := c.records == 0 && !c.again
				if r.Records != c.records || (err != nil) != refused {
					t.Errorf("%d, %s: %+v, %v", i, c.what, r, err)
				}
				if refused && (err == nil || !strings.Contains(err.Error(), "imported before") && !errors.Is(err, api.ErrChanged) || !strings.Contains(err.Error(), "again=true")) {
					t.Errorf("%d, %s: %v", i, c.what, err)
				}
				stored += c.records
			}
			for _, id := range []string{"", "a"} {
				_, err := owner.Import(t.Context(), strings.NewReader("a,b,y\n"), api.ImportOptions{ID: id})
				if !errors.Is(err, api.ErrRequest) || !strings.Contains(err.Error(), "there is no record to import") {
					t.Errorf("no lines: %v", err)
				}
			}
			if s := status(t, n); s.Records != stored {
				t.Errorf("%d records are stored, want %d", s.Records, stored)
			}
		})
	}
}

// A file is known only if its records were stored: one that was refused can be imported
// later with other options.
func TestARefusedFileIsNotKnown(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	const bad = "a,b,y\n1,0,2\nx,0,2\n0,1,3\n"
	full := errors.New("full")
	taken := 0
	for _, c := range []struct {
		in   io.Reader
		o    api.ImportOptions
		want error
	}{
		{strings.NewReader(bad), api.ImportOptions{}, api.ErrBadLines},
		{strings.NewReader(bad), api.ImportOptions{SkipBad: true, Room: func() error {
			if taken++; taken > 1 {
				return full
			}
			return nil
		}}, full},
		{io.MultiReader(strings.NewReader(bad), broken{full}), api.ImportOptions{SkipBad: true}, full},
		{strings.NewReader(bad), api.ImportOptions{SkipBad: true}, nil},
		{strings.NewReader(bad), api.ImportOptions{SkipBad: true}, api.ErrImported},
	} {
		if _, err := n.Import(t.Context(), c.in, c.o); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.o, err, c.want)
		}
	}
	if s := status(t, n); s.Records != 2 {
		t.Errorf("%d records are stored, want 2", s.Records)
	}
	// Nor does the name of a file stand for one of which nothing was stored.
	for _, c := range []struct {
		text string
		want error
	}{
		{"a,b,y\n", api.ErrRequest},
		{"a,b,y\nx,0,2\n", nil}, // the line is left out
		{"a,b,y\n1,1,2\n", nil},
		{"a,b,y\n1,1,3\n", api.ErrChanged},
	} {
		if _, err := n.Import(t.Context(), strings.NewReader(c.text), api.ImportOptions{Name: "/in/box.csv", SkipBad: true}); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.text, err, c.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Import(ended, strings.NewReader("a,b,y\n1,1,1\n"), api.ImportOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("called off: %v", err)
	}
}

// A file that begins with one that was imported would store its records twice.
func TestAFileThatHasGrownIsRefused(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	const january, february = "a,b,y\n1,0,2\n0,1,3\n", "1,1,1\n"
	for _, c := range []struct {
		text    string
		o       api.ImportOptions
		want    error
		records int
	}{
		{"a,b,y\n1,0,2\n", api.ImportOptions{}, nil, 1},
		{"a,b,y\n0,0,2\n0,1,2\n0,1,1\n1,0,1", api.ImportOptions{}, nil, 5},
		{"a,b,y\n0,0,2\n0,1,2\n0,1,1\n1,0,1\r\n0,0,0\n", api.ImportOptions{}, api.ErrChanged, 5},
		{january, api.ImportOptions{}, api.ErrChanged, 5},
		{january, api.ImportOptions{Name: "/in/january.csv", SkipBad: true}, api.ErrChanged, 5},
		{january, api.ImportOptions{Again: true}, nil, 7},
		{january, api.ImportOptions{}, api.ErrImported, 7},
		{january + february, api.ImportOptions{}, api.ErrChanged, 7},
		{"a,b,y\n" + february, api.ImportOptions{}, nil, 8},
		{"a,b,y\n" + february + february, api.ImportOptions{}, api.ErrChanged, 8},
		{"a,b,y\n" + february + february, api.ImportOptions{ID: "y"}, nil, 9},
	} {
		_, err := n.Import(t.Context(), strings.NewReader(c.text), c.o)
		if s := status(t, n); !errors.Is(err, c.want) || s.Records != c.records {
			t.Errorf("%q: %v and %d records, want %v and %d", c.text, err, s.Records, c.want, c.records)
		}
	}
	// Without the end of its last line a file's last record may be another one.
	if _, err := n.Import(t.Context(), strings.NewReader("a,b,y\n0,0,2\n0,1,2\n0,1,1\n1,0,1.5\n"), api.ImportOptions{}); err != nil {
		t.Errorf("another last record: %v", err)
	}
	_, err := n.Import(t.Context(), strings.NewReader(january+february), api.ImportOptions{})
	if !strings.Contains(err.Error(), "it begins with all of what was imported on ") || !strings.Contains(err.Error(), ", 1 record from number 1 on;") {
		t.Errorf("%v", err)
	}
}

// broken is a reader that fails.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// While an import waits for its file, everything else continues: the owner asks and
// deletes. A long file arrives complete and in order, also in a running node.
func TestImportKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), nil, nil)
	if err := n.Add(t.Context(), []learner.Record{{X: []float64{1, 0, 1}}}); err != nil {
		t.Fatal(err)
	}
	in, out := io.Pipe()
	imported := make(chan error, 1)
	var report api.ImportReport
	go func() {
		var err error
		report, err = n.Import(t.Context(), in, api.ImportOptions{})
		imported <- err
	}()
	const lines = 30_000
	fmt.Fprint(out, "a,b,y\n")
	for i := range lines {
		fmt.Fprintf(out, "%d,0,%d\n", i%2, i%3)
	}
	if s := status(t, n); s.Records != 1 {
		t.Errorf("%d records before the file has ended, want 1", s.Records)
	}
	if err := n.Delete(t.Context(), []uint64{1}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(out.Close(), <-imported); err != nil || report.Records != lines {
		t.Fatalf("%+v, %v", report, err)
	}
	live := slices.Collect(merged(own(t, n).train.All(), own(t, n).held.All()))
	if len(live) != lines {
		t.Fatalf("%d records", len(live))
	}
	for i, r := range live {
		if int(r.Seq) != i+2 || r.X[0] != float64(i%2) || r.Y != float64(i%3)-n.files.Task.Target.Center {
			t.Fatalf("record %d: %+v", i, r)
		}
	}
}

// trickle is a file that comes slowly: it says that its first part was asked for, and sends
// the rest when it may.
type trickle struct {
	asked, goOn chan struct{}
	rest        io.Reader
}

func (s *trickle) Read(p []byte) (int, error) {
	if s.asked != nil {
		close(s.asked)
		s.asked = nil
		return copy(p, "a,b,y\n1,0,2\n"), nil
	}
	<-s.goOn
	return s.rest.Read(p)
}

// unending is a file that begins with start and never ends.
type unending struct {
	start io.Reader
	read  int
}

func (e *unending) Read(p []byte) (int, error) {
	n, _ := e.start.Read(p) // its error is the end
	if n == 0 {
		clear(p)
		n = len(p)
	}
	if e.read += n; e.read > 1<<20 {
		return n, errors.New("more than a megabyte was read")
	}
	return n, nil
}

// What is no file of records is refused at its start, and does not fill the disk first.
func TestTheStartOfAFileShowsThatItIsNone(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	for start, want := range map[string]string{
		"":             "bytes of 0",
		"a,b,z\n1,1,1": `no column "y"`,
		"a,b,y\n1,1,1": `no column "key"`,
	} {
		_, err := n.Import(t.Context(), &unending{start: strings.NewReader(start)}, api.ImportOptions{ID: "key"})
		if !errors.Is(err, api.ErrRequest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", start, err, want)
		}
	}
}

// soon fails the test if what does not end soon.
func soon(t *testing.T, what string, do func() error) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not end", what)
	}
}

// Who sends a file slowly keeps no others from storing records, and leaves no file behind.
func TestSlowImport(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	asked, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var report api.ImportReport
	go func() (err error) {
		report, err = n.Import(t.Context(), &trickle{asked, goOn, strings.NewReader("0,1,3\n")}, api.ImportOptions{})
		ended <- err
		return err
	}()
	release := sync.OnceFunc(func() { close(goOn) })
	defer release() // for the test that fails
	<-asked
	soon(t, "another import", func() error {
		_, err := n.Put(t.Context(), api.Lines{From: 1, Lines: []string{`{"a": 1, "b": 0, "y": 2}`}})
		return err
	})
	release()
	require.NoError(t, <-ended)
	if s := status(t, n); report.Records != 2 || s.Records != 3 {
		t.Errorf("stored %d of 2 and then %d of 3", report.Records, s.Records)
	}
	left, err := filepath.Glob(filepath.Join(n.dir, datadir.SpoolPrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Where the file that is received cannot be written, the sender's rows are not to blame.
func TestReceivedFileThatCannotBeWritten(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	s, err := n.newSpool()
	require.NoError(t, err)
	require.NoError(t, s.Close())
	err = n.receive(s, strings.NewReader("a,b,y\n0.5,0.25,1\n"), "")
	if !errors.Is(err, fs.ErrClosed) || errors.Is(err, api.ErrRequest) {
		t.Errorf("%v", err)
	}
}
