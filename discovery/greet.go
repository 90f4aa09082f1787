package discovery

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/multiformats/go-multiaddr"
)

const (
	// greetings is how many of those who answered are called at a time.
	greetings = 8
	// greetTimeout bounds one call: whoever is there, on the local network, answers soon.
	greetTimeout = 3 * time.Second
	// maxAnswers bounds the answers that wait until their nodes are called, and
	// maxAnswersOf those that came from one address: a machine may have several nodes.
	maxAnswers, maxAnswersOf = 4096, 64
)

// greeter calls the nodes of which answers on the local network tell. Anybody there can tell
// of any number of nodes, at any address, so only those that were met are believed. Who is
// called next is drawn among the addresses that answers came from, so that many answers of one
// do not keep the nodes of the others waiting.
type greeter struct {
	host    host.Host
	senders []netip.Addr // those with answers that wait, in no order
	answers map[netip.Addr][]peer.AddrInfo
	waiting int
	wrong   map[string]bool // addresses at which another one was met than an answer told of

	calls   int // begun
	calling int // of these are not over
	called  chan greeting
	failed  bool // a call has met nobody
}

// greeting is how a call ended.
type greeting struct {
	met    []peer.AddrInfo
	others bool // who was met is not who was called, and is at the addresses for certain
}

func newGreeter(h host.Host) *greeter {
	return &greeter{
		host: h, answers: make(map[netip.Addr][]peer.AddrInfo), wrong: make(map[string]bool),
		called: make(chan greeting, greetings),
	}
}

// add notes a node of which an answer told that came from an address.
func (g *greeter) add(from netip.Addr, p peer.AddrInfo) {
	before := g.answers[from]
	if g.waiting == maxAnswers || len(before) == maxAnswersOf {
		return
	}
	if before == nil {
		g.senders = append(g.senders, from)
	}
	g.answers[from] = append(before, p)
	g.waiting++
}

// next takes one of the answers that wait.
func (g *greeter) next() peer.AddrInfo {
	i := rand.IntN(len(g.senders))
	from := g.senders[i]
	p := g.answers[from][0]
	g.waiting--
	if g.answers[from] = g.answers[from][1:]; len(g.answers[from]) == 0 {
		delete(g.answers, from)
		g.senders = slices.Delete(g.senders, i, i+1)
	}
	return p
}

// greet calls nodes, as many as may be called at a time. Who was met comes to g.called, once for
// each call, and must be given to [greeter.welcome].
func (g *greeter) greet(ctx context.Context) {
	for g.calling < greetings && g.waiting > 0 {
		p := g.next()
		p.Addrs = slices.DeleteFunc(p.Addrs, func(a multiaddr.Multiaddr) bool { return g.wrong[a.String()] })
		if len(p.Addrs) == 0 { // who is there is known
			continue
		}
		g.calls++
		g.calling++
		go func() { g.called <- call(ctx, g.host, p) }()
	}
}

// welcome ends a call. Only what a handshake has proved of an address is noted: who was called and
// is there may have named addresses of others, too.
func (g *greeter) welcome(who greeting) {
	g.calling--
	g.failed = g.failed || len(who.met) == 0
	if !who.others {
		return
	}
	for _, p := range who.met {
		for _, a := range p.Addrs {
			g.wrong[a.String()] = true
		}
	}
}

// call connects to a node, and returns it if that succeeds. If another one is at an address, it has
// proved who it is, and call returns that one, not connected.
func call(ctx context.Context, h host.Host, p peer.AddrInfo) greeting {
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	err := connect(ctx, h, p)
	if err == nil {
		return greeting{met: []peer.AddrInfo{p}}
	}
	var failed *swarm.DialError
	if !errors.As(err, &failed) {
		return greeting{}
	}
	var met []peer.AddrInfo
	for _, f := range failed.DialErrors {
		var other sec.ErrPeerIDMismatch
		if errors.As(f.Cause, &other) && other.Actual != h.ID() {
			met = append(met, peer.AddrInfo{ID: other.Actual, Addrs: []multiaddr.Multiaddr{f.Address}})
		}
	}
	return greeting{met, true}
}
