package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// A daemon whose clock is ten years ahead when it starts, or that of a machine that was
// never set, deletes nothing by age, neither then nor when the clock is set, and says what
// is wrong.
func TestLabClockThatIsWrongAtTheStart(t *testing.T) {
	nightly(t)
	dir := emptyNode(t)
	cli(t, nil, "config", "set", "keep_days=2", "--dir", dir)
	file := filepath.Join(t.TempDir(), "a.csv")
	stored := func(d *daemon, text string, want int) {
		t.Helper()
		writeFile(t, file, watchHeader+text)
		cli(t, nil, "data", "import", "--again", file, "--dir", dir)
		if s := d.status(t); s.Records != want {
			t.Fatalf("%d records are left of %d", s.Records, want)
		}
	}
	d := start(t, dir)
	stored(d, "1,Drama,1990,4\n", 1)
	d.interrupt(t, os.Interrupt)
	records := 1
	for _, c := range []struct {
		year int
		says string
	}{
		{time.Now().Year() + 10, ": set it if it is wrong; records that are older than keep_days"},
		{1970, "this machine's clock is about "},
	} {
		s := under(t, exec.Command("p2pnode", "run", "--json", "--dir", dir))
		s.SetAhead(time.Until(time.Date(c.year, time.January, 2, 0, 0, 0, 0, time.UTC)))
		d := s.start(t, dir)
		stored(d, "2,Drama,1991,4\n", records+1)
		s.SetAhead(0)
		stored(d, "3,Drama,1992,4\n", records+2)
		records += 2
		d.interrupt(t, os.Interrupt)
		require.NoError(t, <-s.ended)
		if log := d.log.String(); !strings.Contains(log, c.says) {
			t.Errorf("in %d it does not say %q:\n%s", c.year, c.says, log)
		}
	}
}
