package storage

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"

	"go.etcd.io/bbolt"

	"p2pnode/internal/durable"
	"p2pnode/privacy"
)

// OpenLedger verifies the whole ledger and counts what was paid: the chain of
// entries, the anchor, the terms, the order of rounds, and that the account
// admits every debit.
//
// It fails with ErrBudget if the ledger was begun on other terms than the policy's,
// with ErrRolledBack if the anchor is missing or does not belong to the ledger, and
// with ErrDamaged. A store opens its ledger once; to open it again, close the store
// and open it again.
func (s *Store) OpenLedger(p privacy.Policy) (*Ledger, error) {
	s.ledgerMu.Lock()
	defer s.ledgerMu.Unlock()
	if s.ledger != nil {
		return nil, errors.New("storage: the ledger is already open: close the store first")
	}
	a, err := readAnchor(anchorPath(s.path))
	if err != nil {
		return nil, err
	}
	l, err := s.readLedger(p, a)
	if err != nil {
		return nil, fmt.Errorf("%w (ledger of %s)", err, s.path)
	}
	// An empty ledger gets an anchor too. If the first payment created it, a crash right
	// after that payment would look like a lost anchor.
	if !a.found || a.head != l.head {
		err = l.moveAnchor(l.head)
	}
	if err = errors.Join(err, durable.SyncDir(filepath.Dir(s.path))); err != nil {
		return nil, fmt.Errorf("storage: write the anchor: %w", err)
	}
	s.ledger = l
	return l, nil
}

// readLedger counts all entries, compares them with the anchor and loads what
// was committed.
func (s *Store) readLedger(p privacy.Policy, a anchor) (*Ledger, error) {
	account, err := privacy.NewAccount(p)
	if err != nil {
		return nil, fmt.Errorf("storage: open ledger: %w", err)
	}
	l := &Ledger{store: s, policy: p, account: account, noise: privacy.NewLiveNoise(), slot: a.slot, cut: a.cut}
	err = s.view(func(tx *bbolt.Tx) error {
		err := walkLedger(tx, func(e entry, head link) error {
			if head.sequence == a.head.sequence && head != a.head {
				return fmt.Errorf("%w: the anchor belongs to another history", ErrRolledBack)
			}
			l.head = head
			return l.replayEntry(e)
		})
		if err == nil {
			err = a.check(l.head)
		}
		if err != nil {
			return err
		}
		if err := l.loadUploads(tx); err != nil {
			return err
		}
		return l.loadCommitted(tx)
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// anywhere returns an anchor that agrees with every ledger.
func anywhere() anchor { return anchor{found: true} }

// check compares the anchor with a ledger that ends at head.
func (a anchor) check(head link) error {
	switch {
	case !a.found && head.sequence > 0:
		return fmt.Errorf("%w: the anchor is missing or unreadable", ErrRolledBack)
	case a.head.sequence > head.sequence:
		return fmt.Errorf("%w: it ends at entry %d and its anchor is at %d", ErrRolledBack, head.sequence, a.head.sequence)
	}
	return nil
}

func (l *Ledger) replayEntry(e entry) error {
	if (e.sequence == 1) != e.kind.opening() {
		return fmt.Errorf("%w: ledger entry %d is out of place", ErrDamaged, e.sequence)
	}
	if e.kind.opening() {
		return checkTerms(e.terms, l.policy.Terms)
	}
	if !e.kind.sum() && (e.round < l.round || e.round == 0 && e.kind != entryRetire) {
		return fmt.Errorf("%w: ledger entry %d goes back to round %d", ErrDamaged, e.sequence, e.round)
	}
	if l.contradicts > 0 && e.kind != entryContradict && e.kind != entryForeignSum && (e.kind != entryRetire || e.round < l.contradicts) {
		return fmt.Errorf("%w: ledger entry %d goes on though a peer knew better", ErrDamaged, e.sequence)
	}
	if e.cohort < l.retired && e.kind == entryRetire {
		return fmt.Errorf("%w: ledger entry %d takes retired cohorts back", ErrDamaged, e.sequence)
	}
	if err := l.apply(e); err != nil {
		return fmt.Errorf("%w: ledger entry %d: %w", ErrDamaged, e.sequence, err)
	}
	return nil
}

// checkTerms returns an error that names the first of the ledger's terms that has
// changed.
func checkTerms(begun, now privacy.Terms) error {
	for _, t := range []struct {
		name       string
		begun, now any
	}{
		{"epsilon", begun.Budget.Epsilon, now.Budget.Epsilon},
		{"delta", begun.Budget.Delta, now.Budget.Delta},
		{"dimension", begun.Dimension, now.Dimension},
		{"accounting", begun.Accounting, now.Accounting},
		{"Renyi order", begun.Order, now.Order},
		{"committed schedule", hex.EncodeToString(begun.Plan[:4]), hex.EncodeToString(now.Plan[:4])},
	} {
		if t.begun != t.now {
			return fmt.Errorf("%w: its %s is %v and now it is %v: put the old one back, or use a new directory with new records", ErrBudget, t.name, t.begun, t.now)
		}
	}
	if begun != now {
		return fmt.Errorf("%w: its committed schedule is another: put the old one back, or use a new directory with new records", ErrBudget)
	}
	return nil
}

// walkLedger verifies the chain and calls visit for each entry with the link that ends
// with it.
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

// committed is what the second transaction of a release stores. SaveState replaces its
// state later.
type committed struct {
	round          uint64
	public         bool // CommitPublic stored it: nobody paid for the round
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
	if l.last.round > l.round && !l.last.public {
		return fmt.Errorf("%w: round %d was committed and never paid for", ErrDamaged, l.last.round)
	}
	l.round = max(l.round, l.last.round)
	return nil
}

// The layout of a committed round, little endian: round (8), length of the message (8)
// whose highest bit is committedPublic, message, state.
const (
	committedHeader = 8 + 8
	committedPublic = 1 << 63
)

func encodeCommitted(c committed) []byte {
	data := make([]byte, 0, committedHeader+len(c.message)+len(c.state))
	data = binary.LittleEndian.AppendUint64(data, c.round)
	length := uint64(len(c.message))
	if c.public {
		length |= committedPublic
	}
	data = binary.LittleEndian.AppendUint64(data, length)
	return append(append(data, c.message...), c.state...)
}

// decodeCommitted returns slices that do not share memory with data.
func decodeCommitted(data []byte) (committed, error) {
	if len(data) < committedHeader {
		return committed{}, fmt.Errorf("%w: the committed round is too short", ErrDamaged)
	}
	length, rest := binary.LittleEndian.Uint64(data[8:]), data[committedHeader:]
	n := length &^ committedPublic
	if n > uint64(len(rest)) {
		return committed{}, fmt.Errorf("%w: the committed message is too short", ErrDamaged)
	}
	return committed{
		round:   binary.LittleEndian.Uint64(data),
		public:  length&committedPublic != 0,
		message: bytes.Clone(rest[:n]),
		state:   bytes.Clone(rest[n:]),
	}, nil
}
