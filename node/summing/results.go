package summing

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"p2pnode/internal/durable"
	"p2pnode/storage"
	"p2pnode/sums"
)

// A node keeps two public files of a sum that is over. They are named after the sum: the
// published result, and the certified list to which it belongs. Of a dead sum it keeps an
// empty file.
const (
	resultSuffix = ".sum"
	listSuffix   = ".list"
	deadSuffix   = ".dead"
)

// ResultFile returns the name of the file with the published result of a sum.
func ResultFile(sum sums.Digest) string { return hex.EncodeToString(sum[:16]) + resultSuffix }

func listFile(sum sums.Digest) string { return hex.EncodeToString(sum[:16]) + listSuffix }
func deadFile(sum sums.Digest) string { return hex.EncodeToString(sum[:16]) + deadSuffix }

// keepResult stores a result and its list under root. It writes the result last: if the
// result is there, both are.
func keepResult(root string, s *sums.Sum, result, decision []byte) error {
	err := durable.MkdirAll(root)
	if err == nil {
		err = durable.Replace(filepath.Join(root, listFile(s.ID)), decision)
	}
	if err == nil {
		err = durable.Replace(filepath.Join(root, ResultFile(s.ID)), result)
	}
	if err != nil {
		return fmt.Errorf("summing: keep the result of a private sum: %w", err)
	}
	return nil
}

// Kept returns the outcome of a sum whose result this device keeps under root, or nil if
// it keeps none. A damaged result counts as none, because the committee has it.
func Kept(root string, s *sums.Sum, self sums.Identity, l *storage.Ledger) (*Outcome, error) {
	o, _, _, err := kept(root, s, self, l)
	return o, err
}

func kept(root string, s *sums.Sum, self sums.Identity, l *storage.Ledger) (o *Outcome, result, decision []byte, err error) {
	result, err = os.ReadFile(filepath.Join(root, ResultFile(s.ID)))
	if err == nil {
		decision, err = os.ReadFile(filepath.Join(root, listFile(s.ID)))
	}
	if errors.Is(err, fs.ErrNotExist) {
		o, err = buried(root, s, l)
		return o, nil, nil, err
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("summing: read the result of a private sum: %w", err)
	}
	var entry []byte
	upload, err := uploaded(l, s)
	if err != nil {
		return nil, nil, nil, err
	}
	if upload != nil {
		digest, err := s.EntryDigest(upload)
		if err != nil {
			return nil, nil, nil, err
		}
		entry = digest[:]
	}
	if o, err = readOutcome(s, self, result, decision, entry); err != nil {
		return nil, nil, nil, nil
	}
	return o, result, decision, nil
}

// bury notes durably that a sum is dead.
func (d *Desk) bury(s *sums.Sum, l *storage.Ledger) error {
	err := durable.MkdirAll(d.config.Results)
	if err == nil {
		err = durable.Replace(filepath.Join(d.config.Results, deadFile(s.ID)), nil)
	}
	if err != nil {
		return fmt.Errorf("summing: keep that a private sum is over: %w", err)
	}
	return settle(s, l)
}

// buried returns the outcome of a dead sum; nil if this sum is not dead.
func buried(root string, s *sums.Sum, l *storage.Ledger) (*Outcome, error) {
	_, err := os.Stat(filepath.Join(root, deadFile(s.ID)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("summing: look for the end of a private sum: %w", err)
	}
	upload, err := uploaded(l, s)
	return &Outcome{Paid: upload != nil}, err
}

// uploaded returns what a ledger keeps of a sum; nil if there is no ledger.
func uploaded(l *storage.Ledger, s *sums.Sum) ([]byte, error) {
	if l == nil {
		return nil, nil
	}
	upload, err := l.Upload(storage.SumID(s.ID))
	if err != nil {
		return nil, fmt.Errorf("summing: %w", err)
	}
	return upload, nil
}

// readOutcome makes all checks that a result must pass.
func readOutcome(s *sums.Sum, self sums.Identity, result, decision, entry []byte) (*Outcome, error) {
	p, err := s.ReadPublished(result)
	if err != nil {
		return nil, err
	}
	return outcomeOf(s, self, p, decision, entry)
}

// outcomeOf returns what a checked result means for this device. decision is the list to
// which it belongs.
func outcomeOf(s *sums.Sum, self sums.Identity, p *sums.Published, decision, entry []byte) (*Outcome, error) {
	l, voters, err := s.ReadDecision(p, decision)
	if err != nil {
		return nil, err
	}
	own, listed := l.Find(self)
	return &Outcome{Result: p, List: l, Voters: voters, Listed: listed && string(own.Entry[:]) == string(entry), Paid: entry != nil}, nil
}

// settle drops a contribution except its entry, which tells it from others: the sum is
// over, and its result and list are kept. Without a ledger there is no contribution.
func settle(s *sums.Sum, l *storage.Ledger) error {
	if l == nil {
		return nil
	}
	if err := l.Trim(storage.SumID(s.ID), s.EntrySize()); err != nil {
		return fmt.Errorf("summing: drop what was sent to a sum that is over: %w", err)
	}
	return nil
}

// resume serves a result that is kept already, and returns its outcome; nil if none is
// kept.
func (d *Desk) resume(s *sums.Sum, l *storage.Ledger) (*Outcome, error) {
	o, result, decision, err := kept(d.config.Results, s, d.self, l)
	if o == nil || err != nil {
		return nil, err
	}
	p, err := d.part(s)
	if err != nil {
		return nil, err
	}
	if o.Result == nil {
		p.bury() // so that a member says it to those who come later
		return o, settle(s, l)
	}
	p.shelve(d.config.Results, o.Result, result, decision)
	return o, settle(s, l) // settle again, in case the node was stopped before it
}
