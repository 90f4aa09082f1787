package netedge

import (
	"crypto/rand"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/miekg/dns"
	"github.com/multiformats/go-multiaddr"
	madns "github.com/multiformats/go-multiaddr-dns"

	"p2pnode/discovery"
	"p2pnode/node/datadir"
)

func TestGivenInterfacesAreAnnouncedAtOnce(t *testing.T) {
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	around := &Surroundings{Interfaces: discovery.NewInterfaces(), DNS: new(resolver)}
	c := datadir.Config{Listen: []string{"/ip4/0.0.0.0/tcp/0"}}
	r, err := c.Reach(around.Announce, false)
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := NewHost(key, r, around, Power{}, datadir.Private{}, NewMeter())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	announced := func(ip string) bool {
		return slices.ContainsFunc(FullAddrs(h), func(a string) bool { return strings.HasPrefix(a, "/ip4/"+ip+"/tcp/") })
	}
	for _, ip := range []string{"10.99.0.1", "10.99.0.2"} { // at home, then elsewhere
		around.Interfaces.Set([]discovery.Interface{{Name: "wlan0", Index: 1, Addrs: []netip.Addr{netip.MustParseAddr(ip)}}})
		if !announced(ip) {
			t.Errorf("%s is not among %v", ip, FullAddrs(h))
		}
	}
	if announced("10.99.0.1") {
		t.Errorf("the old address is still among %v", FullAddrs(h))
	}
	around.Interfaces.Set(nil)
	if announced("10.99.0.2") {
		t.Errorf("the given address stayed among %v", FullAddrs(h))
	}
}

// TestGivenServersResolveNames asks for a dnsaddr, whose TXT records Go looks up
// by itself on every system.
func TestGivenServersResolveNames(t *testing.T) {
	socket, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const target = "/ip4/192.0.2.7/tcp/4001/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
	server := &dns.Server{PacketConn: socket, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		reply := new(dns.Msg).SetReply(q)
		if name := q.Question[0].Name; name == "_dnsaddr.p2pnode.test." {
			reply.Answer = append(reply.Answer, &dns.TXT{
				Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 1},
				Txt: []string{"dnsaddr=" + target},
			})
		}
		_ = w.WriteMsg(reply)
	})}
	stopped := make(chan error, 1)
	go func() { stopped <- server.ActivateAndServe() }()
	defer func() {
		_ = socket.Close()
		<-stopped
	}()

	servers := new(resolver)
	servers.Set([]netip.AddrPort{netip.MustParseAddrPort(socket.LocalAddr().String())})
	names, err := madns.NewResolver(madns.WithDefaultResolver(servers))
	if err != nil {
		t.Fatal(err)
	}
	id, err := peer.Decode(target[strings.LastIndex(target, "/")+1:])
	if err != nil {
		t.Fatal(err)
	}
	bootstrap := multiaddr.StringCast("/dnsaddr/p2pnode.test/p2p/" + id.String())
	found, err := swarm.ResolverFromMaDNS{Resolver: names}.ResolveDNSAddr(t.Context(), id, bootstrap, 3, 10)
	if err != nil || len(found) != 1 || found[0].String() != target {
		t.Errorf("resolved to %v, %v", found, err)
	}
}
