package datadir

import (
	"errors"
	"fmt"
	"path/filepath"

	"p2pnode/storage"
)

// Compacted says what [Compact] did.
type Compacted struct {
	Before  int64  `json:"bytes_before"`
	After   int64  `json:"bytes_after"`
	Entries uint64 `json:"ledger_entries"` // entries of the ledger, which Verify found sound
	// Upgraded is the name of the copy that was made before the layout of an older version was
	// changed; "" if it was not.
	Upgraded string `json:"kept_before_upgrade,omitempty"`
}

// Compact makes the database of a directory that no node has open as small as it can be,
// and then verifies its ledger. If a file is mostly unused, a node compacts it by itself
// when it opens it.
func Compact(dir string) (c Compacted, err error) {
	files, err := Read(dir)
	if err != nil {
		return c, err
	}
	s, err := OpenStore(dir, &files)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if kept := s.KeptBefore(); kept != "" {
		c.Upgraded = filepath.Base(kept)
	}
	before, err := s.Stats()
	if err == nil {
		err = s.Compact()
	}
	var after storage.Stats
	if err == nil {
		after, err = s.Stats()
	}
	if err != nil {
		return c, fmt.Errorf("node: %w", err)
	}
	c.Before, c.After = before.Size, after.Size
	v, err := s.Ledger.Verify()
	c.Entries = v.Entries
	return c, Mend(err, filepath.Clean(dir))
}
