package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"p2pnode/internal/require"
)

// slow gives one byte every 0.9 s: never at the moment a line is shown.
type slow struct{ io.Reader }

func (s slow) Read(b []byte) (int, error) {
	time.Sleep(900 * time.Millisecond)
	return s.Reader.Read(b[:1])
}

// Short work shows nothing; longer work shows how far it is, and leaves an
// empty line.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name, text    string
		total         int64
		first, latest string // of the lines shown
	}{
		{"short", "x", 1, "", ""},
		{"long", "12345", 5, "read 2 B of 5 B", "read 5 B, storing the records"},
		{"unknown length", "12345", 0, "read 2 B", "read 5 B"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				p := &progress{Reader: slow{strings.NewReader(c.text)}, total: c.total, after: "storing the records", stop: make(chan struct{})}
				p.shown.Go(func() { p.show(&out) })
				got := make([]byte, len(c.text))
				if _, err := io.ReadFull(p, got); err != nil || string(got) != c.text {
					t.Errorf("read %q, %v; want %q", got, err, c.text)
				}
				if len(c.text) > 1 {
					time.Sleep(time.Second) // the records are being stored
				}
				p.done()
				lines := strings.Split(out.String(), clearLine)
				if c.first == "" {
					if out.Len() > 0 {
						t.Errorf("shown: %q, want nothing", &out)
					}
					return
				}
				if lines[1] != c.first || lines[len(lines)-2] != c.latest || lines[len(lines)-1] != "" {
					t.Errorf("lines %q; want from %q to %q, and an empty one", lines, c.first, c.latest)
				}
			})
		})
	}
}

// A file that grows while it is read is taken if its last line has an end.
func TestHalfALine(t *testing.T) {
	for more, want := range map[string]error{"": nil, "3,4\n": nil, "3,4": errHalf, "3,": errHalf} {
		file, err := os.Create(filepath.Join(t.TempDir(), "log.csv"))
		require.NoError(t, err)
		defer file.Close()
		_, err = file.WriteString("a,b\n1,2")
		require.NoError(t, err)
		_, err = file.Seek(0, io.SeekStart)
		require.NoError(t, err)
		p := showProgress(file, io.Discard, "")
		if more != "" {
			_, err = file.WriteAt([]byte("\n"+more), int64(len("a,b\n1,2")))
			require.NoError(t, err)
		}
		if _, err := io.ReadAll(p); err != want {
			t.Errorf("%q more: %v, want %v", more, err, want)
		}
		p.done()
	}
}

// A file, a pipe or the null device is no terminal.
func TestIsTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, stream := range []any{w, file, null, &strings.Builder{}} {
		if isTerminal(stream) {
			t.Errorf("%T is taken for a terminal", stream)
		}
	}
}
