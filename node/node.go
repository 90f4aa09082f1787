// Package node is the p2pnode daemon as a library: one data directory, one
// libp2p host, one agent. [Open] reads the directory, [Node.Run] takes part in
// the network until its context ends, and the other methods serve the owner,
// with or without Run.
package node

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/discovery"
	"p2pnode/learner"
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
	over         []datadir.Setting              // over what config.toml says
	live         atomic.Pointer[datadir.Config] // with what Reload has changed
	private      datadir.Private
	network      string
	log          *slog.Logger
	diary        *diary.Diary
	logs         *logs.Log // nil: nobody keeps the lines
	store        *storage.Store
	ledger       *storage.Ledger
	policy       privacy.Policy
	book         *netedge.Book
	meter        *netedge.Meter
	surroundings *netedge.Surroundings
	observe      func(learner.Agent) learner.Agent // nil, or a test's recorder around the agent
	source       func() (rand.Source, error)       // of what is drawn beside the noise; seeded in tests only
	// observePeering is nil, or a test's recorder of the node's neighbours.
	observePeering func(time.Duration, peering.Input, peering.Output)

	// adding is held while records are added, for as long as an import reads its file.
	// storing, which is locked after it, is held while records are changed or an agent
	// starts with them, so that no record is missed or handed over twice.
	adding, storing sync.Mutex
	oldest          learner.Seq // no record has a lower number; under storing

	intake  sync.Mutex    // for what follows
	session *session      // nil unless Run is running
	running chan struct{} // closed while there is a session

	pauses  *pauses
	records ownRecords
	fits    fits
	sums    *knowledge // nil: the task has no private sums
	handout handout

	keptHour time.Time // of the comparison that was kept last; of the goroutine of comparing
}

// Open opens a data directory made by [datadir.Init]. Only one process can have it
// open. Settings lie over what its configuration says. Close it when done.
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
	bootstrap, _ := files.Config.BootstrapPeers() // validated when the file was read
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
	if n.pauses, err = openPauses(n.store); err == nil {
		n.book, err = netedge.OpenBook(n.store, n.network, logs.For(n.log, logs.Discovery))
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

// ID is the node's peer ID.
func (n *Node) ID() peer.ID { return n.self }

// Task is the task the node learns. It must not be changed.
func (n *Node) Task() *learner.Task { return n.files.Task }

// Add stores records made by [learner.Task.Encode] and hands them to the
// agent. All are stored or none; none after ctx has ended, or when the task does not
// admit one of them ([learner.Task.Admit]).
func (n *Node) Add(ctx context.Context, records []learner.Record) error {
	arrivals := make([]storage.Arrival, len(records))
	for i, r := range records {
		arrivals[i].Record = r
	}
	_, err := n.put(ctx, arrivals)
	return err
}

// added notes records that were just stored, and their cells. The caller holds n.storing.
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
		Size:   n.files.Task.CohortSize,
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

// closed reports whether new records begin another cohort: this one can pay for no more
// releases, or it is in a private sum, in which later records are not.
func (n *Node) closed(c privacy.Cohort) bool {
	released := !n.files.Task.Silent() && n.files.Config.Protected() && n.ledger.Exhausted(c)
	return released || n.sums != nil && n.ledger.Epoch(c) > 0
}

// state returns the agent's state of a moment ago, or when it last ran. It does not wait
// for the agent. The caller must not change the result.
func (n *Node) state() (learner.State, error) {
	if s := n.current(); s != nil {
		return *s.loop.shown.Load(), nil
	}
	return readState(n.ledger, n.files.Task)
}

// shortID is the end of a peer ID, enough for people to tell nodes apart.
func shortID(id peer.ID) string {
	s := id.String()
	return s[max(0, len(s)-8):]
}

// Interface is a network interface, for [Node.SetInterfaces].
type Interface = discovery.Interface

// SetInterfaces tells the node which network interfaces the machine has, where
// the operating system does not: Android 11 and later name them to Java code
// only. The node announces their addresses and looks for peers on them, at once
// and until the next call, in this run and later ones. After nil it asks the
// operating system again.
func (n *Node) SetInterfaces(list []Interface) { n.surroundings.Interfaces.Set(list) }

// SetDNS tells the node which servers resolve names, where the system does not
// say: a program on a phone has no resolv.conf. With none it asks the system again.
func (n *Node) SetDNS(servers []netip.AddrPort) { n.surroundings.DNS.Set(servers) }

// bootstrap lists the peers to start from: those of the configuration and those
// added. A peer that is both has the addresses of both.
func (n *Node) bootstrap() []peer.AddrInfo {
	out, _ := n.live.Load().BootstrapPeers() // validated when the file was read
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

// freshSource is a cryptographic generator with a seed of its own.
func freshSource() (rand.Source, error) {
	var seed [32]byte
	if _, err := crand.Read(seed[:]); err != nil {
		return nil, err
	}
	return rand.NewChaCha8(seed), nil
}
