package members

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"p2pnode/internal/require"
)

// attacked is a member, and a host of another member that speaks for itself.
type attacked struct {
	*member
	hostile  network.Network
	stream   func() network.Stream // opens one from the attacker
	attacker peer.ID
}

func attack(t *testing.T, timeout time.Duration, list *Signed, key, hostileKey crypto.PrivKey, trusted peer.ID) *attacked {
	t.Helper()
	a := &attacked{member: joinFor(t, timeout, transports["tcp"], list, key, nil, trusted)}
	h := newHost(t, transports["tcp"], hostileKey)
	t.Cleanup(func() { h.Close() })
	if err := h.Connect(t.Context(), infoOf(a)); err != nil {
		t.Fatal(err)
	}
	a.hostile, a.attacker = h.Network(), h.ID()
	a.stream = func() network.Stream {
		s, err := h.NewStream(t.Context(), a.ID(), protocol.ID(protocolID("garden")))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return a
}

// promise is a hello of a list that is newer than any.
func promise(text []byte) []byte {
	out, _ := binary.Append(nil, binary.BigEndian, hello{Version: maxVersion})
	return append(binary.BigEndian.AppendUint32(out, uint32(len(text))), text...)
}

// Whatever a hostile member sends, the list stays and the peer is not listened to
// again.
func TestHostileLists(t *testing.T) {
	authority, trusted := newKey(t)
	key, id := keys(t, 2)
	list := sign(t, authority, 3, id...)
	old := sign(t, authority, 2, id...)
	unknown := sign(t, key[1], 4, id...)
	for name, c := range map[string]struct {
		sent []byte
		want string // in the log
	}{
		"noise":           {promise([]byte(strings.Repeat("x", 1<<16))), "no signature at its end"},
		"old":             {promise(old.Text), "announced version 9007199254740992 and sent version 2"},
		"self-made":       {promise(unknown.Text), "does not trust"},
		"giant":           {promise(nil)[:40:40], "more than 4194304 bytes"},
		"never there":     {promise(nil)[:40], "announced and did not come"},
		"half of it":      {promise(list.Text)[:100], "announced and did not come"},
		"nothing at all":  {nil, ""},
		"half a greeting": {promise(nil)[:20], ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := attack(t, time.Second, list, key[0], key[1], trusted)
			if name == "giant" {
				c.sent = binary.BigEndian.AppendUint32(c.sent, 1<<32-1)
			}
			s := a.stream()
			if _, err := s.Write(c.sent); err != nil {
				t.Fatal(err)
			}
			if c.want != "" {
				require.Eventually(t, "the log says "+c.want, func() bool { return strings.Contains(a.log.String(), c.want) })
			}
			_, _ = io.Copy(io.Discard, s) // until the member ends it
			if a.book.List().digest != list.digest {
				t.Error("the list has changed")
			}
			if c.want == "" {
				return
			}
			again := a.stream()
			_, _ = again.Write(promise(nil))
			if n, _ := io.Copy(io.Discard, again); n > 0 {
				t.Error("the attacker is answered again")
			}
		})
	}
}

// An attacker that opens streams and holds them open keeps one place, and nobody else
// out.
func TestAttackersHoldNothingUp(t *testing.T) {
	authority, trusted := newKey(t)
	key, id := keys(t, 3)
	a := attack(t, exchangeTimeout, sign(t, authority, 1, id...), key[0], key[1], trusted)
	var streams []network.Stream
	for range 100 {
		s := a.stream()
		_, _ = s.Write([]byte{0})
		streams = append(streams, s)
	}
	refused := make(chan bool, len(streams))
	for _, s := range streams {
		go func() {
			_ = s.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			n, _ := io.Copy(io.Discard, s)
			refused <- n == 0
		}()
	}
	answered := 0
	for range streams {
		if !<-refused {
			answered++
		}
	}
	if answered > 1 {
		t.Errorf("%d streams of one peer are answered at once", answered)
	}
	b := join(t, transports["tcp"], sign(t, authority, 2, id...), key[2], nil, trusted)
	connect(t, b, a)
	require.Eventually(t, "the list has come", func() bool { return version(a.book) == 2 })
}

// A member whose list has to wait until others have given back the places for receiving one
// is believed, however long they take.
func TestWaitForAPlaceIsNotHeldAgainstAPeer(t *testing.T) {
	authority, trusted := newKey(t)
	_, id := keys(t, 2)
	mine, newer := sign(t, authority, 1, id...), sign(t, authority, 2, id...)
	b := newBook(t, id[0], nil, trusted)
	offer(t, mine, b)
	synctest.Test(t, func(t *testing.T) {
		s := &spreader{
			book: b, ctx: t.Context(), receiving: make(chan struct{}, 1), timeout: exchangeTimeout,
			distrusted: make(map[peer.ID]time.Time),
		}
		s.receiving <- struct{}{} // another member promises a list
		here, there := net.Pipe()
		go io.Copy(io.Discard, there)
		go there.Write(promiseOf(newer))
		ended := make(chan error, 1)
		go func() { ended <- s.exchange(&piped{end: here, from: id[1]}, mine) }()
		time.Sleep(2 * exchangeTimeout)
		<-s.receiving
		if err := <-ended; err != nil || b.List().Version != 2 {
			t.Errorf("the list is version %d: %v", b.List().Version, err)
		}
		if len(s.distrusted) > 0 {
			t.Error("the peer is distrusted")
		}
	})
}

// promiseOf is a hello of a list, and the list.
func promiseOf(s *Signed) []byte {
	out, _ := binary.Append(nil, binary.BigEndian, helloOf(s))
	return append(binary.BigEndian.AppendUint32(out, uint32(len(s.Text))), s.Text...)
}

// piped is one end of a pipe as a stream of a peer.
type piped struct {
	network.Stream
	end  net.Conn
	from peer.ID
}

func (p *piped) Conn() network.Conn                { return remote{from: p.from} }
func (p *piped) Read(b []byte) (int, error)        { return p.end.Read(b) }
func (p *piped) Write(b []byte) (int, error)       { return p.end.Write(b) }
func (p *piped) Close() error                      { return p.end.Close() }
func (p *piped) Reset() error                      { return p.end.Close() }
func (p *piped) SetDeadline(t time.Time) error     { return p.end.SetDeadline(t) }
func (p *piped) SetReadDeadline(t time.Time) error { return p.end.SetReadDeadline(t) }

// remote is a connection to a peer.
type remote struct {
	network.Conn
	from peer.ID
}

func (r remote) RemotePeer() peer.ID { return r.from }

// FuzzTrade plays the other end of an exchange.
func FuzzTrade(f *testing.F) {
	key, authority := fixedKey(f, 1)
	_, self := fixedKey(f, 2)
	mine := sign(f, key, 3, self)
	f.Add([]byte{})
	f.Add(promise(mine.Text))
	f.Add(promise(nil))
	b := newBook(f, self, nil, authority)
	b.list.Store(mine)
	s := &spreader{book: b, ctx: context.Background(), receiving: make(chan struct{}, 1)}
	f.Fuzz(func(t *testing.T, sent []byte) {
		var answer bytes.Buffer
		_ = trade(struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(sent), &answer}, mine, s.take)
		if b.List() != mine {
			t.Error("the list has changed")
		}
		if answer.Len() > 44+len(mine.Text) {
			t.Errorf("%d bytes are sent", answer.Len())
		}
	})
}
