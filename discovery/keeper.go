package discovery

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
	"github.com/multiformats/go-multiaddr"
)

const (
	firstRedial   = 500 * time.Millisecond // after a failed dial; doubles
	longestRedial = time.Minute
	telling       = 8 * firstRedial // the pause at which the operator hears of it, once an outage
	lasting       = 5 * time.Second // shorter connections count as failed dials
	// courtesy is how long the peer with the higher ID waits for the other one to restore
	// a lost connection, so that they do not both dial.
	courtesy  = time.Second
	pingLimit = 2 // pings in a row without an answer that show a dead peer
)

// pings says when to ping. The transports notice dead peers by themselves, much sooner;
// pings find a peer that is alive and answers no streams, after at most
// every + again + 2*timeout.
type pings struct {
	every   time.Duration
	again   time.Duration // after a ping without an answer
	timeout time.Duration
}

// Keeper keeps connections to a changing set of wanted peers: it dials them
// when they are not connected, with growing pauses, protects their connections
// from being trimmed, and closes connections that no longer answer.
type Keeper struct {
	host    host.Host
	log     *slog.Logger
	tag     string        // names this keeper's protections
	changed chan struct{} // the wanted set is new
	pings   pings

	mu     sync.Mutex
	wanted map[peer.ID]*wanted
}

// wanted is one peer of the set. Its first four fields are under Keeper.mu.
type wanted struct {
	info   peer.AddrInfo       // replaced as a whole
	worked multiaddr.Multiaddr // the address that was dialled with success last; nil if none was
	failed error               // of the last dial; nil while connected
	dials  int                 // so far
	// moved receives a value when a connection to the peer came or went, and at
	// a refresh.
	moved chan struct{}
	// refreshed counts the calls of Refresh; each is a reason to try at once.
	refreshed atomic.Int64
	// stop ends the goroutine that tends the peer; nil before it has started.
	stop context.CancelFunc
}

func (w *wanted) refresh() {
	w.refreshed.Add(1)
	signal(w.moved)
}

// NewKeeper returns a keeper without wanted peers. One host can have many keepers.
func NewKeeper(h host.Host, logger *slog.Logger) *Keeper { return newKeeper(h, logger, neighbours) }

// The names of the keepers.
const neighbours, origins = "neighbours", "bootstrap"

func tagOf(name string) string { return "p2pnode/" + name }

// Wanted reports whether a keeper of the host keeps connections to the peer.
func Wanted(h host.Host, p peer.ID) bool {
	conns := h.ConnManager()
	return conns.IsProtected(p, tagOf(neighbours)) || conns.IsProtected(p, tagOf(origins))
}

func newKeeper(h host.Host, logger *slog.Logger, name string) *Keeper {
	return &Keeper{
		host:    h,
		log:     logger,
		tag:     tagOf(name),
		changed: make(chan struct{}, 1),
		pings:   pings{every: 10 * time.Minute, again: 5 * time.Second, timeout: 5 * time.Second},
		wanted:  make(map[peer.ID]*wanted),
	}
}

// Want replaces the set of wanted peers. Their addresses must be ones that strangers cannot
// have named; those that the host has heard, from whomever, are tried beside them. Without
// addresses a peer is dialled at those the host knows. Connections to peers that are no longer wanted stay
// open but lose their protection. It may be called at any time, before and
// during Run, from any goroutine; it does not block.
func (k *Keeper) Want(peers []peer.AddrInfo) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, w := range k.wanted {
		if slices.ContainsFunc(peers, func(p peer.AddrInfo) bool { return p.ID == id }) {
			continue
		}
		if w.stop != nil {
			w.stop()
		}
		k.host.ConnManager().Unprotect(id, k.tag)
		delete(k.wanted, id)
	}
	for _, p := range peers {
		if p.ID == k.host.ID() {
			continue
		}
		if w, ok := k.wanted[p.ID]; ok {
			if !slices.EqualFunc(w.info.Addrs, p.Addrs, multiaddr.Multiaddr.Equal) {
				w.refresh()
			}
			w.info = p
			continue
		}
		k.host.ConnManager().Protect(p.ID, k.tag)
		k.wanted[p.ID] = &wanted{info: p, moved: make(chan struct{}, 1)}
	}
	signal(k.changed)
}

// Refresh is for changes of the network. It dials the wanted peers that are not connected
// now, and checks whether the others still answer. It may be called at any time, from any
// goroutine; it does not block.
func (k *Keeper) Refresh() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.wanted {
		w.refresh()
	}
}

// failure returns why a wanted peer could not be reached the last time. It is nil if the
// peer was reached, is not wanted, or has not been tried. It may be called from any
// goroutine.
func (k *Keeper) failure(id peer.ID) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w, ok := k.wanted[id]; ok {
		return w.failed
	}
	return nil
}

// Run keeps the connections until ctx ends and returns nil after everything it
// started has ended. It leaves the connections open. A keeper runs once.
func (k *Keeper) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	notify := &network.NotifyBundle{
		ConnectedF:    func(_ network.Network, c network.Conn) { k.connectedTo(c) },
		DisconnectedF: func(_ network.Network, c network.Conn) { k.moved(c.RemotePeer()) },
	}
	k.host.Network().Notify(notify)
	defer k.host.Network().StopNotify(notify)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.changed:
			k.tendNew(ctx, &running)
		}
	}
}

// tendNew starts a goroutine for every wanted peer that has none.
func (k *Keeper) tendNew(ctx context.Context, running *sync.WaitGroup) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, w := range k.wanted {
		if w.stop != nil {
			continue
		}
		var own context.Context
		own, w.stop = context.WithCancel(ctx)
		running.Go(func() { k.tend(own, id, w) })
	}
}

func (k *Keeper) moved(p peer.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w, ok := k.wanted[p]; ok {
		signal(w.moved)
	}
}

// tend keeps one peer connected until ctx ends. It redials at once after a connection
// that lasted. After other failures it waits, longer each time, until a refresh.
func (k *Keeper) tend(ctx context.Context, id peer.ID, w *wanted) {
	pause := firstRedial
	for ctx.Err() == nil {
		seen := w.refreshed.Load()
		if err := k.dial(ctx, w); err != nil {
			level := slog.LevelDebug
			if pause == telling {
				level = slog.LevelWarn
			}
			k.log.Log(ctx, level, "cannot reach a peer; trying again", "peer", id, "reason", Reason(err))
		}
		start := time.Now()
		k.hold(ctx, id, w)
		if time.Since(start) > lasting {
			pause = firstRedial
			if id < k.host.ID() {
				k.rest(ctx, courtesy, id, w, seen)
			}
			continue
		}
		k.rest(ctx, jitter(pause), id, w, seen)
		pause = min(2*pause, longestRedial)
		if w.refreshed.Load() != seen {
			pause = firstRedial
		}
	}
}

// rest waits, at most until the peer has connected by itself or the keeper has been
// refreshed more often than seen.
func (k *Keeper) rest(ctx context.Context, d time.Duration, id peer.ID, w *wanted, seen int64) {
	end := time.Now().Add(d)
	for ctx.Err() == nil && !k.connected(id) && w.refreshed.Load() == seen && !sleep(ctx, time.Until(end), w.moved) {
	}
}

func (k *Keeper) connected(id peer.ID) bool {
	return k.host.Network().Connectedness(id) == network.Connected
}

// hold pings the peer while it is connected and returns when it is not.
func (k *Keeper) hold(ctx context.Context, id peer.ID, w *wanted) {
	pause := jitter(k.pings.every)
	seen := w.refreshed.Load()
	for silent := 0; silent < pingLimit; {
		if ctx.Err() != nil || !k.connected(id) {
			return
		}
		if !sleep(ctx, pause, w.moved) && w.refreshed.Load() == seen {
			continue
		}
		seen = w.refreshed.Load()
		if k.ping(ctx, id) == nil {
			silent, pause = 0, k.pings.every
		} else {
			silent, pause = silent+1, k.pings.again
		}
	}
	if ctx.Err() == nil {
		k.log.Info("peer does not answer; reconnecting", "peer", id)
		_ = k.host.Network().ClosePeer(id)
	}
}

func (k *Keeper) ping(ctx context.Context, id peer.ID) error {
	ctx, cancel := context.WithTimeout(network.WithNoDial(ctx, "ping"), k.pings.timeout)
	defer cancel()
	select {
	case result := <-ping.Ping(ctx, k.host, id):
		return result.Error
	case <-ctx.Done():
		return ctx.Err()
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
