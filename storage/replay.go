package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"p2pnode/privacy"
)

// OpenLedger verifies the whole ledger and counts what was paid: the chain of
// entries, the anchor, the budget, the order of rounds, and that the filter
// admits every debit.
//
// It fails with ErrBudget if the ledger was begun with another budget or
// dimension, with ErrRolledBack if the anchor is missing or does not belong to
// the ledger, and with ErrDamaged. A store opens one ledger; to open it again,
// close the store and open that again.
func (s *Store) OpenLedger(p privacy.Policy) (*Ledger, error) {
	s.ledgerMu.Lock()
	defer s.ledgerMu.Unlock()
	if s.ledger != nil {
		return nil, errors.New("storage: the ledger is already open: close the store first")
	}
	account, err := privacy.OpenAccount(p)
	if err != nil {
		return nil, fmt.Errorf("storage: open ledger: %w", err)
	}
	l := &Ledger{
		store: s, policy: p, account: account, noise: privacy.NewLiveNoise(),
		start: entry{sequence: 1, kind: entryBudget, budget: p.Terms.Budget, dimension: p.Terms.Dimension},
	}
	if err := l.replay(); err != nil {
		return nil, fmt.Errorf("%w (ledger of %s)", err, s.path)
	}
	// An empty ledger gets an anchor too: were the first payment to create it,
	// a crash right after that payment would look like a lost anchor.
	if err := errors.Join(l.moveAnchor(l.head), syncDir(s.path)); err != nil {
		return nil, fmt.Errorf("storage: write the anchor: %w", err)
	}
	s.ledger = l
	return l, nil
}

// replay counts all entries, checks them against the anchor and loads what was
// committed.
func (l *Ledger) replay() error {
	anchor, anchored, err := readAnchor(anchorPath(l.store.path))
	if err != nil {
		return err
	}
	return l.store.view(func(tx *bbolt.Tx) error {
		err := walkLedger(tx, func(e entry, head link) error {
			if head.sequence == anchor.sequence && head != anchor {
				return fmt.Errorf("%w: the anchor belongs to another history", ErrRolledBack)
			}
			l.head = head
			return l.replayEntry(e)
		})
		switch {
		case err != nil:
			return err
		case !anchored && l.head.sequence > 0:
			return fmt.Errorf("%w: the anchor is missing or unreadable", ErrRolledBack)
		case anchor.sequence > l.head.sequence:
			return fmt.Errorf("%w: it ends at entry %d and its anchor is at %d", ErrRolledBack, l.head.sequence, anchor.sequence)
		}
		return l.loadCommitted(tx)
	})
}

func (l *Ledger) replayEntry(e entry) error {
	if (e.sequence == 1) != (e.kind == entryBudget) {
		return fmt.Errorf("%w: ledger entry %d is out of place", ErrDamaged, e.sequence)
	}
	if e.kind == entryBudget {
		if e != l.start {
			return fmt.Errorf("%w: epsilon %g, delta %g and dimension %d, not %g, %g and %d: use those, or a new directory with new records",
				ErrBudget, e.budget.Epsilon, e.budget.Delta, e.dimension, l.start.budget.Epsilon, l.start.budget.Delta, l.start.dimension)
		}
		return nil
	}
	if e.round == 0 || e.round < l.round {
		return fmt.Errorf("%w: ledger entry %d goes back to round %d", ErrDamaged, e.sequence, e.round)
	}
	if err := l.apply(e); err != nil {
		return fmt.Errorf("%w: ledger entry %d: %w", ErrDamaged, e.sequence, err)
	}
	return nil
}

// walkLedger verifies the chain and hands out each entry with the link it ends.
func walkLedger(tx *bbolt.Tx, visit func(entry, link) error) error {
	var head link
	return tx.Bucket(bucketLedger).ForEach(func(key, sealed []byte) error {
		data, err := unseal(key, sealed)
		if err != nil {
			return err
		}
		e, next, err := decodeEntry(head, key, data)
		if err != nil {
			return err
		}
		head = next
		return visit(e, head)
	})
}

// committed is what the second transaction of a release stores, and the state
// saved since.
type committed struct {
	round          uint64
	message, state []byte
}

func (l *Ledger) loadCommitted(tx *bbolt.Tx) error {
	data, err := get(tx.Bucket(bucketStore), keyCommitted)
	if err != nil || data == nil {
		return err
	}
	if l.last, err = decodeCommitted(data); err != nil {
		return err
	}
	if l.last.round > l.round {
		return fmt.Errorf("%w: round %d was committed and never paid", ErrDamaged, l.last.round)
	}
	return nil
}

// The layout of a committed round, little endian: round (8), length of the
// message (8), message, state.
const committedHeader = 8 + 8

func encodeCommitted(c committed) []byte {
	data := make([]byte, 0, committedHeader+len(c.message)+len(c.state))
	data = binary.LittleEndian.AppendUint64(data, c.round)
	data = binary.LittleEndian.AppendUint64(data, uint64(len(c.message)))
	return append(append(data, c.message...), c.state...)
}

// decodeCommitted returns copies.
func decodeCommitted(data []byte) (committed, error) {
	if len(data) < committedHeader {
		return committed{}, fmt.Errorf("%w: the committed round is too short", ErrDamaged)
	}
	n, rest := binary.LittleEndian.Uint64(data[8:]), data[committedHeader:]
	if n > uint64(len(rest)) {
		return committed{}, fmt.Errorf("%w: the committed message is too short", ErrDamaged)
	}
	return committed{
		round:   binary.LittleEndian.Uint64(data),
		message: bytes.Clone(rest[:n]),
		state:   bytes.Clone(rest[n:]),
	}, nil
}
