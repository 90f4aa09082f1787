package storage

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// ledgerModel is the obvious twin of the ledger: everything in memory.
type ledgerModel struct {
	account        *privacy.Account
	entries        []entry // without the opening one
	committed      uint64
	message, state string
	unbounded      bool
}

func (m *ledgerModel) round() (round uint64) {
	for _, e := range m.entries {
		round = max(round, e.round)
	}
	return round
}

func (m *ledgerModel) pay(t *testing.T, round uint64, mech privacy.Mechanism, cohorts []privacy.Cohort) (paid []privacy.Cohort, ok bool) {
	if round <= m.round() {
		return nil, false
	}
	for _, d := range m.account.Admit(mech, cohorts) {
		must(t, m.account.Apply(d))
		m.entries = append(m.entries, entry{kind: entryDebit, round: round, cohort: d.Cohort, cost: d.Cost})
		paid = append(paid, d.Cohort)
	}
	return paid, true
}

func (m *ledgerModel) check(t *testing.T, l *Ledger) {
	t.Helper()
	round, message := l.Outgoing()
	if l.Round() != m.round() || round != m.committed || string(message) != m.message || string(l.State()) != m.state || l.Unbounded() != m.unbounded {
		t.Fatalf("round %d, outgoing %d %q, state %q, unbounded %v; the model says %+v", l.Round(), round, message, l.State(), l.Unbounded(), m)
	}
	want := slices.Clone(m.entries)
	var cohorts []privacy.Cohort
	for _, e := range want {
		if e.kind == entryDebit {
			cohorts = append(cohorts, e.cohort)
		}
	}
	slices.Sort(cohorts)
	var paid []privacy.Cohort
	for _, s := range l.Spending() {
		paid = append(paid, s.Cohort)
		if s.Share != m.account.Spent(s.Cohort) || s.Releases != m.account.Releases(s.Cohort) {
			t.Fatalf("cohort %d has paid %d releases, share %v; want %d, %v", s.Cohort, s.Releases, s.Share, m.account.Releases(s.Cohort), m.account.Spent(s.Cohort))
		}
	}
	if cohorts = slices.Compact(cohorts); !slices.Equal(paid, cohorts) {
		t.Fatalf("cohorts %v have paid, want %v", paid, cohorts)
	}
	if len(want) > 0 {
		want = slices.Insert(want, 0, entry{kind: entryBudget, budget: budget, dimension: dim})
	}
	for i := range want {
		want[i].sequence = uint64(i + 1)
	}
	if entries, err := entriesOf(l); err != nil || !slices.Equal(entries, want) {
		t.Fatalf("entries %v, error %v; want %v", entries, err, want)
	}
}

func TestLedgerMatchesTheModel(t *testing.T) {
	unprotected, err := privacy.NewUnprotected(1)
	must(t, err)
	mechanisms := []privacy.Mechanism{gaussian(t, 3), gaussian(t, 10), gaussian(t, 50), unprotected}
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 5))
		s, l := open(t, newPath(t))
		account, err := privacy.NewAccount(budget, dim)
		must(t, err)
		model := &ledgerModel{account: account}
		for range 80 {
			round := max(model.round()+uint64(r.IntN(4)), 1) - 1
			switch r.IntN(10) {
			case 0:
				s, l = reopen(t, s)
				model.check(t, l)
			case 1:
				ok := round > model.round()
				if err := l.PayUnprotected(round); ok != (err == nil) || !ok && !errors.Is(err, ErrRound) {
					t.Fatalf("seed %d: unprotected round %d: %v", seed, round, err)
				}
				if ok {
					model.unbounded = true
					model.entries = append(model.entries, entry{kind: entryUnprotected, round: round})
				}
			case 2, 3, 4:
				ok := round == model.round() && round > model.committed
				if err := commitRound(l, round); ok != (err == nil) || !ok && !errors.Is(err, ErrRound) {
					t.Fatalf("seed %d: commit %d: %v", seed, round, err)
				}
				if ok {
					model.committed, model.message, model.state = round, string(roundMessage(round)), string(roundState(round))
				}
			case 5:
				model.state = string(roundState(r.Uint64()))
				must(t, l.SaveState([]byte(model.state)))
			default:
				cohorts := []privacy.Cohort{1, 2, 3, 4, 2}[r.IntN(3) : 3+r.IntN(3)]
				mech := mechanisms[r.IntN(len(mechanisms))]
				want, ok := model.pay(t, round, mech, cohorts)
				paid, err := l.Pay(round, mech, cohorts)
				if ok != (err == nil) || !ok && !errors.Is(err, ErrRound) || !slices.Equal(paid, want) {
					t.Fatalf("seed %d: round %d: %v paid, want %v; error %v", seed, round, paid, want, err)
				}
			}
		}
		model.check(t, l)
	}
}

// DESIGN's burned round: paid, not committed, never to be used again.
func TestPaidRoundWithoutCommitIsBurned(t *testing.T) {
	s, l := open(t, newPath(t))
	m := gaussian(t, 10)
	pay(t, l, 1, m, 1)
	must(t, commitRound(l, 1))
	pay(t, l, 2, m, 1)
	spent := spentBy(l, 1)
	_, l = reopen(t, s)
	if round, message := l.Outgoing(); l.Round() != 2 || round != 1 || string(message) != string(roundMessage(1)) || spentBy(l, 1) != spent {
		t.Fatalf("round %d, outgoing %d %q, spent %v; want 2, 1, its message and %v", l.Round(), round, message, spentBy(l, 1), spent)
	}
	if _, err := l.Pay(2, m, []privacy.Cohort{1}); !errors.Is(err, ErrRound) {
		t.Errorf("the burned round was paid again: %v", err)
	}
	pay(t, l, 3, m, 1)
	if err := commitRound(l, 2); !errors.Is(err, ErrRound) {
		t.Errorf("a round paid before the last was committed: %v", err)
	}
	must(t, commitRound(l, 3))
	if err := commitRound(l, 3); !errors.Is(err, ErrRound) {
		t.Errorf("a round was committed twice: %v", err)
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
	if !l.Exhausted(1, m) || spentBy(l, 1) > 1 {
		t.Errorf("exhausted is %v with %v spent", l.Exhausted(1, m), spentBy(l, 1))
	}
	before, err := entriesOf(l)
	must(t, err)
	if paid, err := l.Pay(releases+1, m, []privacy.Cohort{1, 2}); err != nil || paid != nil || l.Round() != releases {
		t.Fatalf("an exhausted ledger let %v pay, round %d, error %v", paid, l.Round(), err)
	}
	if after, err := entriesOf(l); err != nil || len(after) != len(before) {
		t.Errorf("a refused payment left %d entries of %d, error %v", len(after), len(before), err)
	}
	pay(t, l, releases+1, m, 3)
}

func TestLedgerKeepsItsBudget(t *testing.T) {
	path := newPath(t)
	s, err := Open(path)
	must(t, err)
	other := privacy.Budget{Epsilon: 2, Delta: 1e-6}
	_, err = s.OpenLedger(other, dim) // begins nothing: no entry is written
	must(t, err)
	must(t, s.Close())
	s, l := open(t, path)
	if _, err := s.OpenLedger(budget, dim); err == nil {
		t.Error("one store opened two ledgers")
	}
	must(t, l.PayUnprotected(1))
	must(t, s.Close())

	s, err = Open(path)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	for _, b := range []privacy.Budget{other, {Epsilon: 0.5, Delta: 1e-6}, {Epsilon: 1, Delta: 1e-7}} {
		if _, err := s.OpenLedger(b, dim); !errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), "epsilon 1, delta 1e-06") {
			t.Errorf("budget %v: %v, want ErrBudget naming the stored one", b, err)
		}
	}
	if _, err := s.OpenLedger(budget, dim+1); !errors.Is(err, ErrBudget) {
		t.Errorf("another dimension: %v, want ErrBudget", err)
	}
	if _, err := s.OpenLedger(privacy.Budget{}, dim); err == nil {
		t.Error("a budget of nothing was accepted")
	}
	if l, err = s.OpenLedger(budget, dim); err != nil || !l.Unbounded() {
		t.Fatalf("the right budget after wrong ones: %v", err)
	}
}

// Every kind of failed write poisons every later write, and leaves no debit
// that is counted in memory alone.
func TestFailedWritePoisons(t *testing.T) {
	m := gaussian(t, 1000)
	large := make([]byte, 1<<20)
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
			_, err := l.Pay(2, m, cohorts)
			return err
		}},
		{"commit", func(s *Store, l *Ledger) error {
			s.db.MaxSize = 1
			return l.Commit(1, large, nil)
		}},
		{"save state", func(s *Store, l *Ledger) error {
			s.db.MaxSize = 1
			return l.SaveState(large)
		}},
		{"anchor", func(s *Store, l *Ledger) error {
			s.path += "/missing"
			return l.PayUnprotected(2)
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
			_, err := l.Pay(3, m, []privacy.Cohort{1})
			for name, err := range map[string]error{
				"Pay": err, "PayUnprotected": l.PayUnprotected(3), "Commit": commitRound(l, 1), "SaveState": l.SaveState(nil),
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
			pay(t, l, 3, m, 1)
		})
	}
}

// The owner looks and adds records while the door works; a cohort's closing
// asks the ledger. None may wait for another for ever.
func TestConcurrentUse(t *testing.T) {
	s, l := open(t, newPath(t))
	m := gaussian(t, 20)
	const rounds = 30
	var all sync.WaitGroup
	all.Go(func() {
		for round := uint64(1); round <= rounds; round++ {
			paid, err := l.Pay(round, m, []privacy.Cohort{1, 2})
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
			_, err := s.AppendRecords(randomRecords(r, 2), 10, func(c privacy.Cohort) bool { return l.Exhausted(c, m) })
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
