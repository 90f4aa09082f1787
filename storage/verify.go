package storage

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"p2pnode/privacy"
)

// errCut says that the anchor file was cut short, which no crash does. The half that is
// left may miss the last payment.
var errCut = errors.New("storage: the anchor file was cut short, which no crash does: find out what changed it; " +
	"what is left of it agrees with the ledger, and the next payment repairs the file")

// Verification is what [Ledger.Verify] found.
type Verification struct {
	Entries uint64 `json:"entries"`
	Round   uint64 `json:"round"`
	Anchor  uint64 `json:"anchor"` // the entry that the anchor points to
	CRC     string `json:"crc"`    // as in the last [Line]; "" if there are no entries
}

// Verify reads the chain and the anchor from disk again and compares them with what the
// ledger has counted; payments wait until it ends. It fails as [Store.OpenLedger] does,
// with ErrPoisoned after a failed write, and with ErrRolledBack after
// [Ledger.Contradict]. If both files are an older copy, nothing on disk shows it; only
// peers can.
func (l *Ledger) Verify() (Verification, error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	if err := l.store.writable(); err != nil {
		return Verification{}, err
	}
	if l.contradicts > 0 {
		return Verification{}, l.contradiction()
	}
	a, err := readAnchor(anchorPath(l.store.path))
	if err != nil {
		return Verification{}, err
	}
	stored, err := l.store.readLedger(l.policy, a)
	if err == nil && (a.cut || l.cut) {
		return Verification{}, fmt.Errorf("%w (%s)", errCut, anchorPath(l.store.path))
	}
	if err == nil && (a.head != l.head || !l.same(stored)) {
		err = fmt.Errorf("%w: stop the node: the ledger on disk differs from the one in memory", ErrDamaged)
	}
	if err != nil {
		return Verification{}, fmt.Errorf("%w (ledger of %s)", err, l.store.path)
	}
	v := Verification{Entries: stored.head.sequence, Round: stored.round, Anchor: a.head.sequence}
	if v.Entries > 0 {
		v.CRC = stored.head.sum()
	}
	return v, nil
}

// same reports whether both ledgers have counted the same.
func (l *Ledger) same(o *Ledger) bool {
	return l.head == o.head && l.round == o.round && l.paid == o.paid && l.retired == o.retired && l.contradicts == o.contradicts &&
		l.unprotected == o.unprotected && slices.Equal(l.spending(), o.spending()) &&
		l.sums.same(o.sums) && l.last.round == o.last.round && l.last.public == o.last.public && bytes.Equal(l.last.message, o.last.message) && bytes.Equal(l.last.state, o.last.state)
}

// Line is one entry of the ledger, in words, for export.
type Line struct {
	Sequence uint64         `json:"sequence"`
	Kind     string         `json:"kind"`             // opened, paid, unprotected, retired, contradicted, contributed
	Round    uint64         `json:"round,omitempty"`  // of retired: later rounds are above it; of contradicted: a peer holds it
	Cohort   privacy.Cohort `json:"cohort,omitempty"` // of retired: this one and all before
	Cost     float64        `json:"cost,omitempty"`   // in the unit that the account adds up, see LineTerms
	Sum      string         `json:"sum,omitempty"`    // name of the private sum, in hexadecimal; for contributed, and for contradicted by a sum
	Epoch    uint64         `json:"epoch,omitempty"`  // epoch of that sum
	Terms    *LineTerms     `json:"terms,omitempty"`  // for opened
	CRC      string         `json:"crc"`              // over all entries up to this one, in hexadecimal
}

// LineTerms are the terms of a ledger, for export.
type LineTerms struct {
	Epsilon    float64            `json:"epsilon"`
	Delta      float64            `json:"delta"`
	Dimension  int                `json:"dimension"`
	Accounting privacy.Accounting `json:"accounting"`
	Order      float64            `json:"order,omitempty"` // order of Renyi accounting
	Plan       string             `json:"plan,omitempty"`  // hash of the schedule, in hexadecimal
	Cost       string             `json:"cost_is"`         // says what the costs of later lines are
}

func lineTerms(t privacy.Terms) *LineTerms {
	l := &LineTerms{
		Epsilon: t.Budget.Epsilon, Delta: t.Budget.Delta, Dimension: t.Dimension, Accounting: t.Accounting, Order: t.Order,
	}
	switch t.Accounting {
	case privacy.GaussianFilter:
		l.Cost = "the square of sensitivity over sigma"
	case privacy.PureFilter:
		l.Cost = "epsilon"
	case privacy.RenyiFilter:
		l.Cost = "the Renyi divergence of the order"
	case privacy.CommittedPlan:
		l.Plan, l.Cost = hex.EncodeToString(t.Plan[:]), "the number of the step of the plan"
	}
	return l
}

// Lines reads the whole ledger from disk, in order, and checks its chain.
func (l *Ledger) Lines() (lines []Line, err error) {
	err = l.store.view(func(tx *bbolt.Tx) error {
		return walkLedger(tx, func(e entry, head link) error {
			line := Line{
				Sequence: e.sequence, Kind: e.kind.String(), Round: e.round,
				Cohort: e.cohort, Cost: e.cost, Epoch: e.epoch, CRC: head.sum(),
			}
			if e.kind.sum() {
				line.Sum = hex.EncodeToString(e.sum[:])
			}
			if e.kind.opening() {
				line.Terms = lineTerms(e.terms)
			}
			lines = append(lines, line)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("storage: read the ledger: %w", err)
	}
	return lines, nil
}
