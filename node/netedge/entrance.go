package netedge

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/discovery"
	"p2pnode/discovery/reach"
	"p2pnode/internal/crowd"
)

// Entrance divides what a host has for strangers among the networks from which they come:
// places for connections whose other end has not said who it is; the handshakes in which
// it does; places for connections of peers that nobody here wants; and the opening of
// streams. Libp2p's own limits count all strangers together, so a few addresses that say
// nothing would keep everybody else out. Peers to which the host keeps connections, above
// all neighbours, are not counted.
//
// It is a connection gater in front of another one. It is safe for concurrent use.
type Entrance struct {
	connmgr.ConnectionGater // decides on everything else

	host  atomic.Pointer[host.Host]
	judge atomic.Pointer[Judge]

	mu        sync.Mutex
	waiting   map[ends]*arrival
	hall      *crowd.Places[ends] // places of connections that wait for the end of their handshakes
	knocks    *crowd.Parts
	calls     *crowd.Parts // packets that begin a connection over QUIC
	goesOn    *crowd.Parts // packets that go on with that, or answer a call of this host
	relayed   *crowd.Work  // connections through relays
	strangers *crowd.Places[network.Conn]
	overQUIC  *crowd.Places[network.Conn] // those of strangers over QUIC
	streams   fair
	again     fair        // introductions after the first
	backs     *crowd.Work // requests to be dialled back
	read      fair        // bytes
	placed    *crowd.Work // bytes of peers with places at the host's own relay
	answers   *crowd.Work // bytes for what neighbours ask
	shut      *shut
	step      *crowd.Doorstep

	holding sync.Mutex // guards the others
	held    *crowd.Rooms[*incoming]
	near    *crowd.Rooms[*incoming] // of neighbours
	each    map[peer.ID]int         // how many of those are whose
	slow    *crowd.Places[*peerConn]

	quicWatch
}

// Judge remembers what peers did. Its methods are called from many goroutines at once,
// and must not wait.
type Judge interface {
	// Refuses reports whether a peer is refused for what it did.
	Refuses(peer.ID) bool
	// Unanswered counts a stream that a peer opened beyond its share.
	Unanswered(peer.ID)
	// Flooded counts a neighbour that sent far more packets than anybody here read.
	Flooded(peer.ID)
}

// arrival is a connection whose handshakes are not finished.
type arrival struct {
	conn    io.Closer
	forgets *time.Timer
}

const (
	// keptFor is how long a connection that is not let in waits before it is closed, unless
	// others push it out, and doorstepPlaces how many wait at most. A place costs a file and
	// four kilobytes; if there are fewer places than peers that come again, these push each
	// other out at once.
	keptFor        = 5 * time.Second
	doorstepPlaces = 512
	// handshakes is how long a new connection may take to say who it is: five round trips
	// of two seconds.
	handshakes = 10 * time.Second
	// waitingMore is how many connections may wait for the end of their handshakes, in
	// addition to as many as the host keeps. strangersMore is the same for strangers that
	// have said who they are.
	waitingMore, strangersMore = 24, 64
	// leavingMore is how many connections that were turned away libp2p may still count. It
	// lets one go when the goroutine of its handshakes runs again, so it counts a burst of
	// them for a moment, and must not refuse the newcomers for whom they made room.
	leavingMore = 512
	// streamsMore is how many streams strangers may open in each streamWindow, in
	// addition to those for the connections that the host keeps. A stream that does not
	// say within this time what it is for is closed.
	streamsMore  = 512
	streamWindow = 10 * time.Second
	// knocksMore is how many connections may arrive in each knockWindow, in addition to as
	// many as the host keeps. Each costs a millisecond of handshakes, even if the peer is
	// refused once it has said who it is, and three until it is known and has gone again.
	// Addresses share them, and so do networks. Connections from this machine are not counted.
	// Through relays at which the host has a place relayedMore may arrive, shared by peers, since
	// nobody here knows their addresses: as many as two relays let one network make.
	knocksMore  = 64
	relayedMore = 192
	knockWindow = 30 * time.Second
	// openingMore is how many packets with which connections over QUIC begin are looked at in
	// each openingWindow, in addition to as many as the host keeps, before addresses and networks
	// share: as many of those that go on after a Retry as of first ones. An answer to one takes
	// more time than to read it, anybody can write any address on it, and a handshake has two or
	// three of each. A client sends again after less than a second, so it has several tries.
	openingMore   = 512
	openingWindow = time.Second
	// dialBacks is how many requests to be dialled back (AutoNAT) strangers may make in each
	// dialBackWindow before their networks must share. Libp2p answers 60 in a minute, whoever
	// asks, so five identities would leave everybody else without an answer. Two windows have
	// fewer than that together. An honest node asks another one once in two minutes.
	dialBacks      = 24
	dialBackWindow = time.Minute
)

// openings is how many streams strangers may open in each streamWindow before they must
// share.
func (p Power) openings() int { return streamsMore + streamsEach*p.connections }

func newEntrance(p Power, next connmgr.ConnectionGater) *Entrance {
	e := &Entrance{
		ConnectionGater: next,
		waiting:         make(map[ends]*arrival),
		hall:            crowd.NewPlaces[ends](p.connections + waitingMore),
		strangers:       crowd.NewPlaces[network.Conn](p.connections + strangersMore),
		overQUIC:        crowd.NewPlaces[network.Conn](max(strangersOverQUIC, p.connections/8)),
		knocks:          crowd.NewParts(p.connections+knocksMore, knockWindow),
		calls:           crowd.NewParts(p.connections+openingMore, openingWindow),
		goesOn:          crowd.NewParts(p.connections+openingMore, openingWindow),
		relayed:         crowd.NewWork(p.connections+relayedMore, knockWindow),
		streams:         newFair(p.openings(), streamWindow),
		again:           newFair(introducedAgain, streamWindow),
		backs:           crowd.NewWork(dialBacks, dialBackWindow),
		read:            newFair(readMore+readEach*p.served, readWindow),
		placed:          crowd.NewWork(readMore+readEach*p.served, readWindow),
		answers:         crowd.NewWork(answeredMore+readEach*p.served/2, readWindow),
		shut:            newShut(),
		step:            crowd.NewDoorstep(min(16*p.connections, doorstepPlaces), keptFor),
		held:            crowd.NewRooms[*incoming](heldAtOnce + p.served),
		near:            crowd.NewRooms[*incoming](heldByNeighbours + 2*p.neighbours),
		each:            make(map[peer.ID]int),
		slow:            crowd.NewPlaces[*peerConn](slowAtOnce),
		quicWatch:       quicWatch{watched: make(map[*quicConn]struct{}), surplus: make(map[netip.Prefix]int), rests: max(p.Look, quicLooks)},
	}
	e.looks = time.AfterFunc(e.rests, e.look)
	e.looks.Stop()
	return e
}

// Judged sets who remembers what peers did. Before that, nobody is refused for what it
// did.
func (e *Entrance) Judged(by Judge) { e.judge.Store(&by) }

// refuses reports whether a peer is refused for what it did.
func (e *Entrance) refuses(p peer.ID) bool {
	j := e.judge.Load()
	return j != nil && (*j).Refuses(p)
}

// guard sets the host behind the entrance.
func (e *Entrance) guard(h host.Host) {
	e.host.Store(&h)
	h.Network().Notify(&network.NotifyBundle{DisconnectedF: e.left})
}

// left notes that a connection has ended.
func (e *Entrance) left(_ network.Network, c network.Conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.strangers.Leave(c)
	e.overQUIC.Leave(c)
}

// InterceptAccept implements [connmgr.ConnectionGater].
func (e *Entrance) InterceptAccept(c network.ConnMultiaddrs) bool {
	if !e.ConnectionGater.InterceptAccept(c) {
		return false
	}
	if reach.IsRelayed(c.RemoteMultiaddr()) {
		return e.acceptRelayed(c)
	}
	conn, closes := c.(io.Closer)
	of, ok := endsOf(c)
	if !closes || !ok {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pass(of)
	if !e.admits(of.from.Addr()) {
		if a, ok := c.(*reach.Arrival); ok {
			a.ClosedBy(e.step.Keep)
		}
		return false
	}
	if under, ok := c.(*reach.Arrival); ok {
		under.Bound()
	}
	a := &arrival{conn: conn}
	a.forgets = time.AfterFunc(handshakes, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.waiting[of] == a {
			e.turnAway(of)
		}
	})
	e.waiting[of] = a
	for _, out := range e.hall.Enter(of, of.from.Addr(), nil) {
		if out == of {
			e.pass(of)
			return false
		}
		e.turnAway(out)
	}
	return true
}

// acceptRelayed decides on a connection that has come through a relay. The relay has proved
// who is behind it, and everybody behind it has its address: so a peer is refused for what it
// did itself, and nothing is held against the address. A peer that relays although this host
// has not asked it to answers for its connections, as they may all be its own.
func (e *Entrance) acceptRelayed(c network.ConnMultiaddrs) bool {
	conn, ok := c.(manet.Conn)
	if !ok {
		return true
	}
	ends, ok := conn.RemoteAddr().(*client.NetAddr)
	if !ok {
		return true
	}
	if who, err := peer.Decode(ends.Remote); err != nil || e.refuses(who) {
		return false
	}
	if from := e.from(c.RemoteMultiaddr()); from.IsValid() {
		return e.takes(e.knocks, from, ends.Relay)
	}
	return e.takes(e.relayed, netip.Addr{}, ends.Remote)
}

// admits counts a connection that arrives from an address, and reports whether its handshakes
// may begin. The caller holds e.mu.
func (e *Entrance) admits(from netip.Addr) bool {
	now := time.Now()
	if e.shut.off(from, now) {
		return false
	}
	return from.IsLoopback() || e.knocks.Take(from, "", 1, now)
}

// ignores implements [reach.Refuses]: it drops calls from where nobody would be let in now, and
// what is beyond its share of the packets that are answered before anybody has shown where it is.
func (e *Entrance) ignores(from netip.Addr, calls bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	switch {
	case calls && e.shut.off(from, now):
		return true
	case from.IsLoopback():
		return false
	case !calls:
		return !e.goesOn.Take(from, "", 1, now)
	}
	return !e.knocks.Grants(from, "", 1, now) || !e.calls.Take(from, "", 1, now)
}

// turnAway closes a connection that waits for the end of its handshakes. The caller holds
// e.mu.
func (e *Entrance) turnAway(of ends) {
	_ = e.waiting[of].conn.Close() // it may be closed already, which does no harm
	e.pass(of)
}

// pass notes that a connection does not wait any more. The caller holds e.mu.
func (e *Entrance) pass(of ends) {
	if a := e.waiting[of]; a != nil {
		a.forgets.Stop()
		delete(e.waiting, of)
		e.hall.Leave(of)
	}
}

// InterceptSecured implements [connmgr.ConnectionGater]. At this moment the peer has
// proved who it is, and nothing has been done for it yet.
func (e *Entrance) InterceptSecured(d network.Direction, p peer.ID, c network.ConnMultiaddrs) bool {
	if !e.ConnectionGater.InterceptSecured(d, p, c) {
		return false
	}
	if d != network.DirInbound || !e.refuses(p) {
		return true
	}
	if reach.IsRelayed(c.RemoteMultiaddr()) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if of, ok := endsOf(c); ok {
		e.pass(of)
	}
	e.shut.close(addrOf(c.RemoteMultiaddr()), time.Now())
	return false
}

// InterceptUpgraded implements [connmgr.ConnectionGater].
func (e *Entrance) InterceptUpgraded(c network.Conn) (bool, control.DisconnectReason) {
	if of, ok := endsOf(c); ok && c.Stat().Direction == network.DirInbound {
		e.mu.Lock()
		e.pass(of)
		e.mu.Unlock()
	}
	if allow, why := e.ConnectionGater.InterceptUpgraded(c); !allow {
		return false, why
	}
	if c.Stat().Direction != network.DirInbound || e.wanted(c.RemotePeer()) {
		return true, 0
	}
	from, spare := addrOf(c.RemoteMultiaddr()), func(c network.Conn) bool { return e.wanted(c.RemotePeer()) }
	e.mu.Lock()
	leave := e.strangers.Enter(c, from, spare)
	if overQUIC(c.RemoteMultiaddr()) {
		leave = append(leave, e.overQUIC.Enter(c, from, spare)...)
	}
	e.mu.Unlock()
	stays := true
	for _, out := range leave {
		if out == c {
			stays = false
			continue
		}
		go out.Close() // on a goroutine, because libp2p calls back and may hold its locks
	}
	if !stays {
		e.left(nil, c) // nobody else says so of a connection that was never let in
	}
	return stays, 0
}

// wanted reports whether anybody here keeps connections to a peer.
func (e *Entrance) wanted(p peer.ID) bool {
	h := e.host.Load()
	return h != nil && discovery.Wanted(*h, p)
}

// carriedBy reports whether a peer is a relay at which the host has a place, so that what
// others send arrives on its connection. The tag is that of libp2p's search for relays.
func (e *Entrance) carriedBy(p peer.ID) bool {
	h := e.host.Load()
	return h != nil && (*h).ConnManager().IsProtected(p, "autorelay")
}

// hasPlace reports whether others call a peer through the host's own relay, so that what it
// answers them arrives on its connection. The tag is that of libp2p's relay.
func (e *Entrance) hasPlace(p peer.ID) bool {
	h := e.host.Load()
	if h == nil {
		return false
	}
	tags := (*h).ConnManager().GetTagInfo(p)
	return tags != nil && tags.Tags["relay-reservation"] > 0
}

// address returns the address from which a peer is connected, or that of its relay; not valid
// before there is a host.
func (e *Entrance) address(p peer.ID) netip.Addr {
	if h := e.host.Load(); h != nil {
		return crowd.From((*h).Network(), p)
	}
	return netip.Addr{}
}

// opens reports whether a peer may open one more stream.
func (e *Entrance) opens(p peer.ID) bool {
	return e.wanted(p) || e.takes(e.streams, e.whence(p), string(p))
}

// hears reports whether there is time for a peer that introduces itself once more.
func (e *Entrance) hears(p peer.ID) bool { return e.takes(e.again, e.whence(p), string(p)) }

// dialsBack reports whether a peer is answered that asks to be dialled back. Few are, so that
// somebody with many addresses would have all: whole networks share.
func (e *Entrance) dialsBack(p peer.ID) bool {
	return e.wanted(p) || e.takes(e.backs, crowd.Widest(e.address(p)).Addr(), string(p))
}

// share is a [crowd.Work], or made of some.
type share interface {
	Take(from netip.Addr, name string, amount int, now time.Time) bool
}

// takes reports whether there is time for one more thing that somebody at an address wants.
func (e *Entrance) takes(w share, from netip.Addr, name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return w.Take(from, name, 1, time.Now())
}

// blame counts a stream that was refused.
func (e *Entrance) blame(p peer.ID) {
	if j := e.judge.Load(); j != nil {
		(*j).Unanswered(p)
	}
}

// flooded counts a neighbour that sent far more than anybody here read.
func (e *Entrance) flooded(p peer.ID) {
	if j := e.judge.Load(); j != nil {
		(*j).Flooded(p)
	}
}

// resources is libp2p's resource manager with the entrance in front of it.
type resources struct {
	network.ResourceManager
	entrance *Entrance
	refused  *refused
}

var (
	errStreams = errors.New("node: strangers have opened too many streams")
	errKnocks  = errors.New("node: strangers connect too often over QUIC")
	errUnread  = errors.New("node: a stranger has enough room over QUIC for what is not read")
)

// OpenConnection implements [network.ResourceManager]. Over QUIC it is called as soon as
// somebody wants a handshake, and [Entrance.InterceptAccept] only after that.
func (r *resources) OpenConnection(d network.Direction, file bool, at multiaddr.Multiaddr) (network.ConnManagementScope, error) {
	if !overQUIC(at) {
		return r.ResourceManager.OpenConnection(d, file, at)
	}
	if d == network.DirInbound {
		r.entrance.mu.Lock()
		admitted := r.entrance.admits(crowd.Of(at))
		r.entrance.mu.Unlock()
		if !admitted {
			return nil, errKnocks
		}
	}
	scope, err := r.ResourceManager.OpenConnection(d, file, at)
	if err != nil {
		return nil, err
	}
	return &quicScope{ConnManagementScope: scope, entrance: r.entrance}, nil
}

// VerifySourceAddress implements [network.ResourceManager]. A peer that wants a handshake over
// QUIC must show that it is where it says (a Retry, one round trip), because that is counted.
func (r *resources) VerifySourceAddress(net.Addr) bool { return true }

// OpenStream implements [network.ResourceManager]. Nothing is read from a peer of which a
// stream was refused for a moment, so that it cannot open many more.
func (r *resources) OpenStream(p peer.ID, d network.Direction) (network.StreamManagementScope, error) {
	if d == network.DirInbound && !r.entrance.opens(p) {
		r.refused.BlockStream(p, d)
		r.entrance.blame(p)
		time.Sleep(pause)
		return nil, errStreams
	}
	scope, err := r.ResourceManager.OpenStream(p, d)
	if err != nil || d != network.DirInbound {
		return scope, err
	}
	s := &incoming{StreamManagementScope: scope, from: p, entrance: r.entrance, refused: r.refused}
	if !r.entrance.holds(s) {
		r.refused.BlockStream(p, d)
		s.Done()
		time.Sleep(pause)
		return nil, errStreams
	}
	return s, nil
}
