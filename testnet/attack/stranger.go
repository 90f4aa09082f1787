package attack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p"
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/libp2p/go-msgio"
	"github.com/multiformats/go-multiaddr"
	"google.golang.org/protobuf/proto"

	"p2pnode/gossip"
	"p2pnode/testnet/lab"
)

// stranger is one identity of the attacker: a host of libp2p at one of the attacker's
// addresses, without limits of its own.
type stranger struct {
	host.Host
	signer *gossip.Signer
	field  *field
	addr   multiaddr.Multiaddr // where it says that it listens
}

// dialer opens connections from an address of a host of the lab.
type dialer struct {
	host *lab.Host
	from netip.Addr
}

// DialContext implements the dialer of libp2p's TCP transport.
func (d dialer) DialContext(ctx context.Context, network, address string) (c net.Conn, err error) {
	err = d.host.Do(func() error {
		own := net.Dialer{LocalAddr: &net.TCPAddr{IP: d.from.AsSlice()}}
		c, err = own.DialContext(ctx, network, address)
		return err
	})
	return c, err
}

// newKey is a new identity.
func newKey() (crypto.PrivKey, peer.ID, error) {
	key, public, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		return nil, "", err
	}
	id, err := peer.IDFromPublicKey(public)
	return key, id, err
}

// stranger makes an identity at an address of the attacker. It listens there too, and
// reads what the network's protocols send, without answering.
func (f *field) stranger(from netip.Addr) (*stranger, error) {
	s, err := f.identity(libp2p.DisableRelay(), f.overTCP(from))
	if err != nil {
		return nil, err
	}
	listen := multiaddr.StringCast(fmt.Sprintf("/ip4/%v/tcp/0", from))
	if err = f.attacker.Do(func() error { return s.Network().Listen(listen) }); err != nil {
		return nil, err
	}
	s.addr = s.Network().ListenAddresses()[0]
	return s, nil
}

// overTCP makes an identity call over TCP, from an address of the attacker.
func (f *field) overTCP(from netip.Addr) libp2p.Option {
	d := dialer{f.attacker, from}
	return libp2p.Transport(tcp.NewTCPTransport, tcp.DisableReuseport(),
		tcp.WithDialerForAddr(func(multiaddr.Multiaddr) (tcp.ContextDialer, error) { return d, nil }))
}

// identity makes an identity that listens nowhere yet. It goes through relays or not.
func (f *field) identity(relays, transport libp2p.Option) (*stranger, error) {
	key, _, err := newKey()
	if err != nil {
		return nil, err
	}
	s := &stranger{signer: gossip.NewSigner(key, f.network), field: f}
	s.Host, err = libp2p.New(
		libp2p.Identity(key),
		relays,
		libp2p.NoListenAddrs,
		transport,
		libp2p.Security(noise.ID, noise.New),
		libp2p.Muxer(yamux.ID, yamux.DefaultTransport),
		libp2p.ResourceManager(&network.NullResourceManager{}),
		libp2p.DisableMetrics(),
		libp2p.UserAgent("p2pnode"))
	if err != nil {
		return nil, err
	}
	f.identities = append(f.identities, s)
	return s, nil
}

// strangers makes n identities at this many addresses.
func (f *field) strangers(n, addresses int) (all []*stranger, err error) {
	for i := range n {
		s, err := f.stranger(raid(i % addresses))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// leave closes the hosts of strangers.
func leave(all []*stranger) (err error) {
	for _, s := range all {
		err = errors.Join(err, s.Close())
	}
	return err
}

// meet connects to a daemon, and tries again while it is refused. It returns when there
// is a connection, or with an error when ctx ends.
func (s *stranger) meet(ctx context.Context, p *person) error {
	for {
		if s.dial(ctx, p) == nil {
			return nil
		}
		if err := rest(ctx, refused); err != nil {
			return err
		}
	}
}

// dial connects to a daemon unless there is a connection already.
func (s *stranger) dial(ctx context.Context, p *person) error {
	info, err := peer.AddrInfoFromString(p.addr)
	if err != nil {
		return err
	}
	s.Network().(*swarm.Swarm).Backoff().Clear(info.ID)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return s.Connect(ctx, *info)
}

// say opens a stream to a daemon and writes on it; the caller resets the stream.
func (s *stranger) say(ctx context.Context, p *person, how protocol.ID, data []byte) (network.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	stream, err := s.NewStream(ctx, p.id, how)
	if err != nil {
		return nil, err
	}
	if _, err := stream.Write(data); err != nil {
		_ = stream.Reset()
		return nil, err
	}
	return stream, nil
}

// framed returns a message with its length in front.
func framed(data []byte) []byte {
	return append(appendVarint(nil, uint64(len(data))), data...)
}

func appendVarint(b []byte, v uint64) []byte {
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// ask makes a request of the edge protocol, and returns the answer.
func (s *stranger) ask(ctx context.Context, p *person, r request) (reply, error) {
	stream, err := s.say(ctx, p, edgeProtocol(s.field.network), framed(r.encode()))
	if err != nil {
		return reply{}, err
	}
	defer stream.Reset()
	_ = stream.CloseWrite()
	_ = stream.SetReadDeadline(time.Now().Add(10 * time.Second))
	const longest = 1 << 20
	data, err := msgio.NewVarintReaderSize(stream, longest).ReadMsg()
	if err != nil {
		return reply{}, err
	}
	return decodeMessage(data, 1), nil
}

// shout is a stream on which a stranger writes gossipsub messages itself.
type shout struct {
	stranger *stranger
	to       *person
	stream   network.Stream
}

// send writes an RPC, on a new stream if the last one was reset.
func (o *shout) send(ctx context.Context, rpc *pb.RPC) error {
	data, err := proto.Marshal(rpc)
	if err != nil {
		return err
	}
	data = framed(data)
	if o.stream != nil {
		_ = o.stream.SetWriteDeadline(time.Now().Add(5 * time.Second))
		if _, err := o.stream.Write(data); err == nil {
			return nil
		}
		_ = o.stream.Reset()
		o.stream = nil
	}
	stream, err := o.stranger.say(ctx, o.to, pubsub.GossipSubID_v12, data)
	if err == nil {
		o.stream = stream
	}
	return err
}

// refused is how long a stranger waits after the victim has refused it. It is short,
// because a stranger loses nothing by trying again soon.
const refused = 100 * time.Millisecond

// each lets every stranger attack at the same time, and waits for all attacks, which
// end when ctx ends. If the victim refuses a stranger, that is no error of the
// scenario.
func each(ctx context.Context, all []*stranger, attack func(i int, s *stranger)) {
	defer context.AfterFunc(ctx, func() { _ = leave(all) })() // a blocked write ends when its host closes
	var attacking sync.WaitGroup
	for i, s := range all {
		attacking.Go(func() { attack(i, s) })
	}
	attacking.Wait()
}
