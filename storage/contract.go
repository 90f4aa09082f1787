package storage

import (
	"io"
	"time"

	"p2pnode/privacy"
)

// The contract of what is being built; each piece moves to the file of its
// subject, and this file goes.

// ErrRetired says that ... (none yet)

// Retire ends the budget of every cohort so far and makes rounds go on from at
// least round: what a deliberate restore needs. Records that arrive later open a
// new cohort. It is durable when it returns.
func (l *Ledger) Retire(round uint64) error { panic("contract") }

// Left is how many more releases a cohort can pay for, and Next what share of its
// budget the next of them costs: [privacy.Account.Left] and [privacy.Account.Share]
// of the policy's next mechanism. Both are 0 for a retired or exhausted cohort and
// right for one that never paid.
func (l *Ledger) Left(c privacy.Cohort) (left int, next float64) { panic("contract") }

// Unprotected is how many rounds were released without a guarantee; the limit of an
// unprotected node counts them, because rounds jump after a restore.
func (l *Ledger) Unprotected() int { panic("contract") }

// Verification is what [Ledger.Verify] found.
type Verification struct {
	Entries uint64 `json:"entries"`
	Round   uint64 `json:"round"`
	Anchor  uint64 `json:"anchor"` // the entry the anchor stands at
}

// Verify reads the chain and the anchor from disk again and compares them with
// what is counted. Its errors are those of [Store.OpenLedger].
func (l *Ledger) Verify() (Verification, error) { panic("contract") }

// Line is one entry of the ledger, in words, for export.
type Line struct {
	Sequence uint64         `json:"sequence"`
	Kind     string         `json:"kind"`
	Round    uint64         `json:"round,omitempty"`
	Cohort   privacy.Cohort `json:"cohort,omitempty"`
	Cost     float64        `json:"cost,omitempty"`
	Terms    *privacy.Terms `json:"terms,omitempty"`
	CRC      string         `json:"crc"`
}

// Lines reads the whole ledger in order.
func (l *Ledger) Lines() ([]Line, error) { panic("contract") }

// Backup writes a consistent copy of the whole store, for [Store.OpenLedger] after
// a restore.
func (s *Store) Backup(w io.Writer) error { panic("contract") }

// Restore puts the copy at from in place of the store at path and its anchor, and
// retires every cohort in it, so that nothing released after the copy was made is
// released again. What was at path is kept beside it, under the name it returns.
func Restore(from, path string, p privacy.Policy, round uint64) (kept string, err error) {
	panic("contract")
}

// Intake says when a cohort takes no more records, by public things only.
type Intake struct {
	Size   int                       // slots, >= 1
	Age    time.Duration             // since its first record; 0: whatever its age
	Closed func(privacy.Cohort) bool // its budget is used; nil: never
}
