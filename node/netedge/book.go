package netedge

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/discovery"
	"p2pnode/node/api"
	"p2pnode/storage"
)

const (
	// maxMet bounds the peers that are remembered because the node met them. That many
	// are enough to find the network again. Half of them, maxStood, are those that were met
	// again for the longest time, so that a crowd of new ones does not push them out.
	maxMet   = 256
	maxStood = maxMet / 2
	// maxAdded bounds the peers that the owner adds, because the node keeps a connection
	// to each.
	maxAdded = 64
	// forgetAfter is how long a peer may be away before it is forgotten, unless it is among the
	// minMet that were seen last. So a node that was off for months, that saw nobody or of
	// which the clock jumped keeps whom it can start from.
	forgetAfter = 30 * 24 * time.Hour
	minMet      = 32
	// maxMisses is how many dials in a row a peer may leave unanswered, while others answer,
	// before it is forgotten.
	maxMisses = 5
	noteEvery = 10 * time.Minute
)

// ErrManyPeers says that the owner has added as many peers as the node keeps.
var ErrManyPeers error = api.Advise(fmt.Errorf("node: %d peers were added already, and the node keeps no more", maxAdded), "take one out first with p2pnode peer remove")

// Book remembers peers between runs: those the node met, which took part in
// its task, and those the owner added. It is safe for concurrent use.
type Book struct {
	prefix string // with which the names of this task's protocols begin
	store  *storage.Store
	log    *slog.Logger

	mu    sync.Mutex
	known map[peer.ID]*acquaintance
	// writing is held over a copy of known and its way to the disk, so that no older copy
	// comes there later. It is taken before mu.
	writing sync.Mutex
}

// acquaintance is what is known of one peer.
type acquaintance struct {
	worked multiaddr.Multiaddr // where this node reached the peer in this run; nil if it has not
	addrs  []multiaddr.Multiaddr
	first  time.Time // when it was seen for the first time
	seen   time.Time // zero: never
	added  bool
	misses int
}

// OpenBook reads the remembered peers of a network's task from the store. It returns an error
// if the store cannot be read, or if a remembered peer is invalid.
func OpenBook(store *storage.Store, network string, log *slog.Logger) (*Book, error) {
	b := &Book{prefix: protocols + network + "/", store: store, log: log, known: make(map[peer.ID]*acquaintance)}
	peers, err := store.Peers()
	if err != nil {
		return nil, err
	}
	for _, p := range peers {
		info, err := AddrInfo(p.ID, p.Addrs)
		if err != nil {
			return nil, fmt.Errorf("node: a remembered peer: %w", err)
		}
		a := &acquaintance{addrs: discovery.Bound(info.Addrs), added: p.Added, misses: p.Failures}
		if p.LastSeen > 0 {
			a.first, a.seen = time.Unix(p.LastSeen, 0), time.Unix(p.LastSeen, 0)
		}
		if p.FirstSeen > 0 {
			a.first = time.Unix(p.FirstSeen, 0)
		}
		b.known[info.ID] = a
	}
	b.keep(maxMet) // earlier versions kept more
	return b, nil
}

// Watch notes the peers that the host meets until ctx ends, and calls met with each of
// them once it has said where it is.
func (b *Book) Watch(ctx context.Context, h host.Host, met func(peer.ID)) error {
	news, err := h.EventBus().Subscribe(new(event.EvtPeerIdentificationCompleted), eventbus.Name("p2pnode peers met"))
	if err != nil {
		return fmt.Errorf("node: watch for peers: %w", err)
	}
	defer news.Close()
	tick := time.NewTicker(noteEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			b.Save(h)
		case e, open := <-news.Out():
			if !open {
				return nil
			}
			if e, ok := e.(event.EvtPeerIdentificationCompleted); ok && b.Belongs(e.Protocols) {
				b.met(e)
				met(e.Peer)
			}
		}
	}
}

// protocols begins the names of all protocols of p2pnode. The network's name follows.
const protocols = "/p2pnode/"

// Networks lists the networks in which a peer with such protocols takes part.
func Networks(list []protocol.ID) (names []string) {
	for _, p := range list {
		if rest, ours := strings.CutPrefix(string(p), protocols); ours {
			name, _, _ := strings.Cut(rest, "/")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Belongs reports whether a peer with such protocols takes part in this task.
func (b *Book) Belongs(list []protocol.ID) bool {
	return slices.ContainsFunc(list, func(p protocol.ID) bool { return strings.HasPrefix(string(p), b.prefix) })
}

func (b *Book) met(e event.EvtPeerIdentificationCompleted) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.known[e.Peer]
	if a == nil {
		b.keep(maxMet - 1)
		a = &acquaintance{}
		b.known[e.Peer] = a
	}
	a.meet(time.Now())
	if e.Conn.Stat().Direction == network.DirOutbound {
		a.worked = e.Conn.RemoteMultiaddr()
	}
	a.learn(e.ListenAddrs)
}

// learn takes over the addresses that a peer names now. The address at which it was
// reached comes first. The caller holds the book's lock.
func (a *acquaintance) learn(addrs []multiaddr.Multiaddr) {
	if len(addrs) == 0 {
		return
	}
	if a.worked != nil {
		addrs = slices.Concat([]multiaddr.Multiaddr{a.worked}, addrs)
	}
	a.addrs = discovery.Bound(addrs)
}

// meet notes that a peer is there.
func (a *acquaintance) meet(now time.Time) {
	if a.first.IsZero() {
		a.first = now
	}
	a.seen, a.misses = now, 0
}

// stood is how long after the first time a peer was seen again.
func (a *acquaintance) stood() time.Duration { return a.seen.Sub(a.first) }

// keep forgets peers if the node has met more than so many: those that were not seen for the
// longest time, except those that stood longest. The caller holds b.mu.
func (b *Book) keep(most int) {
	met := b.sorted(func(a *acquaintance) bool { return !a.added })
	if len(met) <= most {
		return
	}
	stood := slices.Clone(met)
	slices.SortStableFunc(stood, func(x, y peer.ID) int { return cmp.Compare(b.known[y].stood(), b.known[x].stood()) })
	others := slices.DeleteFunc(met, func(id peer.ID) bool { return slices.Contains(stood[:maxStood], id) })
	for _, id := range others[most-maxStood:] {
		delete(b.known, id)
	}
}

// sorted lists the peers that pass the filter, those seen last first. The caller holds
// b.mu.
func (b *Book) sorted(pass func(*acquaintance) bool) []peer.ID {
	var out []peer.ID
	for id, a := range b.known {
		if pass(a) {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(x, y peer.ID) int {
		return cmp.Or(b.known[y].seen.Compare(b.known[x].seen), cmp.Compare(x, y))
	})
	return out
}

// Remembered lists the peers to try when the node is alone.
func (b *Book) Remembered() []peer.AddrInfo {
	return b.infos(func(a *acquaintance) bool { return !a.added && len(a.addrs) > 0 })
}

// Addrs returns the addresses of a peer that it said itself, where this node reached it, or
// that the owner named. What others say of it is not among them.
func (b *Book) Addrs(id peer.ID) []multiaddr.Multiaddr {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.known[id]; a != nil {
		return a.addrs
	}
	return nil
}

// Added lists the peers the owner named.
func (b *Book) Added() []peer.AddrInfo {
	return b.infos(func(a *acquaintance) bool { return a.added })
}

func (b *Book) infos(pass func(*acquaintance) bool) []peer.AddrInfo {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []peer.AddrInfo
	for _, id := range b.sorted(pass) {
		out = append(out, peer.AddrInfo{ID: id, Addrs: b.known[id].addrs})
	}
	return out
}

// Tried notes which peers answered and which did not. If none answered, it holds nothing
// against them, because this node may be offline.
func (b *Book) Tried(reached, failed []peer.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range failed {
		if a := b.known[id]; a != nil && len(reached) > 0 {
			a.misses++
		}
	}
}

// Add remembers a peer that the owner names. It is on disk when Add returns.
func (b *Book) Add(p peer.AddrInfo) error {
	b.mu.Lock()
	a := b.known[p.ID]
	if a == nil {
		a = &acquaintance{}
	}
	count := len(b.sorted(func(a *acquaintance) bool { return a.added }))
	if !a.added && count >= maxAdded {
		b.mu.Unlock()
		return api.WrongRequest(ErrManyPeers)
	}
	b.known[p.ID] = a
	addrs := discovery.Bound(slices.Concat(p.Addrs, a.addrs))
	same := a.added && a.misses == 0 && slices.EqualFunc(addrs, a.addrs, multiaddr.Multiaddr.Equal)
	a.added, a.misses, a.addrs = true, 0, addrs
	b.mu.Unlock()
	if same {
		return nil // an app names the peers that it sees over and over
	}
	return b.write()
}

// Remove forgets a peer that the owner added.
func (b *Book) Remove(id peer.ID) error {
	b.mu.Lock()
	a := b.known[id]
	if a == nil || !a.added {
		b.mu.Unlock()
		return api.WrongRequest(fmt.Errorf("node: %s %w", id, api.ErrNoPeer))
	}
	delete(b.known, id)
	b.mu.Unlock()
	return b.write()
}

func (a *acquaintance) record(id peer.ID) storage.Peer {
	p := storage.Peer{ID: id.String(), Addrs: AddrStrings(a.addrs), Added: a.added, Failures: a.misses}
	if !a.seen.IsZero() {
		p.FirstSeen, p.LastSeen = a.first.Unix(), a.seen.Unix()
	}
	return p
}

// write puts what is known now in place of what is on disk.
func (b *Book) write() error {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	all := make([]storage.Peer, 0, len(b.known))
	for id, a := range b.known {
		all = append(all, a.record(id))
	}
	b.mu.Unlock()
	return b.store.SavePeers(all...)
}

// Save forgets those that were not there for long, and writes the book. The host knows which
// peers are connected. It also knows addresses that others have named, so these are not
// taken over.
func (b *Book) Save(h host.Host) {
	b.mu.Lock()
	now := time.Now()
	for id, a := range b.known {
		if h.Network().Connectedness(id) == network.Connected {
			a.meet(now)
		}
	}
	maps.DeleteFunc(b.known, func(_ peer.ID, a *acquaintance) bool { return !a.added && a.misses >= maxMisses })
	met := b.sorted(func(a *acquaintance) bool { return !a.added })
	for _, id := range met[min(minMet, len(met)):] {
		if now.Sub(b.known[id].seen) > forgetAfter {
			delete(b.known, id)
		}
	}
	b.mu.Unlock()
	if err := b.write(); err != nil {
		b.log.Error("cannot remember the peers", "error", err)
	}
}

// List describes the book for the owner, together with the peers named in the
// configuration.
func (b *Book) List(named []peer.AddrInfo) []api.Acquaintance {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []api.Acquaintance{}
	seen := func(id peer.ID) int64 {
		if a := b.known[id]; a != nil && !a.seen.IsZero() {
			return a.seen.Unix()
		}
		return 0
	}
	for _, p := range named {
		same := func(a api.Acquaintance) bool { return a.ID == p.ID.String() }
		if i := slices.IndexFunc(out, same); i >= 0 { // the configuration names it with several addresses
			out[i].Addrs = append(out[i].Addrs, AddrStrings(p.Addrs)...)
			continue
		}
		out = append(out, api.Acquaintance{ID: p.ID.String(), Addrs: AddrStrings(p.Addrs), LastSeen: seen(p.ID), From: "configuration"})
	}
	for _, id := range b.sorted(func(*acquaintance) bool { return true }) {
		if slices.ContainsFunc(named, func(p peer.AddrInfo) bool { return p.ID == id }) {
			continue
		}
		a := b.known[id]
		from := "met"
		if a.added {
			from = "added"
		}
		out = append(out, api.Acquaintance{ID: id.String(), Addrs: AddrStrings(a.addrs), LastSeen: seen(id), From: from})
	}
	rank := map[string]int{"configuration": 0, "added": 1, "met": 2}
	slices.SortStableFunc(out, func(a, b api.Acquaintance) int { return cmp.Compare(rank[a.From], rank[b.From]) })
	return out
}
