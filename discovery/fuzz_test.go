package discovery

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
)

// self is a host that only knows its name.
type self struct{ host.Host }

func (self) ID() peer.ID { return "self" }

// stranger is a connection of somebody, and said a stream over it from which bytes come.
type (
	stranger struct{ network.Conn }
	said     struct {
		network.Stream
		bytes io.Reader
	}
)

func (stranger) RemotePeer() peer.ID { return "stranger" }
func (stranger) RemoteMultiaddr() multiaddr.Multiaddr {
	return multiaddr.StringCast("/ip4/192.0.2.1/tcp/1")
}
func (s said) Read(p []byte) (int, error) { return s.bytes.Read(p) }
func (s said) Conn() network.Conn         { return stranger{} }

// whole is the obvious twin of [question]: how many bytes of it may pass, all messages being
// short, and whether that is all of it.
func whole(text []byte) (passed int, all bool) {
	for passed < len(text) {
		length, n := binary.Uvarint(text[passed:min(len(text), passed+3)])
		if n == 0 { // its end is missing, or comes too late
			for i, b := range text[passed:min(len(text), passed+3)] {
				length |= uint64(b&0x7f) << (7 * i)
			}
		}
		if length > maxAsked || n == 0 && len(text)-passed > 3 {
			return passed, false
		}
		if n == 0 {
			return len(text), true
		}
		passed = min(len(text), passed+n+int(length))
	}
	return passed, true
}

// Of what a stranger says to the hash table no message passes that is too long, and all else
// passes as it is.
func FuzzQuestion(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x03abc\x00\x01x"))
	f.Add(append([]byte{0x80, 0x80, 0x01}, make([]byte, maxAsked+1)...))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, text []byte) {
		q := &question{Stream: said{bytes: bytes.NewReader(text)}, at: newAsked(nil)}
		got, err := io.ReadAll(q)
		if !bytes.HasPrefix(text, got) {
			t.Fatalf("%x passes as %x", text, got)
		}
		passed, all := whole(text)
		switch {
		case errors.Is(err, errAskedMuch):
		case all && (err != nil || len(got) != len(text)):
			t.Fatalf("%x: %d bytes pass, %v", text, len(got), err)
		case !all && (!errors.Is(err, errLong) || len(got) < passed || len(got) > passed+3):
			t.Fatalf("%x: %d bytes pass and %d are short messages, %v", text, len(got), passed, err)
		}
	})
}

// Whatever answers on the local network, a node is called at a bounded number of addresses, and
// never this one.
func FuzzRead(f *testing.F) {
	const id = "12D3KooWQoPFZHjbYqWacLniFGVHMrEyBUtujLqU223AH4jyuhJi"
	f.Add("dnsaddr=/ip4/192.0.2.1/tcp/4001/p2p/" + id)
	f.Add(strings.Repeat("dnsaddr=/ip4/192.0.2.1/tcp/4001/p2p/"+id+"\n", 3) + "dnsaddr=/ip6/2001:db8::1/udp/1/quic-v1/p2p/" + id)
	f.Add("dnsaddr=/ip4/0.0.0.0/tcp/1/p2p/" + id + "\nx\n\n/p2p/" + id)
	f.Fuzz(func(t *testing.T, texts string) {
		l := &local{host: self{}}
		p, ok := l.read(strings.Split(texts, "\n"))
		if !ok {
			return
		}
		if p.ID == "" || p.ID == "self" || len(p.Addrs) > maxAddrs {
			t.Fatalf("read: %v", p)
		}
		for _, a := range p.Addrs {
			if len(a.Bytes()) > maxAddrSize || len(a.Bytes()) == 0 {
				t.Fatalf("an address of %d bytes", len(a.Bytes()))
			}
		}
	})
}

// Whatever addresses are announced under the network's key, few and short ones are told to
// others.
func FuzzBound(f *testing.F) {
	f.Add(multiaddr.StringCast("/ip4/192.0.2.1/tcp/4001").Bytes())
	f.Add(multiaddr.StringCast("/dns/" + strings.Repeat("x", 250) + "/tcp/4001").Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		var addrs []multiaddr.Multiaddr
		for piece := range bytes.SplitSeq(data, []byte{0xff, 0}) {
			if a, err := multiaddr.NewMultiaddrBytes(piece); err == nil {
				addrs = append(addrs, a, a)
			}
		}
		out := Bound(addrs)
		if len(out) > maxAddrs {
			t.Fatalf("%d addresses", len(out))
		}
		for i, a := range out {
			if len(a.Bytes()) > maxAddrSize || i > 0 && out[i-1].Equal(a) {
				t.Fatalf("%d bytes, after the same", len(a.Bytes()))
			}
		}
	})
}
