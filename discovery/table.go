package discovery

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	dht "github.com/libp2p/go-libp2p-kad-dht"
	"github.com/libp2p/go-libp2p/core/discovery"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/discovery/routing"
	"github.com/multiformats/go-multiaddr"
)

const (
	// firstPause is the time between the first looks; it grows by half until
	// there are enough candidates, at most to longestPause, the time between
	// looks from then on.
	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Minute
	// readvertise is the time between a node's announcements; an announcement
	// is believed for validity.
	readvertise = 20 * time.Minute
	validity    = time.Hour
	// lookTimeout bounds one announcement or one look.
	lookTimeout = 30 * time.Second
	// bucketSize is how many nodes keep an announcement, and bounds how many of each
	// distance are remembered; a look has to connect to some of them. The default
	// of 20 is for networks whose nodes stay for minutes and answer half the time.
	bucketSize = 11
	// newcomersAsked is how many peers that have just connected are asked at the same time
	// whether they answer. Each can send 256 KiB unread. Libp2p's default is 256.
	newcomersAsked = 16
	// sightings is how many of the nodes seen in one look are reported. They are drawn
	// at random, because the first ones would always be the same.
	sightings = 64
)

// table is a Kademlia hash table of the network's own, used as a meeting
// point: every node announces itself under one key and reads who else did.
type table struct {
	self   peer.ID
	config Config
	dht    *dht.IpfsDHT
	meet   *routing.RoutingDiscovery
	key    string
}

func newTable(h host.Host, c Config) (*table, error) {
	mode := dht.ModeServer
	if c.Client {
		mode = dht.ModeClient
	}
	key := "p2pnode/" + c.Network
	// The context only carries values here; close ends the table. Nodes look up only this
	// one key, so the tables need no refreshing beyond that.
	d, err := dht.New(context.Background(), newAsked(h),
		dht.Mode(mode),
		dht.ProtocolPrefix(protocol.ID("/p2pnode/"+c.Network)),
		dht.DisableValues(),
		dht.BucketSize(bucketSize),
		dht.DisableAutoRefresh(),
		dht.LookupCheckConcurrency(newcomersAsked),
		dht.ProviderStore(newProviders(h, key)),
	)
	if err != nil {
		return nil, err
	}
	return &table{
		self:   h.ID(),
		config: c,
		dht:    d,
		meet:   routing.NewRoutingDiscovery(d),
		key:    key,
	}, nil
}

func (t *table) close() error { return t.dht.Close() }

// look announces this node and looks for others until ctx ends. After each look it
// tells lean whether peers to start from are needed.
func (t *table) look(ctx context.Context, lean func(needed bool)) {
	var announced, tried time.Time
	var named []multiaddr.Multiaddr // the addresses in that announcement
	var gap time.Duration           // between two that new addresses make necessary; doubles, as some come and go
	// A server may be the only one and knows who announced itself to it.
	reaches := func() bool { return !t.config.Client || t.dht.RoutingTable().Size() > 0 }
	moved := func() bool { return reaches() && !announced.IsZero() && !t.at(named) && time.Since(tried) >= gap }
	p := pace{first: firstPause, longest: longestPause, grow: 1.5}
	for ctx.Err() == nil {
		changed := t.config.Interfaces.Changed()
		known, here := t.dht.RoutingTable().Size(), t.addrs()
		if reaches() {
			early := moved()
			if early || time.Since(announced) > readvertise {
				if gap = min(max(lookEvery, 2*gap), readvertise); !early {
					gap = 0
				}
				tried = time.Now()
				if t.announce(ctx) {
					announced, named = time.Now(), here
				}
			}
			t.find(ctx)
		}
		enough := t.config.Enough()
		lean(!enough || known == 0)
		p.rest(ctx, enough, changed, func() bool {
			return enough && !t.config.Enough() || known == 0 && t.dht.RoutingTable().Size() > 0 || moved()
		})
		if isClosed(changed) { // the machine may have slept, and the announcement be forgotten
			announced = time.Time{}
		}
	}
}

// addrs returns the addresses of this node, in an order of their own.
func (t *table) addrs() []multiaddr.Multiaddr {
	all := slices.Clone(t.dht.Host().Addrs())
	slices.SortFunc(all, multiaddr.Multiaddr.Compare)
	return all
}

// at reports whether these are still all addresses of this node: others are found out, given by
// a router or a relay, or come with an interface.
func (t *table) at(addrs []multiaddr.Multiaddr) bool {
	return slices.EqualFunc(t.addrs(), addrs, multiaddr.Multiaddr.Equal)
}

// lookUp makes a peer's addresses known to the host.
func (t *table) lookUp(ctx context.Context, p peer.ID) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	found, err := t.dht.FindPeer(ctx, p)
	if err != nil {
		t.config.Logger.Debug("a peer was not found", "peer", p, "error", err)
		return
	}
	t.dht.Host().Peerstore().AddAddrs(p, found.Addrs, peerstore.TempAddrTTL)
}

func (t *table) announce(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	_, err := t.meet.Advertise(ctx, t.key)
	if err != nil {
		t.config.Logger.Debug("announcing this node failed", "error", err)
	}
	return err == nil
}

func (t *table) find(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	answers, err := t.meet.FindPeers(ctx, t.key, discovery.Limit(0)) // no limit
	if err != nil {
		t.config.Logger.Debug("looking for nodes failed", "error", err)
		return
	}
	var seen []peer.AddrInfo
	for p := range answers {
		if p.ID != t.self && len(p.Addrs) > 0 {
			seen = append(seen, p)
		}
	}
	rand.Shuffle(len(seen), func(i, j int) { seen[i], seen[j] = seen[j], seen[i] })
	for _, p := range seen[:min(len(seen), sightings)] {
		p.Addrs = Bound(p.Addrs)
		t.config.Found(p)
	}
}
