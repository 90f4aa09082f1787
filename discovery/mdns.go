package discovery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Every node on the local network answers every question there, so n nodes that keep
// asking make n^2 packets. Newcomers announce themselves and ask, and so learn of all
// others. A node that has enough candidates, or has heard of no new node lately, need not
// ask.
const (
	firstMDNSPause   = 3 * time.Second // doubles
	longestMDNSPause = 10 * time.Minute
	// vainly is how many questions in a row without a new node end the fast pace, if all who
	// answered were met; one of them may have been lost on the way.
	vainly = 2
	// maxHeard bounds the nodes that are known by name on the local network.
	maxHeard = 4096
	// answersFor is how long a question waits for answers, and for announcements
	// of nodes that start at the same time.
	answersFor = 3500 * time.Millisecond
	// answersWait is how many answers wait at most until the one before was looked at.
	answersWait = 256
	// maxTXT is the longest text one TXT record carries (RFC 1035 section 3.3).
	maxTXT = 255
	// addrPrefix comes before each address in a TXT record, as the libp2p
	// specification of mDNS wants it.
	addrPrefix  = "dnsaddr="
	servicePort = 4001 // a record needs one; the addresses have their own
)

// lookAround announces this node on the local network and asks for others until
// ctx ends. A machine without an interface for it is no error: one may come up
// later.
func lookAround(ctx context.Context, h host.Host, c Config) {
	p := pace{first: firstMDNSPause, longest: longestMDNSPause, grow: 2}
	said := ""
	for ctx.Err() == nil {
		changed := c.Interfaces.Changed()
		l, err := announceLocally(h, c)
		if err != nil {
			if err.Error() != said { // once, until it changes
				c.Logger.Info("looking on the local network failed; will try again", "error", err)
			}
			said = err.Error()
			p.rest(ctx, false, changed, func() bool { return false })
			continue
		}
		p.pause, said = 0, ""
		l.ask(ctx, &p, changed)
		l.responder.close()
	}
}

// local is this node's part in the local network while its interfaces and
// addresses stay what they are.
type local struct {
	host      host.Host
	config    Config
	addrs     []multiaddr.Multiaddr // announced
	responder *responder
	heard     map[peer.ID]bool // who was met; touched by ask alone
}

func announceLocally(h host.Host, c Config) (*local, error) {
	list, err := c.Interfaces.List()
	if err != nil {
		return nil, err
	}
	l := &local{host: h, config: c, addrs: localAddrs(h.Addrs()), heard: make(map[peer.ID]bool)}
	var usable []net.Interface
	for _, i := range list {
		if i.Multicast && i.Index != 0 && len(i.Addrs) > 0 {
			usable = append(usable, net.Interface{Index: i.Index, Name: i.Name, Flags: net.FlagUp | net.FlagMulticast})
		}
	}
	if len(usable) == 0 {
		return nil, errors.New("discovery: no network interface is up and can do multicast")
	}
	if len(l.addrs) == 0 {
		return nil, errors.New("discovery: the node has no address for the local network")
	}
	texts, ip := l.records()
	name := strings.ToLower(rand.Text()) // changes from run to run, so that nobody can track the node by it
	l.responder, err = newResponder(serviceName(c.Network), name, texts, ip, usable)
	if err != nil {
		return nil, fmt.Errorf("discovery: announce this node on the local network: %w", err)
	}
	return l, nil
}

// records returns the texts of the TXT record, one for each address, and an IP address for the
// A or AAAA record that every answer must have, though no node reads it.
func (l *local) records() (texts []string, ip netip.Addr) {
	for _, a := range l.addrs {
		text := fmt.Sprintf("%s%s/p2p/%s", addrPrefix, a, l.host.ID())
		if len(text) > maxTXT {
			continue
		}
		texts = append(texts, text)
		if own, err := manet.ToIP(a); err == nil && !ip.IsValid() {
			ip, _ = netip.AddrFromSlice(own)
			ip = ip.Unmap()
		}
	}
	return texts, ip
}

// ask looks for others until ctx ends, the interfaces have changed or the host
// has other addresses.
func (l *local) ask(ctx context.Context, p *pace, changed <-chan struct{}) {
	moved := func() bool {
		return !slices.EqualFunc(l.addrs, localAddrs(l.host.Addrs()), multiaddr.Multiaddr.Equal)
	}
	for vain := 0; ctx.Err() == nil && !moved(); {
		before := len(l.heard)
		all, err := l.browse(ctx)
		if err != nil {
			l.config.Logger.Debug("asking on the local network failed", "error", err)
		}
		if vain++; len(l.heard) > before || !all {
			vain = 0
		}
		enough, company := l.config.Enough(), !isAlone(l.host)
		p.rest(ctx, enough || vain >= vainly, changed, func() bool {
			return enough && !l.config.Enough() || company && isAlone(l.host) || moved()
		})
		if isClosed(changed) {
			return
		}
	}
}

// browse asks once, calls those who answer, and reports who was met. When there are enough
// candidates it calls some all the same, so that two parts of a network that come together find
// each other. all says that nobody else is left to call.
func (l *local) browse(ctx context.Context) (all bool, err error) {
	asking, cancel := context.WithTimeout(ctx, answersFor)
	defer cancel()
	answers := make(chan localAnswer, answersWait)
	defer l.responder.ask(nil)
	if err := l.responder.ask(answers); err != nil {
		return true, err
	}
	g := newGreeter(l.host)
	meet := func(who greeting) {
		g.welcome(who)
		for _, p := range who.met {
			l.report(p)
		}
	}
	for asking.Err() == nil {
		if g.waiting > 0 && (g.calls < greetings || !l.config.Enough()) {
			g.greet(ctx)
		}
		select {
		case a := <-answers:
			if p, ok := l.read(a.texts); ok {
				g.add(a.from, p)
			}
		case who := <-g.called:
			meet(who)
		case <-asking.Done():
		}
	}
	for g.calling > 0 {
		meet(<-g.called)
	}
	return g.waiting == 0 && !g.failed, nil
}

// read returns the node that an answer describes, if it does describe another one.
func (l *local) read(texts []string) (p peer.AddrInfo, ok bool) {
	var addrs []multiaddr.Multiaddr
	for _, text := range texts {
		if a, err := multiaddr.NewMultiaddr(strings.TrimPrefix(text, addrPrefix)); err == nil {
			addrs = append(addrs, a)
		}
	}
	infos, err := peer.AddrInfosFromP2pAddrs(addrs...)
	if err != nil || len(infos) != 1 { // each node answers for itself only
		return p, false
	}
	p = infos[0]
	p.Addrs = Bound(p.Addrs)
	return p, p.ID != l.host.ID() && len(p.Addrs) > 0
}

// report passes on a node that was met.
func (l *local) report(p peer.AddrInfo) {
	if len(l.heard) < maxHeard {
		l.heard[p.ID] = true
	}
	l.config.Found(p)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// localAddrs picks the addresses that are good on the local network: IP
// addresses of this machine, and loopback if there is nothing else.
func localAddrs(addrs []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	var out, loopback []multiaddr.Multiaddr
	for _, a := range addrs {
		ip, err := manet.ToIP(a)
		switch {
		case err != nil || isRelayed(a):
		case ip.IsLoopback():
			loopback = append(loopback, a)
		default:
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		out = loopback
	}
	slices.SortFunc(out, multiaddr.Multiaddr.Compare)
	return Bound(out)
}

// serviceName carries the network. A label of DNS holds at most 63 characters.
func serviceName(network string) string {
	return "_p2pnode-" + network[:min(len(network), 32)] + "._udp"
}
