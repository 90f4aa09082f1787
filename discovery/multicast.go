package discovery

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"p2pnode/internal/crowd"
)

const (
	mdnsPort = 5353
	// mdnsTTL is for how long what a node says of itself holds, in seconds.
	mdnsTTL = 120
	// longestMDNS is the longest packet of multicast DNS, in bytes (RFC 6762, section 17).
	longestMDNS = 9000
	// restMDNS is the shortest time between two answers (RFC 6762, section 6), however many
	// ask: one packet has room for a thousand questions, and each answer goes to everybody.
	restMDNS = time.Second
	// together is within what time those that a question goes to answer, so that not all of
	// them do at once.
	together = 100 * time.Millisecond
	// packetsMore is how many packets are looked at in each packetWindow before those who
	// send them must share.
	packetsMore  = 2048
	packetWindow = 10 * time.Second
	// cacheFlush in a record's class says that it is the only one of its name.
	cacheFlush = 1 << 15
)

// The groups of multicast DNS.
var (
	mdnsIPv4 = net.IPv4(224, 0, 0, 251)
	mdnsIPv6 = net.ParseIP("ff02::fb")
)

// responder is one service of DNS-SD (RFC 6763) in multicast DNS: it tells of itself and hears
// of the others, in bounded time and memory whatever is sent to it. It looks at packets to the
// group only, because whoever is on the local network can send those, and nobody else can.
type responder struct {
	service  string // the name by which all are found
	instance string
	texts    []string // what the TXT record says
	ip       netip.Addr
	groups   []*group
	receives sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	packets *crowd.Work
	answers chan<- localAnswer // nil: nobody asks
	said    time.Time          // when it has told of itself last
	due     *time.Timer        // until it does again; nil: nobody has asked
}

// localAnswer is what another one says of itself.
type localAnswer struct {
	from  netip.Addr
	texts []string
}

// newResponder joins the groups on all interfaces that allow it. The service's name has no
// domain, the instance's is one label. ip is an address of this machine.
func newResponder(service, instance string, texts []string, ip netip.Addr, interfaces []net.Interface) (*responder, error) {
	r := &responder{service: service + ".local.", texts: texts, ip: ip, packets: crowd.NewWork(packetsMore, packetWindow)}
	r.instance = instance + "." + r.service
	var failed error
	for _, join := range []func([]net.Interface) (*group, error){joinIPv4, joinIPv6} {
		g, err := join(interfaces)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		r.groups = append(r.groups, g)
	}
	if len(r.groups) == 0 {
		return nil, failed
	}
	for _, g := range r.groups {
		r.receives.Go(func() { r.receive(g) })
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say(mdnsTTL)
	r.answer() // again: the first may be lost on the way
	return r, nil
}

// close says farewell, and returns when nothing is received any more.
func (r *responder) close() {
	r.mu.Lock()
	r.closed = true
	if r.due != nil {
		r.due.Stop()
	}
	r.say(0)
	r.mu.Unlock()
	for _, g := range r.groups {
		_ = g.Close()
	}
	r.receives.Wait()
}

// ask asks who is there. What the others say of themselves goes to answers, as far as there is
// room, until ask is called again.
func (r *responder) ask(answers chan<- localAnswer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = answers
	if answers == nil {
		return nil
	}
	var m dns.Msg
	m.SetQuestion(r.service, dns.TypePTR)
	m.Id, m.RecursionDesired = 0, false
	return r.send(&m)
}

// say tells of this service; with 0 for the time for which that holds, that it has ended. The
// caller holds r.mu.
func (r *responder) say(ttl uint32) {
	header := func(name string, kind, class uint16) dns.RR_Header {
		return dns.RR_Header{Name: name, Rrtype: kind, Class: class, Ttl: ttl}
	}
	const own = dns.ClassINET | cacheFlush
	host := strings.Replace(r.instance, r.service, "local.", 1)
	m := dns.Msg{Compress: true, Answer: []dns.RR{
		&dns.PTR{Hdr: header(r.service, dns.TypePTR, dns.ClassINET), Ptr: r.instance},
		&dns.SRV{Hdr: header(r.instance, dns.TypeSRV, own), Port: servicePort, Target: host},
		&dns.TXT{Hdr: header(r.instance, dns.TypeTXT, own), Txt: r.texts},
	}}
	m.Response, m.Authoritative = true, true
	if r.ip.Is4() {
		m.Answer = append(m.Answer, &dns.A{Hdr: header(host, dns.TypeA, own), A: r.ip.AsSlice()})
	} else {
		m.Answer = append(m.Answer, &dns.AAAA{Hdr: header(host, dns.TypeAAAA, own), AAAA: r.ip.AsSlice()})
	}
	r.said = time.Now()
	_ = r.send(&m) // it is told again when somebody asks
}

// send sends a packet to everybody. It fails if no group takes it.
func (r *responder) send(m *dns.Msg) error {
	packet, err := m.Pack()
	if err != nil {
		return err
	}
	return some(r.groups, func(g *group) error { return g.send(packet) })
}

// some does something with each of a list. It fails if all fail.
func some[T any](list []T, do func(T) error) (err error) {
	done := false
	for _, one := range list {
		failed := do(one)
		done, err = done || failed == nil, errors.Join(err, failed)
	}
	if done {
		return nil
	}
	return err
}

// answer tells of this service soon, once for all who have asked until then. The caller holds
// r.mu.
func (r *responder) answer() {
	if r.due != nil || r.closed {
		return
	}
	rest := max(0, time.Until(r.said.Add(restMDNS)))
	r.due = time.AfterFunc(rest+rand.N(together), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.due = nil; !r.closed {
			r.say(mdnsTTL)
		}
	})
}

// receive looks at the packets of a group until it is closed.
func (r *responder) receive(g *group) {
	for packet := make([]byte, longestMDNS); ; {
		n, from, err := g.receive(packet)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(restMDNS) // as long as an interface is down, for example
			continue
		}
		r.mu.Lock()
		if r.packets.Take(from, from.String(), 1, time.Now()) {
			r.hear(from, packet[:n])
		}
		r.mu.Unlock()
	}
}

// hear takes a packet in. The caller holds r.mu.
func (r *responder) hear(from netip.Addr, packet []byte) {
	var m dns.Msg
	if m.Unpack(packet) != nil {
		return
	}
	if !m.Response {
		asked := func(q dns.Question) bool {
			return strings.EqualFold(q.Name, r.service) || strings.EqualFold(q.Name, r.instance)
		}
		if slices.ContainsFunc(m.Question, asked) {
			r.answer()
		}
		return
	}
	for _, record := range slices.Concat(m.Answer, m.Extra) {
		t, ok := record.(*dns.TXT)
		if !ok || !dns.IsSubDomain(r.service, t.Hdr.Name) || strings.EqualFold(t.Hdr.Name, r.instance) {
			continue
		}
		if t.Hdr.Ttl > 0 {
			select {
			case r.answers <- localAnswer{from, t.Txt}:
			default:
			}
		}
		return // each tells of itself alone
	}
}

// group is a group of multicast DNS, which was joined on some interfaces.
type group struct {
	io.Closer
	send    func(packet []byte) error // over each interface
	receive func(packet []byte) (n int, from netip.Addr, err error)
}

// multicaster is what the packages of IPv4 and IPv6 have in common.
type multicaster interface {
	JoinGroup(*net.Interface, net.Addr) error
	SetMulticastInterface(*net.Interface) error
	SetMulticastLoopback(bool) error
}

func joinIPv4(interfaces []net.Interface) (*group, error) {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(224, 0, 0, 0), Port: mdnsPort})
	if err != nil {
		return nil, err
	}
	c := ipv4.NewPacketConn(socket)
	_ = c.SetMulticastTTL(255)
	_ = c.SetControlMessage(ipv4.FlagDst, true)
	return join(socket, c, mdnsIPv4, interfaces, func(b []byte) (n int, to net.IP, from net.Addr, err error) {
		n, m, from, err := c.ReadFrom(b)
		if m != nil {
			to = m.Dst
		}
		return n, to, from, err
	})
}

func joinIPv6(interfaces []net.Interface) (*group, error) {
	socket, err := net.ListenUDP("udp6", &net.UDPAddr{IP: net.ParseIP("ff02::"), Port: mdnsPort})
	if err != nil {
		return nil, err
	}
	c := ipv6.NewPacketConn(socket)
	_ = c.SetMulticastHopLimit(255)
	_ = c.SetControlMessage(ipv6.FlagDst, true)
	return join(socket, c, mdnsIPv6, interfaces, func(b []byte) (n int, to net.IP, from net.Addr, err error) {
		n, m, from, err := c.ReadFrom(b)
		if m != nil {
			to = m.Dst
		}
		return n, to, from, err
	})
}

// join joins a group on the interfaces that allow it. If none does, it closes the socket.
// read says to which address a packet was sent, if the system does.
func join(socket *net.UDPConn, c multicaster, ip net.IP, interfaces []net.Interface,
	read func([]byte) (n int, to net.IP, from net.Addr, err error)) (*group, error) {
	to := &net.UDPAddr{IP: ip, Port: mdnsPort}
	var joined []net.Interface
	var failed error
	for _, i := range interfaces {
		if err := c.JoinGroup(&i, to); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		joined = append(joined, i)
	}
	if len(joined) == 0 {
		return nil, errors.Join(failed, socket.Close())
	}
	_ = c.SetMulticastLoopback(true) // for other nodes on this machine
	send := func(packet []byte) error {
		return some(joined, func(i net.Interface) error {
			if err := c.SetMulticastInterface(&i); err != nil {
				return err
			}
			_, err := socket.WriteToUDP(packet, to)
			return err
		})
	}
	receive := func(packet []byte) (int, netip.Addr, error) {
		for {
			n, at, from, err := read(packet)
			if err != nil {
				return 0, netip.Addr{}, err
			}
			if sender, ok := from.(*net.UDPAddr); ok && (at == nil || at.Equal(ip)) {
				return n, sender.AddrPort().Addr().Unmap(), nil
			}
		}
	}
	return &group{socket, send, receive}, nil
}
