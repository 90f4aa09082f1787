package storage

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/privacy"
)

// ledgerModel is the obvious twin of the ledger: everything in memory.
type ledgerModel struct {
	account        *privacy.Account
	entries        []entry // without the opening one
	committed      uint64
	public         uint64 // newest public round
	message, state string
	records        privacy.Cohort // the cohort of the newest record
}

func (m *ledgerModel) round() (round uint64) {
	round = m.public
	for _, e := range m.entries {
		round = max(round, e.round)
	}
	return round
}

func (m *ledgerModel) count(kind entryKind) (n int) {
	for _, e := range m.entries {
		if e.kind == kind {
			n++
		}
	}
	return n
}

// payable is the round that may be committed.
func (m *ledgerModel) payable() uint64 {
	for _, e := range slices.Backward(m.entries) {
		if !e.kind.sum() {
			if e.kind == entryRetire {
				return 0
			}
			return e.round
		}
	}
	return 0
}

func (m *ledgerModel) retire(round uint64) {
	last := m.records
	for _, e := range m.entries {
		last = max(last, e.cohort)
	}
	m.account.Retire(last)
	m.entries = append(m.entries, entry{kind: entryRetire, round: max(round, m.round()), cohort: last})
}

func (m *ledgerModel) retired() (last privacy.Cohort) {
	for _, e := range m.entries {
		if e.kind == entryRetire {
			last = e.cohort
		}
	}
	return last
}

func (m *ledgerModel) pay(t *testing.T, round uint64, mech privacy.Mechanism, cohorts []privacy.Cohort) (paid []privacy.Cohort, ok bool) {
	if round <= m.round() {
		return nil, false
	}
	for _, d := range m.account.Admit(mech, cohorts) {
		require.NoError(t, m.account.Apply(d))
		m.entries = append(m.entries, entry{kind: entryDebit, round: round, cohort: d.Cohort, cost: d.Cost})
		paid = append(paid, d.Cohort)
	}
	return paid, true
}

// contribute says who pays for a sum; ok is false for one that was paid before.
func (m *ledgerModel) contribute(t *testing.T, c Contribution) (paid []privacy.Cohort, ok bool) {
	cohorts := slices.Sorted(slices.Values(c.Cohorts))
	for _, e := range m.entries {
		if e.kind == entryContribute && e.sum == c.Sum {
			return nil, false
		}
		if e.kind == entryContribute && e.epoch != c.Epoch {
			cohorts = slices.DeleteFunc(cohorts, func(k privacy.Cohort) bool { return k == e.cohort })
		}
	}
	for _, d := range m.account.Admit(c.Mechanism, cohorts) {
		d.Apart = true
		require.NoError(t, m.account.Apply(d))
		m.entries = append(m.entries, entry{kind: entryContribute, epoch: c.Epoch, cohort: d.Cohort, cost: d.Cost, sum: c.Sum})
		paid = append(paid, d.Cohort)
	}
	return paid, true
}

func (m *ledgerModel) check(t *testing.T, l *Ledger) {
	t.Helper()
	round, message := l.Outgoing()
	if l.Round() != m.round() || round != m.committed || string(message) != m.message || string(l.State()) != m.state || l.Unprotected() != m.count(entryUnprotected) {
		t.Fatalf("round %d, outgoing %d %q, state %q, %d unprotected; the model says %+v", l.Round(), round, message, l.State(), l.Unprotected(), m)
	}
	want := slices.Clone(m.entries)
	var cohorts []privacy.Cohort
	for _, e := range want {
		if e.kind == entryDebit || e.kind == entryContribute {
			cohorts = append(cohorts, e.cohort)
		}
	}
	slices.Sort(cohorts)
	var paid []privacy.Cohort
	for _, s := range l.Spending() {
		paid = append(paid, s.Cohort)
		if l.Exhausted(s.Cohort) != m.exhausted(t, s.Cohort) || s.Retired != (s.Cohort <= m.retired()) {
			t.Fatalf("cohort %d: exhausted %v, %+v; the model says %v and retires up to %d", s.Cohort, l.Exhausted(s.Cohort), s, m.exhausted(t, s.Cohort), m.retired())
		}
		if s.Share != m.account.Spent(s.Cohort) || s.Releases != m.account.Releases(s.Cohort) {
			t.Fatalf("cohort %d has paid %d releases, share %v; want %d, %v", s.Cohort, s.Releases, s.Share, m.account.Releases(s.Cohort), m.account.Spent(s.Cohort))
		}
	}
	if cohorts = slices.Compact(cohorts); !slices.Equal(paid, cohorts) {
		t.Fatalf("cohorts %v have paid, want %v", paid, cohorts)
	}
	if len(want) > 0 {
		want = slices.Insert(want, 0, openingEntry(terms))
	}
	said := Verification{Entries: uint64(len(want)), Round: m.round(), Anchor: uint64(len(want))}
	var head link
	for i := range want {
		want[i].sequence = uint64(i + 1)
		_, head = encodeEntry(head, want[i])
		said.CRC = head.sum()
	}
	if v, err := l.Verify(); err != nil || v != said {
		t.Fatalf("verified %+v, error %v; want %+v", v, err, said)
	}
	if entries, err := entriesOf(l); err != nil || !slices.Equal(entries, want) {
		t.Fatalf("entries %v, error %v; want %v", entries, err, want)
	}
}

func (m *ledgerModel) exhausted(t *testing.T, c privacy.Cohort) bool {
	next, ok := policy(t).Next(m.account.Position())
	return !ok || m.account.Exhausted(c, next)
}

func TestLedgerMatchesTheModel(t *testing.T) {
	t.Parallel()
	unprotected, err := privacy.NewUnprotected(1)
	require.NoError(t, err)
	mechanisms := []privacy.Mechanism{gaussian(t, 3), gaussian(t, 10), gaussian(t, 50), unprotected}
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 5))
		s, l := open(t, newPath(t))
		account, err := privacy.NewAccount(policy(t))
		require.NoError(t, err)
		model := &ledgerModel{account: account}
		for range 80 {
			round := max(model.round()+uint64(r.IntN(4)), 1) - 1
			switch r.IntN(16) {
			case 0:
				s, l = reopen(t, s)
				model.check(t, l)
			case 1:
				ok := round > model.round()
				if err := unprotect(l, round); ok != (err == nil) || !ok && !errors.Is(err, ErrRound) {
					t.Fatalf("seed %d: unprotected round %d: %v", seed, round, err)
				}
				if ok {
					model.entries = append(model.entries, entry{kind: entryUnprotected, round: round})
				}
			case 2, 3, 4:
				ok := round == model.payable() && round > model.committed
				if err := commitRound(l, round); ok != (err == nil) || !ok && !errors.Is(err, ErrRound) {
					t.Fatalf("seed %d: commit %d: %v", seed, round, err)
				}
				if ok {
					model.committed, model.message, model.state = round, string(roundMessage(round)), string(roundState(round))
				}
			case 5:
				model.state = string(roundState(r.Uint64()))
				require.NoError(t, l.SaveState([]byte(model.state)))
			case 6:
				stored, err := s.AppendRecords(randomRecords(r, 1), full(2), today)
				require.NoError(t, err)
				if model.records = stored[0].Cohort; model.records <= model.retired() {
					t.Fatalf("seed %d: a record joined cohort %d, up to %d are retired", seed, model.records, model.retired())
				}
			case 7:
				if r.IntN(4) == 0 {
					require.NoError(t, l.Retire(round))
					model.retire(round)
				}
			case 8:
				ok := round > model.round()
				if err := l.CommitPublic(round, roundMessage(round), roundState(round)); ok != (err == nil) || !ok && !errors.Is(err, ErrRound) {
					t.Fatalf("seed %d: public round %d: %v", seed, round, err)
				}
				if ok {
					model.public, model.committed = round, round
					model.message, model.state = string(roundMessage(round)), string(roundState(round))
				}
			case 9:
				if r.IntN(4) == 0 {
					s, l = restoreCopy(t, s, round)
					model.retire(round)
					model.check(t, l)
				}
			case 10, 11:
				number := uint64(1 + r.IntN(12))
				c := contributionOf(number, bounded(t, 10), []privacy.Cohort{1, 2, 3, 4, 2}[r.IntN(3):3+r.IntN(3)]...)
				c.Epoch = 1 + number/4
				want, first := model.contribute(t, c)
				var paid []privacy.Cohort
				upload, err := l.Contribute(c, func(by []privacy.Cohort) ([]byte, error) {
					paid = by
					return uploadOf(number), nil
				})
				switch {
				case !slices.Equal(paid, want):
					t.Fatalf("seed %d: sum %d: %v paid, want %v; error %v", seed, number, paid, want, err)
				case first && len(want) == 0 && !errors.Is(err, ErrExhausted):
					t.Fatalf("seed %d: sum %d: nobody can pay: %v", seed, number, err)
				case len(want) > 0 || !first:
					if err != nil || !bytes.Equal(upload, uploadOf(number)) {
						t.Fatalf("seed %d: sum %d: %q, error %v", seed, number, upload, err)
					}
				}
			default:
				cohorts := []privacy.Cohort{1, 2, 3, 4, 2}[r.IntN(3) : 3+r.IntN(3)]
				mech := mechanisms[r.IntN(len(mechanisms))]
				want, ok := model.pay(t, round, mech, cohorts)
				paid, err := payFor(l, round, mech, cohorts)
				if ok != (err == nil) || !ok && !errors.Is(err, ErrRound) || !slices.Equal(paid, want) {
					t.Fatalf("seed %d: round %d: %v paid, want %v; error %v", seed, round, paid, want, err)
				}
			}
		}
		model.check(t, l)
	}
}
