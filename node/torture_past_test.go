//go:build linux && amd64

package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/node/datadir"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// holds is a directory in which cohort 1 has paid for the rounds given.
func holds(stored uint64, message string, rounds ...uint64) holding {
	h := holding{stored: stored, message: message, debits: make(map[uint64][]privacy.Debit)}
	for _, r := range rounds {
		h.round = max(h.round, r)
		h.debits[r] = append(h.debits[r], privacy.Debit{Cohort: 1, Cost: 1})
	}
	n := len(rounds)
	h.spending = []storage.Spending{{Cohort: 1, Releases: n, Share: float64(n) / 10}}
	return h
}

func says(lines ...string) []saying {
	all, err := parseSayings(strings.Join(append(lines, ""), "\n"))
	if err != nil {
		panic(err)
	}
	return all
}

// Each rule of the verifier, broken by hand. In the directory round 1 was
// published, round 2 was burned, and round 3 is stored.
func TestTortureVerifier(t *testing.T) {
	for _, c := range []struct {
		what  string
		lines []saying
		said  int
		then  holding
		want  string // part of the error; "" is none
	}{
		{"nothing happens", says(), -1, holds(3, "c", 1, 2, 3), ""},
		{"a whole release", says("sent 3 c", "drawn 4", "sent 4 d", "done"), -1, holds(4, "d", 1, 2, 3, 4), ""},
		{"a round is burned", says("sent 3 c", "drawn 4"), -1, holds(3, "c", 1, 2, 3, 4), ""},
		{"it stops after an error", says("sent 3 c", "failed x", "refused"), 1, holds(3, "c", 1, 2, 3, 4), ""},
		{"other bytes", says("sent 3 d"), -1, holds(3, "c", 1, 2, 3), "two different releases"},
		{"an older round again", says("sent 3 c", "sent 1 a"), -1, holds(3, "c", 1, 2, 3), "published after round 3"},
		{"a burned round", says("sent 2 b"), -1, holds(3, "c", 1, 2, 3), "burned round 2 is published"},
		{"noise drawn again", says("drawn 3"), -1, holds(3, "c", 1, 2, 3), "drawn twice"},
		{"it goes on", says("sent 3 c", "drawn 4"), 1, holds(3, "c", 1, 2, 3, 4), "drawn after an error"},
		{"drawn and unpaid", says("drawn 4"), -1, holds(3, "c", 1, 2, 3), "not paid"},
		{"published and unpaid", says("sent 4 d"), -1, holds(3, "c", 1, 2, 3), "published and not paid"},
		{"published and not stored", says("drawn 4", "sent 4 d"), -1, holds(3, "c", 1, 2, 3, 4), "published and not stored"},
		{"stored with other bytes", says("drawn 4", "sent 4 d"), -1, holds(4, "e", 1, 2, 3, 4), "other bytes than are stored"},
		{"paid twice", says("drawn 4"), -1, holds(3, "c", 1, 2, 3, 4, 4), "paid twice"},
		{"budget falls", says(), -1, holds(3, "c", 1, 3), "now less"},
		{"rounds fall", says(), -1, holds(1, "a", 1, 2), "round 2 and stored round 1 after 3 and 3"},
	} {
		t.Run(c.what, func(t *testing.T) {
			p := newPast()
			err := p.hear(says("drawn 1", "sent 1 a", "drawn 2"), -1)
			if err == nil {
				err = p.compare(holds(1, "a", 1, 2))
			}
			if err == nil {
				err = p.hear(says("sent 1 a", "drawn 3", "sent 3 c"), -1)
			}
			if err == nil {
				err = p.compare(holds(3, "c", 1, 2, 3))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err = p.hear(c.lines, c.said); err == nil {
				err = p.compare(c.then)
			}
			if (err == nil) != (c.want == "") || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// The injector does what it says, seen on the file that the first write makes.
func TestTortureInjector(t *testing.T) {
	t.Parallel()
	const whole = 4 * 4096 // bbolt's first write
	for _, c := range []struct {
		action      action
		after       int
		least, most int64 // size of the file, -1 without one
		how         string
	}{
		{killBefore, 0, -1, -1, "killed"}, // the file is made
		{killAfter, 0, 0, 0, "killed"},
		{killBefore, 1, 0, 0, "killed"}, // and written
		{killAfter, 1, whole, whole, "killed"},
		{tornKill, 0, 1, whole - 1, "killed"},
		{tornFull, 0, 1, whole - 1, "did not start"},
		{noSpace, 1, 0, 0, "did not start"},
		{ioErrorLate, 0, whole, whole, "did not start"},
		{powerCut, 0, 0, whole - 1, "killed"},
	} {
		t.Run(fmt.Sprint(c.action, c.after), func(t *testing.T) {
			chain := &chain{base: t.TempDir()}
			if err := chain.renew(); err != nil {
				t.Fatal(err)
			}
			i := newInjector(fault{action: c.action, after: c.after})
			text, status, err := runChild(i, chain.dir, "")
			needPtrace(t, err)
			all, err := parseSayings(text)
			if err != nil {
				t.Fatal(err)
			}
			if how, err := ending(all, status, i); err != nil || how != c.how {
				t.Errorf("the child: %s, %v; want %s", how, err, c.how)
			}
			size := int64(-1)
			if info, err := os.Stat(filepath.Join(chain.dir, datadir.StoreFile)); err == nil {
				size = info.Size()
			}
			if size < c.least || size > c.most {
				t.Errorf("the file has %d bytes, want %d to %d", size, c.least, c.most)
			}
		})
	}
}
