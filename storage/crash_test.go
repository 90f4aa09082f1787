package storage

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/privacy"
)

// crashVariable names the store of a child process that works until it is
// killed.
const crashVariable = "P2PNODE_STORAGE_CRASH"

// crashReleases is large: cohorts 1 and 2 must not run out during the test.
const crashReleases = 50_000

// crashChild appends, pays and commits for ever, and after each call prints what the call
// promised, in one line.
func crashChild(path string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	s, err := Open(path)
	fail(err)
	p, err := privacy.Design{Budget: budget, Dimension: dim, Clip: 1, Releases: crashReleases}.Policy()
	fail(err)
	l, err := s.OpenLedger(p)
	fail(err)
	m, _ := p.Next(0)
	vector, err := m.Bounded(2, dim)
	fail(err)
	for round := l.Round() + 1; ; round++ {
		stored, err := s.AppendRecords([]learner.Record{{X: make([]float64, dim), Y: 1}}, full(50), today)
		fail(err)
		fmt.Println("record", stored[0].Seq)
		if round%5 == 0 {
			fail(s.Compact())
		}
		if round%2 == 0 { // every other round is public
			fail(l.CommitPublic(round, roundMessage(round), roundState(round)))
			fmt.Println("public", round)
			continue
		}
		_, err = payFor(l, round, m, []privacy.Cohort{1, 2})
		fail(err)
		fmt.Println("paid", round, math.Float64bits(spentBy(l, 1)))
		fail(commitRound(l, round))
		fmt.Println("committed", round)
		upload, err := l.Contribute(contributionOf(round, vector, 1, 2), func([]privacy.Cohort) ([]byte, error) {
			fmt.Println("debited", round)
			return uploadOf(round), nil
		})
		if err != nil && !errors.Is(err, ErrBurned) { // by the kill before
			fail(err)
		}
		if err == nil && bytes.Equal(upload, uploadOf(round)) {
			fmt.Println("uploaded", round)
		}
	}
}

// promise is what a child printed before it died.
type promise struct {
	record, paid, committed uint64
	debited, uploaded       uint64 // sums
	spent                   float64
}

func (p *promise) hear(t *testing.T, line string) {
	t.Helper()
	fields := strings.Fields(line)
	number, err := strconv.ParseUint(fields[1], 10, 64)
	require.NoError(t, err)
	switch fields[0] {
	case "record":
		p.record = number
	case "paid":
		bits, err := strconv.ParseUint(fields[2], 10, 64)
		require.NoError(t, err)
		p.paid, p.spent = number, math.Float64frombits(bits)
	case "committed":
		p.committed = number
	case "debited":
		p.debited = number
	case "uploaded":
		p.uploaded = number
	case "public":
		p.paid, p.committed = number, number
	default:
		t.Fatalf("the child said %q", line)
	}
}

// killChild runs a child on the store, kills it after the given time counted
// from its first line (or from its start, so that opening is hit too), and adds
// what it said to p.
func killChild(t *testing.T, path string, p *promise, after time.Duration, opening bool) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashVariable+"="+path)
	var complaint bytes.Buffer
	child.Stderr = &complaint
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	kill := func() { child.Process.Kill() } // SIGKILL; a second one does nothing
	if opening {
		time.AfterFunc(after, kill)
	}
	lines := bufio.NewReader(out)
	for first := true; ; first = false {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a torn last line was never promised whole
		}
		if first && !opening {
			time.AfterFunc(after, kill)
		}
		p.hear(t, line)
	}
	child.Wait()
	if complaint.Len() > 0 {
		t.Fatalf("the child failed: %s", complaint.String())
	}
}

// A process killed at any instruction loses nothing it was promised, pays for
// everything it may have released, and leaves a file that verifies.
func TestKillLosesNothing(t *testing.T) {
	t.Parallel()
	const kills = 40
	r := rand.New(rand.NewPCG(1, 7))
	path := newPath(t)
	var p promise
	var burned, unheard, burnedSums, compacting int
	for i := range kills {
		killChild(t, path, &p, time.Duration(r.Int64N(int64(40*time.Millisecond))), i%5 == 4)
		if exists(path + ".compacting") {
			compacting++
		}
		s, l := open(t, path)
		found := checkPromise(t, s, l, p)
		if found.paid > found.committed {
			burned++
		}
		if found.paid > p.paid {
			unheard++
		}
		if found.debited > found.uploaded {
			burnedSums++
		}
		p = found
		require.NoError(t, s.Close())
	}
	if p.committed == 0 || p.uploaded == 0 {
		t.Fatal("no child lived long enough to commit")
	}
	if exists(path + ".compacting") {
		t.Error("a copy that was not finished is still there")
	}
	t.Logf("%d kills, %d rounds; killed between pay and commit: %d, between the debit and its report: %d, while compacting: %d; burned sums: %d",
		kills, p.paid, burned, unheard, compacting, burnedSums)
}

// checkPromise compares the store with what the child said, and returns what
// the store holds.
func checkPromise(t *testing.T, s *Store, l *Ledger, p promise) promise {
	t.Helper()
	// One call may have reached the disk without being reported.
	if l.Round() < p.paid || l.Round() > p.paid+1 || spentBy(l, 1) < p.spent || spentBy(l, 2) < p.spent {
		t.Fatalf("round %d, spent %v; the child was promised %d and %v", l.Round(), spentBy(l, 1), p.paid, p.spent)
	}
	round, message := l.Outgoing()
	if round < p.committed || round > l.Round() {
		t.Fatalf("round %d is outgoing of %d paid; the child was promised %d", round, l.Round(), p.committed)
	}
	if round > 0 && (!bytes.Equal(message, roundMessage(round)) || !bytes.Equal(l.State(), roundState(round))) {
		t.Fatalf("round %d is stored as %q, %q", round, message, l.State())
	}
	live, _, err := s.Records()
	if n := uint64(len(live)); err != nil || n < p.record || n > p.record+1 {
		t.Fatalf("%d records, error %v; the child was promised %d", n, err, p.record)
	}
	entries, err := entriesOf(l)
	require.NoError(t, err)
	for _, c := range []privacy.Cohort{1, 2} {
		paid := slices.Collect(func(yield func(uint64) bool) {
			for _, e := range entries {
				if e.cohort == c && e.kind == entryDebit && !yield(e.round) {
					return
				}
			}
		})
		for i, round := range paid { // the odd rounds go up: none is missing
			if round != uint64(2*i+1) {
				t.Fatalf("cohort %d paid for rounds %v", c, paid)
			}
		}
		if uint64(len(paid)) != (l.Round()+1)/2 {
			t.Fatalf("cohort %d paid %d times for %d rounds", c, len(paid), l.Round())
		}
	}
	debited, uploaded := checkUploads(t, l, p)
	return promise{record: uint64(len(live)), paid: l.Round(), committed: round, spent: spentBy(l, 1), debited: debited, uploaded: uploaded}
}

// checkUploads looks for a sum whose shares were made and that was not paid for, and for
// a sum whose bytes could have been sent and are missing. It returns the newest of each.
func checkUploads(t *testing.T, l *Ledger, p promise) (debited, uploaded uint64) {
	t.Helper()
	for _, c := range l.Contributions() {
		n := binary.BigEndian.Uint64(c.Sum[:])
		debited = max(debited, n)
		upload, err := l.Upload(c.Sum)
		if err != nil || c.Kept && !bytes.Equal(upload, uploadOf(n)) || !slices.Equal(c.Cohorts, []privacy.Cohort{1, 2}) {
			t.Fatalf("sum %d: %+v, error %v", n, c, err)
		}
		if c.Kept {
			uploaded = max(uploaded, n)
		}
	}
	if debited < p.debited || uploaded < p.uploaded {
		t.Fatalf("sums up to %d are paid and up to %d are kept; the child was promised %d and %d", debited, uploaded, p.debited, p.uploaded)
	}
	return debited, uploaded
}
