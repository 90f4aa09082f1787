package discovery

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	pb "github.com/libp2p/go-libp2p-kad-dht/pb"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/multiformats/go-multiaddr"
	"google.golang.org/protobuf/proto"
)

func (said) SetReadDeadline(time.Time) error { return nil }
func (said) Reset() error                    { return nil }
func (said) Close() error                    { return nil }

// naming is an answer that names this many nodes, each with this many addresses.
func naming(t *testing.T, nodes, addrs int) []byte {
	t.Helper()
	m := &pb.Message{Type: pb.Message_GET_PROVIDERS}
	for i := range nodes {
		p := &pb.Message_Peer{Id: fmt.Appendf(nil, "node %d", i), Addrs: make([][]byte, addrs)}
		m.CloserPeers = append(m.CloserPeers, p)
	}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.AppendUvarint(nil, uint64(len(data))), data...)
}

// A hash table that answers with megabytes, or with tens of thousands of addresses of no
// length, is not listened to, and nothing of what it has sent is kept.
func TestAnswersAreBounded(t *testing.T) {
	most := maxNamed / (1 + maxAddrs)
	for name, c := range map[string]struct {
		answer []byte
		err    error
	}{
		"nothing":                  {nil, nil},
		"the most":                 {naming(t, most, maxAddrs), nil},
		"two":                      {bytes.Repeat(naming(t, 3, 2), 2), nil},
		"no answer at all":         {[]byte("\x03abc"), nil},
		"one node too many":        {naming(t, most+1, maxAddrs), errAnsweredLong},
		"many addresses":           {naming(t, 1, maxNamed), errAnsweredLong},
		"many nodes":               {naming(t, maxNamed+1, 0), errAnsweredLong},
		"many bytes":               {append(binary.AppendUvarint(nil, maxAnswer+1), make([]byte, maxAnswer+1)...), errAnsweredLong},
		"a length without an end":  {bytes.Repeat([]byte{0xff}, 20), nil},
		"the most, too many times": {bytes.Repeat(naming(t, most, maxAddrs), namedWork/maxNamed+1), errAnsweredMuch},
	} {
		sent := bytes.NewReader(c.answer)
		got, err := io.ReadAll(&answer{Stream: said{bytes: sent}, at: newAsked(nil)})
		if c.err != nil && (!errors.Is(err, c.err) || sent.Len() > 0) || c.err == nil && errors.Is(err, errAnsweredLong) {
			t.Errorf("%s: %v, and %d bytes are kept", name, err, sent.Len())
		}
		if !bytes.HasPrefix(c.answer, got) || err == nil && len(got) != len(c.answer) {
			t.Errorf("%s: %d bytes become %d", name, len(c.answer), len(got))
		}
	}
}

// What this node answers is short enough for those who ask, whatever others have announced
// and however many addresses they have.
func TestOwnAnswersAreShortEnough(t *testing.T) {
	h := newHost(t)
	long := func(i, k int) multiaddr.Multiaddr {
		return multiaddr.StringCast(fmt.Sprintf("/dns/%0240d/tcp/%d", k, 1+i))
	}
	store := newProviders(h, "test")
	known, err := NewPeerstore()
	if err != nil {
		t.Fatal(err)
	}
	defer known.Close()
	ids := make([]peer.ID, 0, 2*maxTold)
	for i := range cap(ids) {
		p := peer.AddrInfo{ID: peer.ID(fmt.Sprintf("%038d", i))}
		for k := range 40 {
			p.Addrs = append(p.Addrs, long(i, k))
		}
		if err := store.AddProvider(t.Context(), store.key, p); err != nil {
			t.Fatal(err)
		}
		known.AddAddrs(p.ID, p.Addrs, peerstore.ConnectedAddrTTL)
		ids = append(ids, p.ID)
	}
	told, err := store.GetProviders(t.Context(), store.key)
	if err != nil || len(told) == 0 {
		t.Fatalf("%d are told, %v", len(told), err)
	}
	if _, certified := peerstore.GetCertifiedAddrBook(known); !certified {
		t.Error("the host cannot sign its addresses")
	}
	closer := peerstore.AddrInfos(known, ids[:bucketSize+1])
	data, err := proto.Marshal(&pb.Message{ProviderPeers: pb.RawPeerInfosToPBPeers(told), CloserPeers: pb.RawPeerInfosToPBPeers(closer)})
	if err != nil {
		t.Fatal(err)
	}
	if n := named(data); n > maxNamed || len(data) > maxAnswer {
		t.Errorf("an answer of %d bytes names %d nodes and addresses", len(data), n)
	}
}

// From outside nobody names services of this machine or of its network.
func TestAnswersNameNoNearerAddresses(t *testing.T) {
	addrs := []string{
		"/ip4/127.0.0.1/tcp/6379", "/ip6/::1/tcp/6379", "/ip4/192.168.1.1/tcp/80", "/ip4/169.254.169.254/tcp/80", "/ip4/100.64.0.7/tcp/80",
		"/ip6/fe80::1/tcp/80", "/ip6/fd00::1/tcp/80", "/dns4/localhost/tcp/80", "/dns4/printer.local/tcp/80",
		"/ip4/1.2.3.4/tcp/4001", "/ip4/1.2.3.4/udp/4001/quic-v1", "/ip6/2606:4700::1111/tcp/4001", "/dns4/node.example.com/tcp/4001",
	}
	const loopback, near = 2, 9 // so many come first
	for from, want := range map[string][]string{
		"/ip4/127.0.0.1/tcp/4001":   addrs,
		"/ip4/192.168.1.9/tcp/4001": addrs[loopback:],
		"/ip4/5.6.7.8/tcp/4001":     addrs[near:],
		"/ip6/2a00::1/tcp/4001":     addrs[near:],
	} {
		m := &pb.Message{Type: pb.Message_GET_PROVIDERS, Key: []byte("key")}
		for _, list := range []*[]*pb.Message_Peer{&m.CloserPeers, &m.ProviderPeers} {
			p := &pb.Message_Peer{Id: []byte("node")}
			for _, a := range addrs {
				p.Addrs = append(p.Addrs, multiaddr.StringCast(a).Bytes())
			}
			*list = append(*list, p)
		}
		sent, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var got pb.Message
		if err := proto.Unmarshal(believed(sent, multiaddr.StringCast(from)), &got); err != nil {
			t.Fatal(err)
		}
		for _, list := range [][]*pb.Message_Peer{got.CloserPeers, got.ProviderPeers} {
			var kept []string
			for _, raw := range list[0].Addrs {
				a, err := multiaddr.NewMultiaddrBytes(raw)
				if err != nil {
					t.Fatal(err)
				}
				kept = append(kept, a.String())
			}
			if !slices.Equal(kept, want) || string(got.Key) != "key" {
				t.Errorf("from %s: %q, want %q", from, kept, want)
			}
		}
	}
	broken := []byte("no message")
	if got := believed(broken, multiaddr.StringCast("/ip4/5.6.7.8/tcp/4001")); !bytes.Equal(got, broken) {
		t.Errorf("what cannot be decoded became %q", got)
	}
}
