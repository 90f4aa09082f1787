package storage

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/privacy"
)

// DESIGN's burned round: paid, not committed, never to be used again.
func TestPaidRoundWithoutCommitIsBurned(t *testing.T) {
	s, l := open(t, newPath(t))
	m := gaussian(t, 10)
	pay(t, l, 1, m, 1)
	require.NoError(t, commitRound(l, 1))
	pay(t, l, 2, m, 1)
	spent := spentBy(l, 1)
	_, l = reopen(t, s)
	if round, message := l.Outgoing(); l.Round() != 2 || round != 1 || string(message) != string(roundMessage(1)) || spentBy(l, 1) != spent {
		t.Fatalf("round %d, outgoing %d %q, spent %v; want 2, 1, its message and %v", l.Round(), round, message, spentBy(l, 1), spent)
	}
	if _, err := payFor(l, 2, m, []privacy.Cohort{1}); !errors.Is(err, ErrRound) {
		t.Errorf("the burned round was paid again: %v", err)
	}
	pay(t, l, 3, m, 1)
	if err := commitRound(l, 2); !errors.Is(err, ErrRound) {
		t.Errorf("a round paid before the last was committed: %v", err)
	}
	require.NoError(t, commitRound(l, 3))
	if err := commitRound(l, 3); !errors.Is(err, ErrRound) {
		t.Errorf("a round was committed twice: %v", err)
	}
}

// A public round costs nothing but is used: rounds increase strictly over both kinds, and
// a reopened ledger continues above it.
func TestPublicRoundsAreUsedAndFree(t *testing.T) {
	s, l := open(t, newPath(t))
	m := gaussian(t, 10)
	pay(t, l, 1, m, 1)
	require.NoError(t, commitRound(l, 1))
	spent := spentBy(l, 1)
	require.NoError(t, l.CommitPublic(5, roundMessage(5), roundState(5)))
	if err := l.CommitPublic(5, roundMessage(5), nil); !errors.Is(err, ErrRound) {
		t.Errorf("a public round was committed twice: %v", err)
	}
	require.NoError(t, l.SaveState([]byte("later")))
	require.NoError(t, firstError(l.Verify()))
	s, l = reopen(t, s)
	round, message := l.Outgoing()
	if l.Round() != 5 || round != 5 || string(message) != string(roundMessage(5)) || string(l.State()) != "later" || spentBy(l, 1) != spent {
		t.Fatalf("round %d, outgoing %d %q, state %q, spent %v; want 5, 5, its message, later and %v",
			l.Round(), round, message, l.State(), spentBy(l, 1), spent)
	}
	if _, err := payFor(l, 5, m, []privacy.Cohort{1}); !errors.Is(err, ErrRound) {
		t.Errorf("a public round was paid: %v", err)
	}
	pay(t, l, 6, m, 1)
	require.NoError(t, l.CommitPublic(7, roundMessage(7), nil))
	if err := commitRound(l, 6); !errors.Is(err, ErrRound) {
		t.Errorf("a burned round was committed after a public one: %v", err)
	}
	_, l = reopen(t, s)
	require.NoError(t, firstError(l.Verify()))
	if entries, err := entriesOf(l); err != nil || len(entries) != 3 || l.Round() != 7 {
		t.Errorf("%d entries, round %d, error %v; want the opening one and two debits, and 7", len(entries), l.Round(), err)
	}
}

func TestBudgetAdmitsItsReleasesAndNoMore(t *testing.T) {
	const releases = 12
	s, l := open(t, newPath(t))
	m := gaussian(t, releases)
	for round := uint64(1); round <= releases; round++ {
		pay(t, l, round, m, 1, 2)
		if round%5 == 0 {
			s, l = reopen(t, s)
		}
	}
	if !l.Exhausted(1) || spentBy(l, 1) > 1 {
		t.Errorf("exhausted is %v with %v spent", l.Exhausted(1), spentBy(l, 1))
	}
	before, err := entriesOf(l)
	require.NoError(t, err)
	if paid, err := payFor(l, releases+1, m, []privacy.Cohort{1, 2}); err != nil || paid != nil || l.Round() != releases {
		t.Fatalf("an exhausted ledger let %v pay, round %d, error %v", paid, l.Round(), err)
	}
	if after, err := entriesOf(l); err != nil || len(after) != len(before) {
		t.Errorf("a refused payment left %d entries of %d, error %v", len(after), len(before), err)
	}
	pay(t, l, releases+1, m, 3)
}

func TestLedgerKeepsItsTerms(t *testing.T) {
	path := newPath(t)
	s, err := Open(path)
	require.NoError(t, err)
	_, err = s.OpenLedger(policyFor(t, privacy.Budget{Epsilon: 2, Delta: 1e-6}, dim, 12)) // begins nothing: no entry is written
	require.NoError(t, err)
	require.NoError(t, s.Close())
	s, l := open(t, path)
	if _, err := s.OpenLedger(policy(t)); err == nil {
		t.Error("one store opened two ledgers")
	}
	require.NoError(t, unprotect(l, 1))
	require.NoError(t, s.Close())

	s, err = Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	for _, c := range []struct {
		policy privacy.Policy
		text   string
	}{
		{policyFor(t, privacy.Budget{Epsilon: 2, Delta: 1e-7}, dim, 12), "its epsilon is 1 and now it is 2"},
		{policyFor(t, privacy.Budget{Epsilon: 1, Delta: 1e-7}, dim, 12), "its delta is 1e-06 and now it is 1e-07"},
		{policyFor(t, budget, dim+1, 12), "its dimension is 8 and now it is 9"},
	} {
		if _, err := s.OpenLedger(c.policy); !errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v, want ErrBudget and %q", c.policy.Terms, err, c.text)
		}
	}
	if _, err := s.OpenLedger(privacy.Policy{}); err == nil {
		t.Error("a policy of no terms was accepted")
	}
	if l, err = s.OpenLedger(policyFor(t, budget, dim, 50)); err != nil || !l.Unbounded() {
		t.Fatalf("the same terms, after others: %v", err)
	}
}

func TestTermsThatDifferAreNamed(t *testing.T) {
	for _, c := range []struct {
		text   string
		change func(t *privacy.Terms)
	}{
		{"", func(t *privacy.Terms) {}},
		{"epsilon is 1", func(t *privacy.Terms) { t.Budget.Epsilon, t.Dimension = 3, 9 }},
		{"delta", func(t *privacy.Terms) { t.Budget.Delta = 1e-5 }},
		{"dimension", func(t *privacy.Terms) { t.Dimension = 9 }},
		{"accounting is gdp and now it is renyi", func(t *privacy.Terms) { t.Accounting, t.Order = privacy.RenyiFilter, 4 }},
		{"Renyi order", func(t *privacy.Terms) { t.Order = 4 }},
		{"committed schedule is 00000000 and now it is 01000000", func(t *privacy.Terms) { t.Plan[0] = 1 }},
		{"committed schedule is another", func(t *privacy.Terms) { t.Plan[31] = 1 }},
	} {
		now := terms
		c.change(&now)
		err := checkTerms(terms, now)
		if errors.Is(err, ErrBudget) != (c.text != "") || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v, want %q", now, err, c.text)
		}
	}
}

// Every kind of failed write poisons every later write, and leaves no debit that is
// counted only in memory.
func TestFailedWritePoisons(t *testing.T) {
	m := gaussian(t, 1000)
	large := make([]byte, 1<<20)
	many := randomRecords(rand.New(rand.NewPCG(1, 25)), 5000)
	for _, c := range []struct {
		name string
		fail func(s *Store, l *Ledger) error
	}{
		{"pay", func(s *Store, l *Ledger) error {
			s.db.MaxSize = 1 // the file cannot grow: the commit fails
			cohorts := make([]privacy.Cohort, 2000)
			for i := range cohorts {
				cohorts[i] = privacy.Cohort(i + 1)
			}
			_, err := payFor(l, 2, m, cohorts)
			return err
		}},
		{"commit", func(s *Store, l *Ledger) error {
			s.db.MaxSize = 1
			return l.Commit(1, large, nil)
		}},
		{"public", func(s *Store, l *Ledger) error {
			s.db.MaxSize = 1
			return l.CommitPublic(2, large, nil)
		}},
		{"save state", func(s *Store, l *Ledger) error {
			s.db.MaxSize = 1
			return l.SaveState(large)
		}},
		{"records", func(s *Store, l *Ledger) error {
			s.db.MaxSize = 1
			return firstError(s.AppendRecords(many, full(100), today))
		}},
		{"edge", func(s *Store, l *Ledger) error {
			s.db.MaxSize = 1
			return s.SaveEdges(nil, Edge{Peer: "a", Weight: 1, Addrs: []string{strings.Repeat("a", 1<<20)}})
		}},
		{"deletion", func(s *Store, l *Ledger) error { // of the bytes: the slot is marked
			require.NoError(t, firstError(s.AppendRecords(many[:1], full(100), today)))
			file := s.file
			defer func() { s.file = file }()
			closed, err := os.Open(s.path)
			require.NoError(t, errors.Join(err, closed.Close()))
			s.file = closed
			return s.DeleteRecord(1)
		}},
		{"retire", func(s *Store, l *Ledger) error {
			s.path += "/missing"
			return l.Retire(2)
		}},
		{"anchor", func(s *Store, l *Ledger) error {
			s.path += "/missing"
			return unprotect(l, 2)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, l := open(t, newPath(t))
			path := s.path
			pay(t, l, 1, m, 1)
			spent := spentBy(l, 1)
			if err := c.fail(s, l); !errors.Is(err, ErrPoisoned) {
				t.Fatalf("the failed write: %v, want ErrPoisoned", err)
			}
			s.path, s.db.MaxSize = path, 0
			_, err := payFor(l, 3, m, []privacy.Cohort{1})
			for name, err := range map[string]error{
				"pay": err, "ReleaseUnprotected": unprotect(l, 3), "Commit": commitRound(l, 1), "CommitPublic": l.CommitPublic(3, nil, nil), "SaveState": l.SaveState(nil),
				"Retire": l.Retire(3), "Contradict": l.Contradict(9), "Verify": firstError(l.Verify()), "SaveEdges": s.SaveEdges(nil, Edge{Peer: "a", Weight: 1}),
				"AppendRecords": firstError(s.AppendRecords(many[:1], full(10), today)), "DeleteRecord": s.DeleteRecord(1),
			} {
				if !errors.Is(err, ErrPoisoned) {
					t.Errorf("%s: %v, want ErrPoisoned", name, err)
				}
			}
			if spentBy(l, 1) != spent || l.Round() != 1 {
				t.Errorf("spent %v, round %d after the failure; want %v and 1", spentBy(l, 1), l.Round(), spent)
			}
			_, l = reopen(t, s)
			if spentBy(l, 1) < spent || l.Round() < 1 {
				t.Errorf("spent %v, round %d after reopening; want at least %v and 1", spentBy(l, 1), l.Round(), spent)
			}
			pay(t, l, 3, m, 2)
			require.NoError(t, firstError(l.Verify()))
		})
	}
}

// A later refusal says what went wrong first, and if the disk is full it says what to do.
func TestFailedWriteSaysWhy(t *testing.T) {
	for cause, want := range map[error]string{
		&os.PathError{Op: "write", Path: "node.db", Err: syscall.ENOSPC}: "the disk is full: free space, then start again; what was stored is there (storage: a write failed",
		fmt.Errorf("file resize error: %s", syscall.ENOSPC):              "the disk is full: free space",
		errors.New("input/output error"):                                 "input/output error",
	} {
		s, l := open(t, newPath(t))
		require.NoError(t, s.Failure())
		first := s.write(func() error { return cause })
		<-s.Failed()
		for _, err := range []error{first, unprotect(l, 1), firstError(l.Verify()), s.PutMeta("a", "b"), s.Failure()} {
			if !errors.Is(err, ErrPoisoned) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
	}
}

// A refusal is not a failed write.
func TestRefusalsDoNotPoison(t *testing.T) {
	s, l := open(t, newPath(t))
	pay(t, l, 1, gaussian(t, 10), 1)
	for name, err := range map[string]error{
		"a deletion of nothing": s.DeleteRecord(7),
		"an edge to nobody":     s.SaveEdges(nil, Edge{Weight: 1}),
		"an old round":          unprotect(l, 1),
		"an unpaid round":       commitRound(l, 2),
		"an old public round":   l.CommitPublic(1, nil, nil),
	} {
		if err == nil || errors.Is(err, ErrPoisoned) {
			t.Errorf("%s: %v", name, err)
		}
	}
	pay(t, l, 2, gaussian(t, 10), 1)
}

// A release that has no answer costs nothing, and its round can still be used.
func TestImpossibleReleasesAreFree(t *testing.T) {
	s, l := open(t, newPath(t))
	m, other := gaussian(t, 10), gaussian(t, 5)
	plain, err := privacy.NewUnprotected(1)
	require.NoError(t, err)
	for what, sums := range map[string]func(m privacy.Mechanism) []privacy.Sum{
		"a cohort that comes twice":  func(m privacy.Mechanism) []privacy.Sum { return []privacy.Sum{m.NewSum(1, dim), m.NewSum(1, dim)} },
		"a sum of another mechanism": func(m privacy.Mechanism) []privacy.Sum { return []privacy.Sum{m.NewSum(1, dim), other.NewSum(2, dim)} },
		"sums of two dimensions":     func(m privacy.Mechanism) []privacy.Sum { return []privacy.Sum{m.NewSum(1, dim), m.NewSum(2, dim-1)} },
	} {
		for name, err := range map[string]error{
			"Release":            firstError(l.Release(1, m, sums(m))),
			"ReleaseUnprotected": firstError(l.ReleaseUnprotected(1, plain, sums(plain))),
		} {
			if err == nil || errors.Is(err, ErrPoisoned) || !strings.Contains(err.Error(), "nothing was paid") {
				t.Errorf("%s of %s: %v", name, what, err)
			}
		}
	}
	if entries, err := entriesOf(l); err != nil || len(entries) != 0 || l.Round() != 0 || spentBy(l, 1) != 0 {
		t.Errorf("%d entries, round %d, %v spent, error %v; want nothing", len(entries), l.Round(), spentBy(l, 1), err)
	}
	for round, release := range []func(uint64) (privacy.Answer, error){
		func(round uint64) (privacy.Answer, error) {
			return l.Release(round, m, []privacy.Sum{m.NewSum(1, dim), m.NewSum(2, dim)})
		},
		func(round uint64) (privacy.Answer, error) {
			return l.ReleaseUnprotected(round, plain, []privacy.Sum{plain.NewSum(1, dim)})
		},
	} {
		if a, err := release(uint64(round + 1)); err != nil || len(a.Sum) != dim {
			t.Errorf("round %d: %+v, %v", round+1, a, err)
		}
	}
	_, l = reopen(t, s)
	require.NoError(t, firstError(l.Verify()))
}

// A cohort for which a release has no room pays nothing, and takes part in the next one.
func TestReleasePaysForWhatItHolds(t *testing.T) {
	_, l := open(t, newPath(t))
	m := gaussian(t, 10)
	sums := []privacy.Sum{m.NewSum(1, dim), m.NewSum(2, dim), m.NewSum(3, dim)}
	for i, slots := range []int{privacy.MaxSlots, 1, 0} {
		for range slots {
			sums[i].Add(make([]float64, dim))
		}
	}
	a, err := l.Release(1, m, sums)
	if err != nil || !slices.Equal(a.Cohorts, []privacy.Cohort{1, 3}) || spentBy(l, 1) == 0 || spentBy(l, 2) != 0 || spentBy(l, 3) == 0 {
		t.Errorf("cohorts %v, %v; they have spent %v, %v and %v", a.Cohorts, err, spentBy(l, 1), spentBy(l, 2), spentBy(l, 3))
	}
	if a, err = l.Release(2, m, sums[1:2]); err != nil || !slices.Equal(a.Cohorts, []privacy.Cohort{2}) {
		t.Errorf("the next release is of cohorts %v, %v", a.Cohorts, err)
	}
}

// A release of nothing writes nothing and leaves the round to another, with a guarantee or
// without.
func TestReleasesOfNothingUseNoRound(t *testing.T) {
	s, l := open(t, newPath(t))
	require.NoError(t, unprotect(l, 1))
	for range 2 {
		for name, release := range map[string]func(uint64, privacy.Mechanism, []privacy.Sum) (privacy.Answer, error){
			"Release": l.Release, "ReleaseUnprotected": l.ReleaseUnprotected,
		} {
			if a, err := release(2, gaussian(t, 10), nil); err != nil || !a.Exhausted() {
				t.Errorf("%s: %+v, %v", name, a, err)
			}
			if _, err := release(1, gaussian(t, 10), nil); !errors.Is(err, ErrRound) {
				t.Errorf("%s of an old round: %v, want ErrRound", name, err)
			}
		}
		if entries, err := entriesOf(l); err != nil || len(entries) != 2 || l.Round() != 1 || l.Unprotected() != 1 {
			t.Errorf("%d entries, round %d, %d without a guarantee, %v; want 2, 1 and 1", len(entries), l.Round(), l.Unprotected(), err)
		}
		s, l = reopen(t, s)
	}
	pay(t, l, 2, gaussian(t, 10), 1)
}

// The highest number is no round, because none could follow.
func TestHighestRoundIsNotUsed(t *testing.T) {
	_, l := open(t, newPath(t))
	m := gaussian(t, 10)
	for name, err := range map[string]error{
		"Release":            firstError(l.Release(math.MaxUint64, m, []privacy.Sum{m.NewSum(1, dim)})),
		"ReleaseUnprotected": unprotect(l, math.MaxUint64),
		"CommitPublic":       l.CommitPublic(math.MaxUint64, nil, nil),
	} {
		if !errors.Is(err, ErrRound) {
			t.Errorf("%s: %v, want ErrRound", name, err)
		}
	}
	if spentBy(l, 1) != 0 || l.Round() != 0 {
		t.Errorf("%v spent, round %d", spentBy(l, 1), l.Round())
	}
	pay(t, l, math.MaxUint64-1, m, 1)
}

// The owner looks and adds records while the door works, and the closing of a cohort asks
// the ledger. None of them may wait for another for ever.
func TestConcurrentUse(t *testing.T) {
	s, l := open(t, newPath(t))
	m := gaussian(t, 20)
	const rounds = 30
	var all sync.WaitGroup
	all.Go(func() {
		for round := uint64(1); round <= rounds; round++ {
			paid, err := payFor(l, round, m, []privacy.Cohort{1, 2})
			if err != nil {
				t.Error(err)
			}
			if paid == nil {
				return
			}
			if err := commitRound(l, round); err != nil {
				t.Error(err)
			}
		}
	})
	all.Go(func() {
		r := rand.New(rand.NewPCG(1, 6))
		for range rounds {
			_, err := s.AppendRecords(randomRecords(r, 2), Intake{Admit: task().Admit, Size: 10, Closed: l.Exhausted}, today)
			if err != nil {
				t.Error(err)
			}
		}
	})
	all.Go(func() {
		last := 0.0
		for range rounds {
			entries, err := entriesOf(l)
			if spent := spentBy(l, 1); err != nil || spent < last || len(entries) > 0 && entries[0].kind != entryBudget {
				t.Errorf("spent fell from %v to %v, error %v", last, spent, err)
			} else {
				last = spent
			}
			l.Outgoing()
			l.Spending()
		}
	})
	all.Wait()
	live, _, err := s.Records()
	if err != nil || len(live) != 2*rounds || live[len(live)-1].Seq != learner.Seq(2*rounds) {
		t.Errorf("%d records are stored, error %v; want %d", len(live), err, 2*rounds)
	}
}

// The owner gets an answer while a write waits for the disk: what was on disk before.
func TestWhatIsToldDoesNotWaitForTheDisk(t *testing.T) {
	s, l := open(t, newPath(t))
	m := gaussian(t, 10)
	pay(t, l, 1, m, 1)
	require.NoError(t, commitRound(l, 1))
	spent := spentBy(l, 1)
	s.writing.Lock() // as a write does for as long as the disk takes
	paid := make(chan error, 1)
	go func() {
		_, err := payFor(l, 2, m, []privacy.Cohort{1})
		paid <- err
	}()
	require.Eventually(t, "the payment waits", func() bool {
		if l.turn.TryLock() {
			l.turn.Unlock()
			return false
		}
		return true
	})
	told := make(chan bool)
	go func() {
		round, _ := l.Outgoing()
		upload, err := l.Upload(SumID{1})
		left, _ := l.Left(1)
		told <- l.Round() == 1 && round == 1 && string(l.State()) == string(roundState(1)) && spentBy(l, 1) == spent && left > 0 && l.Position() == 1 &&
			l.Retired() == 0 && l.Contradicted() == 0 && !l.ForeignSum() && l.Unprotected() == 0 && !l.Exhausted(1) && len(l.Contributions()) == 0 && upload == nil && err == nil
	}()
	select {
	case sound := <-told:
		if !sound {
			t.Error("what is told is not what was on disk before")
		}
	case <-time.After(time.Minute):
		t.Error("the owner waits for the disk")
	}
	s.writing.Unlock()
	require.NoError(t, <-paid)
	if l.Round() != 2 || !(spentBy(l, 1) > spent) {
		t.Errorf("round %d, spent %v after the disk was slow, and %v before", l.Round(), spentBy(l, 1), spent)
	}
}

// While somebody waits for the bytes of a contribution, because a deletion waits for a
// backup, the owner gets an answer and the node pays on.
func TestWhatIsToldDoesNotWaitForUploads(t *testing.T) {
	s, l := open(t, newPath(t))
	c := contributionOf(1, bounded(t, 10), 1)
	want, err := contribute(l, c)
	require.NoError(t, err)
	s.reading.Lock() // as a deletion does when it overwrites what is free
	type answer struct {
		upload []byte
		err    error
	}
	uploads := make(chan answer)
	go func() {
		upload, err := l.Upload(c.Sum)
		uploads <- answer{upload, err}
	}()
	require.Eventually(t, "the upload waits", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return slices.ContainsFunc(bytes.Split(stacks, []byte("\n\n")), func(of []byte) bool {
			return bytes.Contains(of, []byte("(*Ledger).Upload(")) && bytes.Contains(of, []byte("(*RWMutex).RLock("))
		})
	})
	done := make(chan error)
	go func() {
		_, err := payFor(l, 1, gaussian(t, 10), []privacy.Cohort{2})
		l.Round()
		done <- err
	}()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Error("the ledger waits for an upload")
	}
	s.reading.Unlock()
	if got := <-uploads; got.err != nil || !bytes.Equal(got.upload, want) {
		t.Errorf("uploaded %q, %v", got.upload, got.err)
	}
}
