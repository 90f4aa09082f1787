package storage

import (
	"errors"
	"os"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"p2pnode/internal/require"
	"p2pnode/privacy"
)

// Verify reads the disk: it finds what was changed under an open ledger.
func TestVerifyNoticesChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		want   error
		change func(t *testing.T, s *Store, l *Ledger)
	}{
		{"nothing", nil, func(*testing.T, *Store, *Ledger) {}},
		{"no anchor", ErrRolledBack, func(t *testing.T, s *Store, l *Ledger) { require.NoError(t, os.Remove(anchorPath(s.path))) }},
		{"half an anchor", errCut, func(t *testing.T, s *Store, l *Ledger) {
			require.NoError(t, os.Truncate(anchorPath(s.path), anchorSlotSize+3))
		}},
		{"older anchor", ErrDamaged, func(t *testing.T, s *Store, l *Ledger) {
			require.NoError(t, os.WriteFile(anchorPath(s.path), slices.Concat(encodeAnchor(link{}), encodeAnchor(link{})), 0o600))
		}},
		{"newer anchor", ErrRolledBack, func(t *testing.T, s *Store, l *Ledger) {
			require.NoError(t, os.WriteFile(anchorPath(s.path), encodeAnchor(link{sequence: 99}), 0o600))
		}},
		{"an entry gone", ErrDamaged, func(t *testing.T, s *Store, l *Ledger) {
			require.NoError(t, s.update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketLedger).Delete(numberKey(2)) }))
		}},
		{"an entry more", ErrDamaged, func(t *testing.T, s *Store, l *Ledger) {
			require.NoError(t, s.update(func(tx *bbolt.Tx) error {
				_, err := putEntries(tx.Bucket(bucketLedger), l.head, []entry{{kind: entryUnprotected, round: 3}})
				return err
			}))
		}},
		{"another state", ErrDamaged, func(t *testing.T, s *Store, l *Ledger) { l.last.state = []byte("x") }},
		{"after a failed write", ErrPoisoned, func(t *testing.T, s *Store, l *Ledger) { _ = s.fail(errors.New("torn")) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, l := open(t, newPath(t))
			pay(t, l, 1, gaussian(t, 10), 1, 2)
			require.NoError(t, commitRound(l, 1))
			c.change(t, s, l)
			v, err := l.Verify()
			if !errors.Is(err, c.want) || err == nil && v != (Verification{Entries: 3, Round: 1, Anchor: 3, CRC: l.head.sum()}) {
				t.Fatalf("verified %+v: %v, want %v", v, err, c.want)
			}
		})
	}
}

// An anchor that was cut before the start is noticed too, and a payment repairs it.
func TestCutAnchorIsNoticed(t *testing.T) {
	for rounds := range uint64(3) { // so that each slot is the newest once
		s, l := open(t, newPath(t))
		for round := range rounds {
			pay(t, l, round+1, gaussian(t, 10), 1)
		}
		require.NoError(t, s.Close())
		require.NoError(t, os.Truncate(anchorPath(s.path), anchorSlotSize))
		s, l = open(t, s.path)
		if _, err := l.Verify(); !errors.Is(err, errCut) {
			t.Errorf("after %d rounds: %v, want errCut", rounds, err)
		}
		pay(t, l, 9, gaussian(t, 10), 1)
		if _, err := l.Verify(); err != nil {
			t.Errorf("after %d rounds and a payment: %v", rounds, err)
		}
		_, l = reopen(t, s)
		if _, err := l.Verify(); err != nil {
			t.Errorf("after %d rounds, a payment and a start: %v", rounds, err)
		}
	}
}

func TestLinesTellTheLedger(t *testing.T) {
	s, l := open(t, newPath(t))
	if lines, err := l.Lines(); err != nil || len(lines) != 0 {
		t.Fatalf("a new ledger has lines %v, error %v", lines, err)
	}
	m := gaussian(t, 10)
	pay(t, l, 1, m, 2)
	require.NoError(t, unprotect(l, 2))
	require.NoError(t, l.Retire(7))
	pay(t, l, 8, m, 3)
	_, l = reopen(t, s)
	lines, err := l.Lines()
	require.NoError(t, err)
	var crcs []string
	for i := range lines {
		crcs = append(crcs, lines[i].CRC)
		lines[i].CRC = ""
		if lines[i].Terms != nil {
			if want := (LineTerms{budget.Epsilon, budget.Delta, dim, privacy.GaussianFilter, 0, "", "the square of sensitivity over sigma"}); *lines[i].Terms != want {
				t.Errorf("the terms are %+v, want %+v", *lines[i].Terms, want)
			}
			lines[i].Terms = nil
		}
	}
	cost, _ := l.account.Price(m)
	if want := []Line{
		{Sequence: 1, Kind: "opened"},
		{Sequence: 2, Kind: "paid", Round: 1, Cohort: 2, Cost: cost},
		{Sequence: 3, Kind: "unprotected", Round: 2},
		{Sequence: 4, Kind: "retired", Round: 7, Cohort: 2},
		{Sequence: 5, Kind: "paid", Round: 8, Cohort: 3, Cost: cost},
	}; !slices.Equal(lines, want) {
		t.Errorf("lines %+v, want %+v", lines, want)
	}
	slices.Sort(crcs)
	if len(slices.Compact(crcs)) != 5 || len(crcs[0]) != 8 {
		t.Errorf("the CRCs are %v", crcs)
	}
}

// An export says what its costs mean, and names a plan by its hash.
func TestLineTerms(t *testing.T) {
	plan := lineTerms(privacy.Terms{Budget: budget, Dimension: dim, Accounting: privacy.CommittedPlan, Plan: [32]byte{0xab}})
	if plan.Cost != "the number of the step of the plan" || len(plan.Plan) != 64 || plan.Plan[:4] != "ab00" {
		t.Errorf("a plan: %+v", plan)
	}
	for _, a := range []privacy.Accounting{privacy.PureFilter, privacy.RenyiFilter} {
		if l := lineTerms(privacy.Terms{Budget: budget, Accounting: a, Order: 3}); l.Cost == "" || l.Plan != "" || l.Order != 3 {
			t.Errorf("%s: %+v", a, l)
		}
	}
}

// A ledger with other terms keeps all of them.
func TestOtherTermsSurvive(t *testing.T) {
	for _, want := range []privacy.Terms{
		terms,
		{Budget: budget, Dimension: 3, Accounting: privacy.PureFilter},
		{Budget: budget, Dimension: dim, Accounting: privacy.RenyiFilter, Order: 7.5},
		{Budget: budget, Dimension: dim, Accounting: privacy.CommittedPlan, Plan: [32]byte{1, 31: 2}},
	} {
		data, head := encodeEntry(link{}, openingEntry(want))
		e, to, err := decodeEntry(link{}, numberKey(1), data)
		if err != nil || to != head || e.terms != want || (e.kind == entryBudget) != (want == terms) {
			t.Errorf("%+v is read as %+v, error %v", want, e, err)
		}
	}
}
