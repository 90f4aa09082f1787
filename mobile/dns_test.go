package mobile

import (
	"net"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// TestNamesAreAskedOfTheAppsServers bootstraps from a /dnsaddr/, whose TXT records Go
// looks up by itself on every system, on Android without knowing where to ask. The
// name is nowhere but on a server that the app names.
func TestNamesAreAskedOfTheAppsServers(t *testing.T) {
	const server = "127.53.53.53"
	socket, err := net.ListenPacket("udp4", server+":53")
	if err != nil {
		t.Skipf("the port of DNS cannot be had here: %v", err)
	}
	alone := func() *Config { // with no other way to find anybody
		c := testConfig(t)
		c.Settings = "mdns = false\nupnp = false\ndht = \"off\""
		return c
	}
	other := open(t, alone(), nil)
	check(t, other.SetNetwork(NetUnmetered, "", ""), other.Start())
	serveNames(t, socket, "_dnsaddr.p2pnode.test.", "dnsaddr="+address(t, other))

	c := alone()
	check(t, c.AddBootstrap("/dnsaddr/p2pnode.test/p2p/"+other.node.ID().String()))
	n := open(t, c, nil)
	check(t, n.SetNetwork(NetUnmetered, "", `["`+server+`"]`), n.Start())
	awaitState(t, n, stateRunning)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		s, err := n.node.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Connections > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the peer behind the name was not found")
		}
	}
}

// serveNames answers questions for one name with one TXT record, until the test ends.
func serveNames(t *testing.T, socket net.PacketConn, name, text string) {
	server := &dns.Server{PacketConn: socket, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		reply := new(dns.Msg).SetReply(q)
		if q.Question[0].Name == name {
			header := dns.RR_Header{Name: name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 1}
			reply.Answer = append(reply.Answer, &dns.TXT{Hdr: header, Txt: []string{text}})
		}
		_ = w.WriteMsg(reply)
	})}
	stopped := make(chan error, 1)
	go func() { stopped <- server.ActivateAndServe() }()
	t.Cleanup(func() {
		_ = socket.Close()
		<-stopped
	})
}
