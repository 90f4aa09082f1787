package discovery

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"

	"p2pnode/internal/crowd"
	"p2pnode/internal/require"
)

// newBare returns a responder that is on no network, and the packets that it sends.
func newBare() (r *responder, sent *[]dns.Msg) {
	sent = new([]dns.Msg)
	g := &group{Closer: io.NopCloser(nil), send: func(packet []byte) error {
		var m dns.Msg
		err := m.Unpack(packet)
		*sent = append(*sent, m)
		return err
	}}
	const service = "_p2pnode-a._udp.local."
	return &responder{
		service: service, instance: "me." + service, texts: []string{"dnsaddr=/ip4/10.0.0.1/tcp/1"}, ip: netip.MustParseAddr("10.0.0.1"),
		groups: []*group{g}, packets: crowd.NewWork(packetsMore, packetWindow),
	}, sent
}

// packed returns a packet with everything compressed.
func packed(t testing.TB, m *dns.Msg) []byte {
	t.Helper()
	m.Compress = true
	packet, err := m.Pack()
	require.NoError(t, err)
	return packet
}

// of is a header of a record that holds for two minutes.
func of(name string, kind uint16) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: mdnsTTL}
}

// However many ask, and however often one packet does, all are answered once in a second.
func TestQuestionsAreAnsweredTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, sent := newBare()
		question := new(dns.Msg)
		for range 1000 {
			question.Question = append(question.Question, dns.Question{Name: r.service, Qtype: dns.TypePTR, Qclass: dns.ClassINET})
		}
		packet := packed(t, question)
		const seconds = 20
		for range 100 * seconds {
			r.mu.Lock()
			r.hear(netip.Addr{}, packet)
			r.mu.Unlock()
			time.Sleep(10 * time.Millisecond)
		}
		r.close()
		if n := len(*sent); n < seconds*3/4 || n > seconds+2 {
			t.Errorf("%d answers in %d s", n, seconds)
		}
		last := (*sent)[len(*sent)-1]
		if len(last.Answer) != 4 || last.Answer[0].Header().Ttl != 0 {
			t.Errorf("the farewell is %v", last)
		}
	})
}

// A packet can name thousands of services that share thousands of addresses. It says one
// thing, and nothing else is kept of it.
func TestAnAnswerTellsOfOneNode(t *testing.T) {
	r, _ := newBare()
	answers := make(chan localAnswer, answersWait)
	require.NoError(t, r.ask(answers))
	m := &dns.Msg{}
	m.Response = true
	for i := range 100 {
		name := fmt.Sprintf("%d.%s", i, r.service)
		m.Answer = append(m.Answer,
			&dns.SRV{Hdr: of(name, dns.TypeSRV), Target: "h.local.", Port: 1},
			&dns.A{Hdr: of("h.local.", dns.TypeA), A: net.IPv4(10, 0, 0, byte(i))},
			&dns.TXT{Hdr: of(name, dns.TypeTXT), Txt: []string{name}})
	}
	packet := packed(t, m)
	kept := testing.AllocsPerRun(1, func() { r.hear(netip.Addr{}, packet) })
	if len(answers) != 2 || (<-answers).texts[0] != m.Answer[2].(*dns.TXT).Txt[0] { // AllocsPerRun calls once more
		t.Errorf("%d answers", len(answers))
	}
	if most := 20.0 * float64(len(m.Answer)); kept > most {
		t.Errorf("%v allocations for %d records", kept, len(m.Answer))
	}
	for _, other := range []*dns.Msg{
		{MsgHdr: m.MsgHdr, Answer: []dns.RR{&dns.TXT{Hdr: of(r.instance, dns.TypeTXT), Txt: []string{"this node"}}}},
		{MsgHdr: m.MsgHdr, Answer: []dns.RR{&dns.TXT{Hdr: of("x._other._udp.local.", dns.TypeTXT), Txt: []string{"another service"}}}},
		{MsgHdr: m.MsgHdr, Answer: []dns.RR{&dns.TXT{Hdr: dns.RR_Header{Name: "x." + r.service, Rrtype: dns.TypeTXT, Class: dns.ClassINET}, Txt: []string{"a farewell"}}}},
	} {
		r.hear(netip.Addr{}, packed(t, other))
	}
	<-answers
	if len(answers) > 0 {
		t.Errorf("heard %q", (<-answers).texts)
	}
	require.NoError(t, r.ask(nil))
	r.hear(netip.Addr{}, packet) // to nobody
}

// Whoever sends without end is not listened to for ever, and others are.
func TestPacketsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, sent := newBare()
		ended := make(chan struct{})
		question := new(dns.Msg)
		question.SetQuestion(r.service, dns.TypePTR)
		packet := packed(t, question)
		loud, quiet := netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")
		from := make(chan netip.Addr)
		said := func() int {
			time.Sleep(2 * restMDNS)
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(*sent)
		}
		go func() {
			defer close(ended)
			r.receive(&group{receive: func(b []byte) (int, netip.Addr, error) {
				a, ok := <-from
				if !ok {
					return 0, a, net.ErrClosed
				}
				return copy(b, packet), a, nil
			}})
		}()
		for range packetsMore {
			from <- loud
		}
		before := said()
		from <- loud
		if said() > before {
			t.Error("the loud one is still listened to")
		}
		from <- quiet
		if said() == before {
			t.Error("another one is not listened to")
		}
		close(from)
		<-ended
		r.close()
	})
}

// Somebody who is not on the local network can send to this machine, but not to the group.
func TestOnlyTheGroupIsHeard(t *testing.T) {
	if !canMulticast(t) {
		t.Skip("no interface but loopback is up and can do multicast")
	}
	var usable []net.Interface
	own := netip.Addr{}
	list, err := systemInterfaces()
	require.NoError(t, err)
	for _, i := range list {
		if i.Multicast && len(i.Addrs) > 0 && i.Addrs[0].Is4() {
			usable, own = append(usable, net.Interface{Index: i.Index, Name: i.Name}), i.Addrs[0]
		}
	}
	if len(usable) == 0 {
		t.Skip("no interface with an IPv4 address can do multicast")
	}
	g, err := joinIPv4(usable)
	require.NoError(t, err)
	defer g.Close()
	out, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(own, mdnsPort)))
	require.NoError(t, err)
	defer out.Close()
	for range 10 {
		_, err = out.Write([]byte("to this machine"))
		require.NoError(t, err)
	}
	require.NoError(t, g.send([]byte("to the group")))
	for packet := make([]byte, longestMDNS); ; { // other programs speak to the group too
		n, _, err := g.receive(packet)
		require.NoError(t, err)
		switch string(packet[:n]) {
		case "to the group":
			return
		case "to this machine":
			t.Fatal("what was sent to this machine is heard")
		}
	}
}

// FuzzHear plays somebody on the local network.
func FuzzHear(f *testing.F) {
	r, sent := newBare()
	r.say(mdnsTTL)
	for _, m := range *sent {
		f.Add(packed(f, &m))
	}
	question := new(dns.Msg)
	question.SetQuestion(r.service, dns.TypePTR)
	f.Add(packed(f, question))
	f.Add(packed(f, &dns.Msg{MsgHdr: dns.MsgHdr{Response: true}, Answer: []dns.RR{&dns.TXT{Hdr: of("x."+r.service, dns.TypeTXT), Txt: []string{"a"}}}}))
	f.Fuzz(func(t *testing.T, packet []byte) {
		r, _ := newBare()
		answers := make(chan localAnswer, 2)
		r.answers = answers
		r.hear(netip.Addr{}, packet)
		if r.due != nil {
			r.due.Stop()
		}
		if len(answers) > 1 || len(answers) > 0 && r.due != nil {
			t.Errorf("one packet says %d things, and asks: %v", len(answers), r.due != nil)
		}
	})
}
