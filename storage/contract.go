// Package storage keeps everything a node must not forget in one bbolt file:
// its records, the privacy ledger, the agent's state, edges and known peers.
//
// THE CONTRACT of what is still to come: signatures only.
package storage

import (
	"errors"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// What callers branch on.
var (
	// ErrLocked: another process has the file open.
	ErrLocked = errors.New("storage: another p2pnode uses this directory")
	// ErrDamaged: the file, or a value in it, is not what was written.
	ErrDamaged = errors.New("storage: the file is damaged")
	// ErrNoRecord: there is no such record, or it was deleted before.
	ErrNoRecord = errors.New("storage: no such record")
	// ErrBudget: the ledger was begun with another budget or dimension.
	ErrBudget = errors.New("storage: the ledger was begun with another budget")
	// ErrRolledBack: the ledger is older than its anchor.
	ErrRolledBack = errors.New("storage: the ledger is older than its anchor")
	// ErrRound: the round was paid or committed before, or was never paid.
	ErrRound = errors.New("storage: wrong round")
	// ErrPoisoned: a write failed, so what is on disk is unknown. Close the
	// store, open it again and open the ledger: that verifies it.
	ErrPoisoned = errors.New("storage: the ledger is closed after a failed write")
)

// Store is one node's file. Safe for concurrent use.
type Store struct{}

// Open opens or creates the file (mode 0600). ErrLocked after about a second if another process holds it.
func Open(path string) (*Store, error) { panic("contract") }

// Close releases the file. The ledger must not be used afterwards.
func (s *Store) Close() error { panic("contract") }

// AppendRecords stores all of recs or none and returns them with Seq and Cohort
// set. closed says that a cohort takes no more records whatever its size (its
// budget is used); nil means never. It is called outside any transaction, so
// it may ask the ledger.
func (s *Store) AppendRecords(recs []learner.Record, cohortSize int, closed func(privacy.Cohort) bool) ([]learner.Record, error) {
	panic("contract")
}

// Records returns the live records and the deleted ones, each in order of
// arrival. A deleted record has its Seq and Cohort, Y = 0 and X all zeros (of
// its old length), so a fresh agent learns of every slot by
// Records(live, nil) and Records(deleted, their Seqs).
func (s *Store) Records() (live, deleted []learner.Record, err error) { panic("contract") }

// DeleteRecord erases a record's content and keeps its slot.
func (s *Store) DeleteRecord(q learner.Seq) error { panic("contract") }

// Edge is an accepted link of the similarity graph.
type Edge struct {
	Peer   string   `json:"peer"`
	Weight float64  `json:"weight"`
	Addrs  []string `json:"addrs"`
	Mine   uint64   `json:"mine"`   // round of the own model the weight was computed from
	Theirs uint64   `json:"theirs"` // round of the peer's
}

// SaveEdge stores or replaces the edge to e.Peer.
func (s *Store) SaveEdge(e Edge) error { panic("contract") }

// DeleteEdge forgets the edge; a missing one is no error.
func (s *Store) DeleteEdge(peer string) error { panic("contract") }

// Edges returns all edges sorted by peer.
func (s *Store) Edges() ([]Edge, error) { panic("contract") }

// Peer is a node heard of.
type Peer struct {
	ID       string   `json:"id"`
	Addrs    []string `json:"addrs"`
	LastSeen int64    `json:"last_seen"` // Unix seconds
}

// MaxPeers bounds the known peers; the longest unseen are dropped.
const MaxPeers = 1000

// SavePeers stores or replaces the given peers in one transaction.
func (s *Store) SavePeers(peers ...Peer) error { panic("contract") }

// Peers returns the known peers, the most recently seen first.
func (s *Store) Peers() ([]Peer, error) { panic("contract") }

// Meta returns a small string, "" if it was never put.
func (s *Store) Meta(key string) (string, error) { panic("contract") }

// PutMeta stores a small string, the task's hash for example.
func (s *Store) PutMeta(key, value string) error { panic("contract") }

// SavePersonal stores the personal model's bytes, which never leave the device.
func (s *Store) SavePersonal(model []byte) error { panic("contract") }

// Personal returns the bytes of SavePersonal, nil if there are none.
func (s *Store) Personal() ([]byte, error) { panic("contract") }

// OpenLedger verifies the whole ledger against its chain, its anchor and the
// filter. One ledger can be opened per Store.
func (s *Store) OpenLedger(b privacy.Budget, dim int) (*Ledger, error) { panic("contract") }

// Ledger is the durable half of the door. Safe for concurrent use.
type Ledger struct{}

// Pay debits the cohorts that can still afford m and returns them; when it
// returns, the debit is on disk. None: nothing was written and the round is
// not used. The round must be above every earlier one (ErrRound).
func (l *Ledger) Pay(round uint64, m privacy.Mechanism, cohorts []privacy.Cohort) (paid []privacy.Cohort, err error) {
	panic("contract")
}

// PayUnprotected marks a round of the door without a guarantee: no budget is
// used, but the ledger is unbounded for ever.
func (l *Ledger) PayUnprotected(round uint64) error { panic("contract") }

// Commit stores the outgoing message and the agent's state of the round paid
// last, once.
func (l *Ledger) Commit(round uint64, message, state []byte) error { panic("contract") }

// Round is the highest round ever paid, committed or not; 0 at first.
func (l *Ledger) Round() uint64 { panic("contract") }

// Outgoing is the newest committed message, to be sent again byte for byte; (0, nil) at first.
func (l *Ledger) Outgoing() (round uint64, message []byte) { panic("contract") }

// State is the agent's state as last committed; nil at first.
func (l *Ledger) State() []byte { panic("contract") }

// Unbounded reports whether anything was ever released without a guarantee.
func (l *Ledger) Unbounded() bool { panic("contract") }

// Cohorts are those that have paid, sorted.
func (l *Ledger) Cohorts() []privacy.Cohort { panic("contract") }

// Spent is the share of the cohort's budget that is used, in [0, 1].
func (l *Ledger) Spent(c privacy.Cohort) float64 { panic("contract") }

// Exhausted reports whether the cohort cannot pay for m once more.
func (l *Ledger) Exhausted(c privacy.Cohort, m privacy.Mechanism) bool { panic("contract") }

// Entry is one line of the ledger.
type Entry struct {
	Sequence  uint64 // from 1, without gaps
	Kind      EntryKind
	Round     uint64         // debits and unprotected rounds
	Cohort    privacy.Cohort // debits
	MuSquared float64        // debits: what the release cost
	Budget    privacy.Budget // the opening entry
	Dimension int            // the opening entry
}

// EntryKind says what an Entry records.
type EntryKind uint8

// The kinds of entries.
const (
	EntryBudget      EntryKind = 1 // the opening entry: the budget the ledger is kept for
	EntryDebit       EntryKind = 2 // one cohort paid for one round
	EntryUnprotected EntryKind = 3 // a round released without a guarantee
)

// Entries returns the whole ledger in order.
func (l *Ledger) Entries() ([]Entry, error) { panic("contract") }
