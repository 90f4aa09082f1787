// Package node is the p2pnode daemon as a library: one data directory, one
// libp2p host, one agent. [Open] reads the directory, [Node.Run] takes part in
// the network until its context ends, and the other methods serve the owner,
// with or without Run.
package node

import (
	"cmp"
	crand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/discovery"
	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/diary"
	"p2pnode/node/logs"
	"p2pnode/node/netedge"
	"p2pnode/peering"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// Node is one participant. Its methods are safe for concurrent use.
type Node struct {
	dir          string
	self         peer.ID
	files        datadir.Files
	over         []datadir.Setting              // settings that replace values of config.toml
	live         atomic.Pointer[datadir.Config] // the configuration with what Reload has changed
	private      datadir.Private
	opened       string // what kept strangers away before this start, in words
	network      string
	log          *slog.Logger
	diary        *diary.Diary
	logs         *logs.Log // nil: the log's lines are not kept
	store        *storage.Store
	ledger       *storage.Ledger
	policy       privacy.Policy
	book         *netedge.Book
	meter        *netedge.Meter
	surroundings *netedge.Surroundings
	observe      func(learner.Agent) learner.Agent // nil, or a test's recorder around the agent
	source       func() (rand.Source, error)       // of the random choices other than the noise; seeded in tests only
	// observePeering is nil, or a test's recorder of the node's neighbours.
	observePeering func(time.Duration, peering.Input, peering.Output)

	// adding is held while records are added, for as long as an import reads its file, and
	// while the node pays for a private sum. storing is locked after it; it is held while
	// records are changed or an agent starts with them, so that no record is missed or
	// handed over twice.
	adding, storing sync.Mutex
	oldest          learner.Seq // no stored record has a lower number; guarded by storing
	clock           clock       // guarded by storing
	aged            time.Time   // when records were last deleted by age, or waited for the clock; guarded by storing
	waiting         bool        // the owner was told that they wait for the clock; guarded by storing

	intake  sync.Mutex    // guards the next two fields
	session *session      // nil unless Run is running
	running chan struct{} // closed while there is a session

	pauses  *pauses
	records ownRecords
	fits    fits
	sums    *knowledge // nil: the task has no private sums
	handout handout

	keptHour time.Time // the hour of the comparison that was kept last; belongs to the goroutine of comparing
}

// Open opens a data directory made by [datadir.Make]. Only one process can have it open.
// Settings replace values of its configuration. The caller must close the node.
func Open(dir string, log *slog.Logger, over ...datadir.Setting) (*Node, error) {
	return OpenSharing(dir, new(Shared), log, over...)
}

// OpenSharing is Open for many nodes of one task in one process.
func OpenSharing(dir string, shared *Shared, log *slog.Logger, over ...datadir.Setting) (*Node, error) {
	files, err := datadir.ReadSharing(dir, shared.Catalogue, over...)
	if err != nil {
		return nil, err
	}
	self, err := peer.IDFromPrivateKey(files.Key)
	if err != nil {
		return nil, fmt.Errorf("node: the identity has no peer ID: %w", err)
	}
	log = log.With("node", shortID(self))
	bootstrap, _ := files.Config.BootstrapPeers() // cannot fail: validated when the file was read
	closed, err := datadir.ReadPrivate(dir, self, bootstrap, logs.For(log, logs.Discovery))
	if err != nil {
		return nil, err
	}
	store, err := datadir.OpenStore(dir, &files)
	if err != nil {
		return nil, err
	}
	n := &Node{
		dir:          dir,
		self:         self,
		files:        files,
		over:         over,
		private:      closed,
		network:      datadir.NetworkName(files.Task),
		log:          log,
		diary:        diary.New(log),
		logs:         logs.Of(log),
		store:        store.Store,
		ledger:       store.Ledger,
		policy:       store.Policy,
		meter:        netedge.NewMeter(),
		surroundings: netedge.NewSurroundings(&files.Config),
		running:      make(chan struct{}),
		source:       freshSource,
		records:      ownRecords{store: store.Store, task: files.Task},
		fits:         fits{compared: make(chan struct{}, 1)},
	}
	n.live.Store(&n.files.Config)
	if kept := store.KeptBefore(); kept != "" {
		n.log.Warn("this version has changed the layout of the database: an older p2pnode refuses it; a copy as it was, which holds records, stays beside it for 30 days", "copy", filepath.Base(kept))
	}
	if n.opened = store.Left; n.opened != "" {
		n.log.Warn("this node has left what kept strangers away, and speaks to more peers than it did: if you did not mean that, stop it and put the files back", "left", n.opened)
	}
	if n.pauses, err = openPauses(n.store); err == nil {
		n.book, err = netedge.OpenBook(n.store, n.network, logs.For(n.log, logs.Discovery))
	}
	if err == nil {
		n.clock, err = openClock(n.store)
	}
	if err == nil {
		n.sums, err = openKnowledge(dir, &n.files, shared, n.ledger)
	}
	if err == nil {
		n.handout, err = newHandout(dir, files.Task)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return n, nil
}

// Close releases the data directory. Run must have returned. Close ends a running fit.
func (n *Node) Close() error {
	n.fits.close()
	n.diary.Close()
	return n.store.Close()
}

// ID returns the node's peer ID.
func (n *Node) ID() peer.ID { return n.self }

// Task returns the task that the node learns. The caller must not change it.
func (n *Node) Task() *learner.Task { return n.files.Task }

// added notes records that were just stored, and the notes on their cells. The caller
// holds n.storing.
func (n *Node) added(stored []learner.Record, noted learner.Tally) error {
	stored = n.records.change(storage.Changes{Stored: stored, Noted: noted})
	if s := n.current(); s != nil {
		return s.records(stored, nil)
	}
	return nil
}

// cohortRule says which records are stored, and when they begin a new cohort.
func (n *Node) cohortRule() storage.Intake {
	return storage.Intake{
		Admit:  n.files.Task.Admit,
		Size:   n.files.Task.Cohort(),
		Age:    time.Duration(n.live.Load().CohortHours * float64(time.Hour)),
		Closed: n.closed,
	}
}

// current returns the session; nil unless Run is running.
func (n *Node) current() *session {
	n.intake.Lock()
	defer n.intake.Unlock()
	return n.session
}

// closed reports whether new records must begin another cohort: the present one can pay
// for no more releases, or it is in a private sum, which later records are not in.
func (n *Node) closed(c privacy.Cohort) bool {
	return n.spent(c) || n.sums != nil && n.ledger.Epoch(c) > 0
}

// errStranded is the error of a restored node whose learner goes in rounds.
var errStranded = api.Advise(errors.New("node: the directory was restored, and its task's learner goes in rounds, where nobody would follow it: it predicts, and takes part no more"),
	"to take part, make a node in an empty directory, with records that were in none; if the task names this node, as a server of polar, make a task that names another one")

// stranded says why a restored node cannot take part any more; nil: it can.
func (n *Node) stranded() error {
	if n.files.Task.Stranded(gossip.ID(n.self), n.ledger.Round()) {
		return errStranded
	}
	return nil
}

// barred says why the node cannot run any more; nil: it can.
func (n *Node) barred() error { return cmp.Or(knownContradiction(n.ledger), n.stranded()) }

// state returns the agent's state after its last event or, if the node is not running,
// the stored one. It does not wait for the agent. The caller must not change the result.
func (n *Node) state() (learner.State, error) {
	if s := n.current(); s != nil {
		return *s.loop.shown.Load(), nil
	}
	m, err := n.stored()
	return m.State, err
}

// stored returns what the node kept when it stored its state last.
func (n *Node) stored() (memory, error) { return readMemory(n.ledger, n.files.Task, n.network) }

// shortID returns the end of a peer ID, which is enough for people to tell nodes apart.
func shortID(id peer.ID) string {
	s := id.String()
	return s[max(0, len(s)-8):]
}

// Interface is a network interface, for [Node.SetInterfaces].
type Interface = discovery.Interface

// SetInterfaces tells the node which network interfaces the machine has. It is for
// operating systems that do not say: Android 11 and later tell only Java code. The node
// announces the addresses of the interfaces and looks for peers on them, from now until
// the next call, in this run and later ones. After nil it asks the operating system
// again.
func (n *Node) SetInterfaces(list []Interface) { n.surroundings.Interfaces.Set(list) }

// SetDNS tells the node which servers resolve names. It is for systems that do not say: a
// program on a phone has no resolv.conf. With an empty list the node asks the system
// again.
func (n *Node) SetDNS(servers []netip.AddrPort) { n.surroundings.DNS.Set(servers) }

// bootstrap lists the peers to start from: those of the configuration and those that were
// added. A peer that is both has the addresses of both.
func (n *Node) bootstrap() []peer.AddrInfo {
	out, _ := n.live.Load().BootstrapPeers() // cannot fail: validated when the file was read
	for _, p := range n.book.Added() {
		i := slices.IndexFunc(out, func(q peer.AddrInfo) bool { return q.ID == p.ID })
		if i < 0 {
			out = append(out, p)
		} else {
			out[i].Addrs = discovery.Bound(slices.Concat(p.Addrs, out[i].Addrs))
		}
	}
	return out
}

// Sparing reports whether the configuration asks for low power.
func (n *Node) Sparing() bool { return n.files.Config.Power == datadir.PowerLow }

// power returns how often the node acts while it has nothing to send.
func (n *Node) power() netedge.Power {
	p := netedge.PowerOf(&n.files.Config, n.files.Task.Graph.Degree)
	if n.sums != nil && n.sums.member {
		return p.Serving(n.files.Task.Sums.Contributors)
	}
	return p
}

// freshSource returns a cryptographic generator with a seed of its own.
func freshSource() (rand.Source, error) {
	var seed [32]byte
	if _, err := crand.Read(seed[:]); err != nil {
		return nil, err
	}
	return rand.NewChaCha8(seed), nil
}
