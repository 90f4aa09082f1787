package attack

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/miekg/dns"

	"p2pnode/node/datadir"
)

// multicast attacks from the local network of its victims: whoever is on one can send to the
// group of multicast DNS, from any address, and need not prove who it is.
func multicast() Scenario {
	return Scenario{
		Name: "multicast", Daemons: true,
		About: "is on one local network with everybody, and from 256 addresses answers for nodes that do not exist, asks who is there, and sends random bytes: 10,000 packets a second by multicast DNS",
		Run:   onField(sociable, onLocalNetwork),
	}
}

// onLocalNetwork measures bar 1, and bar 2 for newcomers that know of nobody but by multicast DNS.
func onLocalNetwork(ctx context.Context, f *field) ([]Bar, error) {
	if err := f.learning(ctx, f.several(3, 4), func(c *datadir.Config) { c.MDNS = true }); err != nil {
		return nil, err
	}
	newcomers, err := f.newcomers(f.several(2, 10), func(c *datadir.Config) { c.MDNS, c.Bootstrap = true, nil })
	if err != nil {
		return nil, err
	}
	return f.flood(ctx, "multicast", f.shoutLocally,
		func() ([]Bar, error) { return f.admitted(ctx, "multicast", newcomers) })
}

// shoutLocally sends to the group from all addresses of the attacker until ctx ends.
func (f *field) shoutLocally(ctx context.Context) {
	const batch = 10
	rate := f.several(2_000, 10_000)
	var shouting sync.WaitGroup
	for i := range attackerAddresses {
		shouting.Go(func() {
			c, err := f.group(i)
			if err != nil {
				return
			}
			defer c.Close()
			tick := time.NewTicker(attackerAddresses * batch * time.Second / time.Duration(rate))
			defer tick.Stop()
			for k := 0; ctx.Err() == nil; k++ {
				for range batch {
					_, _ = c.Write(f.localPacket(i + k))
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
	shouting.Wait()
}

// group opens a socket that sends to the group of multicast DNS from an address of the attacker.
func (f *field) group(i int) (c *net.UDPConn, err error) {
	err = f.attacker.Do(func() error {
		c, err = net.DialUDP("udp4", &net.UDPAddr{IP: raid(i).AsSlice()}, &net.UDPAddr{IP: net.IPv4(224, 0, 0, 251), Port: 5353})
		return err
	})
	return c, err
}

// localPacket is one of the attacker's packets. In two of four a node is told of that does not
// exist: at an address of the attacker, where nobody listens, or at that of an honest daemon.
func (f *field) localPacket(k int) []byte {
	service := "_p2pnode-" + f.network[:32] + "._udp.local."
	var m dns.Msg
	switch k % 4 {
	case 0:
		for range 500 {
			m.Question = append(m.Question, dns.Question{Name: service, Qtype: dns.TypePTR, Qclass: dns.ClassINET})
		}
	case 1:
		noise := make([]byte, 1400)
		_, _ = rand.Read(noise)
		return noise
	default:
		at := fmt.Sprintf("/ip4/%v/tcp/9", raid(k%attackerAddresses))
		if k%4 == 3 {
			at = f.honest[k/4%len(f.honest)].listen
		}
		name := fmt.Sprintf("%s.%s", rand.Text(), service)
		m.Response = true
		m.Answer = []dns.RR{&dns.TXT{
			Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 120},
			Txt: []string{fmt.Sprintf("dnsaddr=%s/p2p/%s", at, nobody())},
		}}
	}
	m.Compress = true
	packet, _ := m.Pack()
	return packet
}

// nobody is a peer ID that belongs to no one.
func nobody() peer.ID {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	public, _ := crypto.UnmarshalEd25519PublicKey(key)
	id, _ := peer.IDFromPublicKey(public)
	return id
}
