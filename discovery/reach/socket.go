package reach

import (
	"context"
	"net"
	"net/netip"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/transport/quicreuse"
	"github.com/quic-go/quic-go"
	"go.uber.org/fx"
	"golang.org/x/net/ipv4"
)

// socket is a socket of QUIC that drops the first packet of a connection from an address from
// which none would be let in. QUIC would send two packets for it, one of them encrypted, and a
// stranger that is told comes again at once. A packet that gets lost is sent again after a while,
// so an honest peer at the same address is let in when that opens.
type socket struct {
	*net.UDPConn
	packets *ipv4.PacketConn // of both versions of IP
	refuses Refuses
}

// Refuses reports whether a packet with which a connection over QUIC begins is dropped, by the
// address that it says it is from. calls says that it is a client's first one, and not one that
// goes on, or answers a call of this host.
type Refuses func(from netip.Addr, calls bool) bool

// ReadBatch is what QUIC calls where a system can read many packets at once. It returns at least
// one packet that is not dropped, or an error.
func (s *socket) ReadBatch(packets []ipv4.Message, flags int) (kept int, err error) {
	for kept == 0 && err == nil {
		n := 0
		n, err = s.packets.ReadBatch(packets, flags)
		for i := range max(n, 0) {
			if s.drops(&packets[i]) {
				continue
			}
			if i > kept {
				move(&packets[kept], &packets[i])
			}
			kept++
		}
	}
	return kept, err
}

// move copies a packet into the buffers of another one, which belong to its place in the batch.
func move(to, from *ipv4.Message) {
	to.N, to.NN, to.Flags, to.Addr = copy(to.Buffers[0], from.Buffers[0][:from.N]), copy(to.OOB, from.OOB[:from.NN]), from.Flags, from.Addr
}

func (s *socket) drops(m *ipv4.Message) bool {
	at, ok := m.Addr.(*net.UDPAddr)
	packet := m.Buffers[0][:m.N]
	return ok && begins(packet) && s.refuses(at.AddrPort().Addr().Unmap(), packet[5] >= shortestCalled)
}

// begins reports whether a packet has a long header, and is of the type Initial (RFC 9000, 17.2).
func begins(packet []byte) bool {
	const longHeader, initial = 0xf0, 0xc0
	return len(packet) > 5 && packet[0]&longHeader == initial
}

// shortestCalled is how many bytes the connection ID has at least to which a client sends first
// (RFC 9000, 7.2). The IDs that are made here have four.
const shortestCalled = 8

// quicSockets makes libp2p open QUIC's ports as it does by default, but with these sockets.
func quicSockets(refuses Refuses) libp2p.Option {
	listen := func(version string, at *net.UDPAddr) (net.PacketConn, error) {
		c, err := net.ListenUDP(version, at)
		if err != nil {
			return nil, err
		}
		return &socket{c, ipv4.NewPacketConn(c), refuses}, nil
	}
	return func(c *libp2p.Config) error {
		return c.Apply(libp2p.QUICReuse(func(key quic.StatelessResetKey, tokens quic.TokenGeneratorKey, resources network.ResourceManager, life fx.Lifecycle) (*quicreuse.ConnManager, error) {
			options := []quicreuse.Option{
				quicreuse.OverrideListenUDP(listen),
				quicreuse.VerifySourceAddress(resources.VerifySourceAddress),
				quicreuse.ConnContext(admission(resources)),
			}
			if !c.DisableMetrics {
				options = append(options, quicreuse.EnableMetrics(c.PrometheusRegisterer))
			}
			m, err := quicreuse.NewConnManager(key, tokens, options...)
			if err == nil {
				life.Append(fx.StopHook(m.Close))
			}
			return m, err
		}))
	}
}

// admission asks libp2p's resource manager about each connection before its handshakes.
func admission(resources network.ResourceManager) func(context.Context, *quic.ClientInfo) (context.Context, error) {
	return func(ctx context.Context, from *quic.ClientInfo) (context.Context, error) {
		at, err := quicreuse.ToQuicMultiaddr(from.RemoteAddr, quic.Version1)
		if err != nil {
			return ctx, err
		}
		scope, err := resources.OpenConnection(network.DirInbound, false, at)
		if err != nil {
			return ctx, err
		}
		ctx = network.WithConnManagementScope(ctx, scope)
		context.AfterFunc(ctx, scope.Done)
		return ctx, nil
	}
}
