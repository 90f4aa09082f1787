// Package node is the p2pnode daemon as a library: one data directory, one
// libp2p host, one agent. [Open] reads the directory, [Node.Run] takes part in
// the network until its context ends, and the other methods serve the owner,
// with or without Run.
package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/learner"
	"p2pnode/peering"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// ErrOtherTask: the directory was made for another task, which is another network.
var ErrOtherTask = errors.New("another task")

var errOtherIdentity = errors.New("another identity")

// What the store remembers of the directory it belongs to.
const (
	networkKey = "network"
	peerKey    = "peer"
	policyKey  = "policy"
)

// Node is one participant. Its methods are safe for concurrent use.
type Node struct {
	dir          string
	self         peer.ID
	files        dirFiles
	private      private
	network      string
	log          *slog.Logger
	store        *storage.Store
	ledger       *storage.Ledger
	policy       privacy.Policy
	book         *peerBook
	traffic      *metrics.BandwidthCounter
	surroundings *surroundings
	observe      func(learner.Agent) learner.Agent // nil, or a test's recorder around the agent
	source       func() (rand.Source, error)       // of what is drawn beside the noise; seeded in tests only
	// observePeering is nil, or a test's recorder of whom the node has for neighbours.
	observePeering func(time.Duration, peering.Input, peering.Output)

	// adding is held by who adds records, for as long as an import reads its file, and
	// storing, which comes after it, while records are changed or an agent starts with
	// them: so that none is missed or handed over twice.
	adding, storing sync.Mutex

	intake  sync.Mutex    // for what follows
	session *session      // nil unless Run is running
	running chan struct{} // closed while there is a session

	records ownRecords
	fits    fits
}

// Open opens a data directory made by [Init]. Only one process can have it
// open. Close it when done.
func Open(dir string, log *slog.Logger) (*Node, error) {
	files, err := readDir(dir)
	if err != nil {
		return nil, err
	}
	self, err := peer.IDFromPrivateKey(files.key)
	if err != nil {
		return nil, fmt.Errorf("node: the identity has no peer ID: %w", err)
	}
	log = log.With("node", shortID(self))
	bootstrap, _ := files.config.bootstrapPeers() // validated when the file was read
	closed, err := readPrivate(dir, self, bootstrap, log)
	if err != nil {
		return nil, err
	}
	store, err := storage.Open(filepath.Join(dir, storeFile))
	if err != nil {
		return nil, fmt.Errorf("node: open %s: %w", dir, mend(err, dir))
	}
	n := &Node{
		dir:          dir,
		self:         self,
		files:        files,
		private:      closed,
		network:      NetworkName(files.task),
		log:          log,
		store:        store,
		traffic:      metrics.NewBandwidthCounter(),
		surroundings: newSurroundings(&files.config),
		running:      make(chan struct{}),
		source:       freshSource,
		records:      ownRecords{store: store, task: files.task},
	}
	if err := n.openLedger(); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if n.book, err = openPeerBook(store, n.network, n.log); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return n, nil
}

func (n *Node) openLedger() error {
	if err := n.claim(); err != nil {
		return err
	}
	design := n.files.config.design(n.files.task)
	before, err := keptPolicy(n.store)
	if err != nil {
		return err
	}
	s, err := before.settle(design)
	if err != nil {
		return fmt.Errorf("node: %s: %w", filepath.Join(n.dir, configFile), err)
	}
	n.policy = s.Policy
	n.files.config.Accounting = string(n.policy.Terms.Accounting) // which may have been left open
	n.ledger, err = n.store.OpenLedger(n.policy)
	if errors.Is(err, storage.ErrBudget) && before.Design != design {
		err = fmt.Errorf("%w (in %s, %s)", err, configFile, before.changes(design))
	}
	if err != nil {
		return fmt.Errorf("node: open the ledger of %s: %w", n.dir, mend(err, n.dir))
	}
	if s.Design != before.Design {
		if err := s.keep(n.store); err != nil {
			return err
		}
	}
	if !n.files.config.protected() {
		// The ledger keeps the terms of its budget, which is not used.
		n.policy, err = unprotectedPolicy(n.files.task)
	}
	return err
}

// claim remembers in a store which task and identity it belongs to, and refuses
// that of another, and what it cannot bring up to this version.
func (n *Node) claim() error {
	if err := belongs(n.store, n.dir, n.files); err != nil {
		return err
	}
	if err := n.upgrade(); err != nil {
		return err
	}
	for _, m := range []struct{ key, value string }{{networkKey, n.network}, {peerKey, n.self.String()}} {
		made, err := n.store.Meta(m.key)
		if err == nil && made != m.value {
			err = n.store.PutMeta(m.key, m.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// belongs reports an error if the store, that of the file or directory called
// name, was made for another task or identity: records and ledger belong to one.
func belongs(store *storage.Store, name string, files dirFiles) error {
	self, err := peer.IDFromPrivateKey(files.key)
	if err != nil {
		return fmt.Errorf("node: the identity has no peer ID: %w", err)
	}
	for _, m := range []struct {
		key    string
		values []string // the newest last
		file   string
		other  error
	}{
		{networkKey, networkNames(files.task), taskFile, ErrOtherTask},
		{peerKey, []string{self.String()}, keyFile, errOtherIdentity},
	} {
		made, err := store.Meta(m.key)
		if err != nil {
			return err
		}
		if made != "" && !slices.Contains(m.values, made) {
			return fmt.Errorf("node: %s was made for %w (%s %s; its %s now says %s); put the old %s back, or start in a new directory",
				name, m.other, m.key, made, m.file, m.values[len(m.values)-1], m.file)
		}
	}
	return nil
}

// Close releases the data directory. Run must have returned. A fit under way is left.
func (n *Node) Close() error {
	n.fits.close()
	return n.store.Close()
}

// ID is the node's peer ID.
func (n *Node) ID() peer.ID { return n.self }

// Task is the task the node learns. It must not be changed.
func (n *Node) Task() *learner.Task { return n.files.task }

// Add stores records made by [learner.Task.Encode] and hands them to the
// agent. All are stored or none; none after ctx has ended, or when the task does not
// admit one of them ([learner.Task.Admit]).
func (n *Node) Add(ctx context.Context, records []learner.Record) error {
	n.adding.Lock()
	defer n.adding.Unlock()
	n.storing.Lock()
	defer n.storing.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("node: store the records: %w", err)
	}
	stored, err := n.store.AppendRecords(records, n.cohortRule(), time.Now())
	if err != nil {
		return fmt.Errorf("node: store the records: %w", err)
	}
	n.fits.recordsAdded()
	var noted learner.Tally
	for i := range records {
		noted.Add(records[i].Cells)
	}
	return n.added(stored, noted)
}

// added takes note of records that were just stored, and of their cells. The caller holds
// n.storing.
func (n *Node) added(stored []learner.Record, noted learner.Tally) error {
	stored = n.records.add(stored, noted)
	if s := n.current(); s != nil {
		return s.records(stored, nil)
	}
	return nil
}

// cohortRule says which records are stored, and when they begin a new cohort.
func (n *Node) cohortRule() storage.Intake {
	return storage.Intake{
		Admit:  n.files.task.Admit,
		Size:   n.files.task.CohortSize,
		Age:    time.Duration(n.files.config.CohortHours * float64(time.Hour)),
		Closed: n.exhausted,
	}
}

// current is the session under way; nil unless Run is running.
func (n *Node) current() *session {
	n.intake.Lock()
	defer n.intake.Unlock()
	return n.session
}

// exhausted reports whether a cohort can pay for no more releases; new records
// then begin another one.
func (n *Node) exhausted(c privacy.Cohort) bool {
	return n.files.config.protected() && n.ledger.Exhausted(c)
}

// state is what the agent knew a moment ago, or when it last ran. It waits for nothing
// that the agent does. What it returns must not be changed.
func (n *Node) state() (learner.State, error) {
	if s := n.current(); s != nil {
		return *s.loop.shown.Load(), nil
	}
	return n.storedState()
}

func (n *Node) storedState() (learner.State, error) {
	state := learner.State{Model: make([]float64, n.files.task.Dimension())}
	if text := n.ledger.State(); text != nil {
		if err := json.Unmarshal(text, &state); err != nil {
			return state, fmt.Errorf("node: the stored state is damaged: %w", err)
		}
	}
	// A round that was paid and not committed is burned.
	state.Round = max(state.Round, n.ledger.Round())
	return state, nil
}

// shortID is the end of a peer ID, enough for people to tell nodes apart.
func shortID(id peer.ID) string {
	s := id.String()
	return s[max(0, len(s)-8):]
}
