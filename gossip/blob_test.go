package gossip

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"

	"p2pnode/gossip/reputation"
	"p2pnode/internal/require"
)

// memoryBlob is a blob in memory that can count how often it is closed.
type memoryBlob struct {
	*bytes.Reader
	closed *atomic.Int64
}

func (b memoryBlob) Close() error {
	b.closed.Add(1)
	return nil
}

// A file is a blob of its bytes, unless it has none, or too many.
func TestOpenBlob(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for text, want := range map[string]bool{"": false, "1": true, "1234": true, "12345": false} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		b := OpenBlob(path, 4)
		if (b != nil) != want {
			t.Errorf("%q is a blob: %v", text, !want)
		}
		if b == nil {
			continue
		}
		got := make([]byte, b.Size())
		if _, err := b.ReadAt(got, 0); err != nil || string(got) != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		require.NoError(t, b.Close())
	}
	if b := OpenBlob(path+"2", 4); b != nil {
		t.Error("a file that is not there is a blob")
	}
}

// shelf is a service that holds blobs and notes what it hears.
type shelf struct {
	closed, opened atomic.Int64

	mu    sync.Mutex
	blobs map[BlobName][]byte
	news  [][]byte
}

func (s *shelf) service() *Service {
	return &Service{
		OnCall: func(_ context.Context, from peer.ID, call []byte) ([]byte, bool) {
			if string(call) == "garbage" {
				return nil, false
			}
			return append([]byte("heard "), call...), true
		},
		OnBlob: func(_ peer.ID, name BlobName) Blob {
			s.mu.Lock()
			defer s.mu.Unlock()
			if b := s.blobs[name]; b != nil {
				s.opened.Add(1)
				return memoryBlob{bytes.NewReader(b), &s.closed}
			}
			return nil
		},
		OnNews: func(_ peer.ID, news []byte) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.news = append(s.news, bytes.Clone(news))
			return true
		},
	}
}

// put holds bytes under the name that follows from them, or a false one.
func (s *shelf) put(name BlobName, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blobs == nil {
		s.blobs = make(map[BlobName][]byte)
	}
	s.blobs[name] = b
}

func newShelfNode(t testing.TB) (*node, *shelf) {
	s, c := &shelf{}, testConfig()
	c.Service = s.service()
	return startNode(t, newKey(t), c), s
}

// blobOf is a content of so many bytes, and its name.
func blobOf(seed uint64, size int) ([]byte, BlobName) {
	b := make([]byte, size)
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b, sha256.Sum256(b)
}

// named is the check of a name.
func named(name BlobName) func([]byte) error {
	return func(b []byte) error {
		if sha256.Sum256(b) != name {
			return errors.New("other bytes")
		}
		return nil
	}
}

func (n *node) get(t testing.TB, name BlobName, size int, from ...*node) ([]byte, error) {
	t.Helper()
	var peers []peer.ID
	for _, f := range from {
		peers = append(peers, f.id())
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	return n.Fetch(ctx, name, int64(size), peers, named(name))
}

func (n *node) strikes(p *node) int {
	for _, h := range n.Held() {
		if h.Peer == p.id() {
			return int(h.Counts[reputation.Malformed])
		}
	}
	return 0
}

func TestBlobsAreFetchedFromAnybodyWhoHasThem(t *testing.T) {
	a, _ := newShelfNode(t)
	b, _ := newShelfNode(t)
	c, holds := newShelfNode(t)
	connect(t, a.host, b.host)
	connect(t, a.host, c.host)
	for _, size := range []int{1, blobChunk - 1, blobChunk, blobChunk + 1, 1 << 20} {
		want, name := blobOf(uint64(size), size)
		holds.put(name, want)
		got, err := a.get(t, name, size, b, c)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
	}
	_, name := blobOf(1, 10)
	if _, err := a.get(t, name, 10, b, c); !errors.Is(err, errNotHeld) {
		t.Errorf("what nobody has: %v", err)
	}
	if a.strikes(b) != 0 || a.strikes(c) != 0 {
		t.Error("a peer was struck for having nothing")
	}
	require.Eventually(t, "all blobs are closed", func() bool { return holds.closed.Load() == holds.opened.Load() })
	for _, size := range []int64{0, -1, MaxBlob + 1} {
		if _, err := a.Fetch(t.Context(), name, size, nil, nil); err == nil {
			t.Errorf("fetched %d bytes", size)
		}
	}
}

// breaking is a host's answer that ends after so many bytes, with the connection at the
// first time, and notes from where it is asked.
type breaking struct {
	content []byte
	after   int
	once    bool // it says nothing after the first time

	mu     sync.Mutex
	places []uint64
}

func (b *breaking) handle(s network.Stream) {
	var request [40]byte
	if _, err := io.ReadFull(s, request[:]); err != nil {
		return
	}
	place := binary.BigEndian.Uint64(request[32:])
	b.mu.Lock()
	b.places = append(b.places, place)
	silent := b.once && len(b.places) > 1
	first := len(b.places) == 1
	b.mu.Unlock()
	if silent {
		_ = s.Reset()
		return
	}
	_, _ = s.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b.content))))
	_, _ = s.Write(b.content[place:min(int(place)+b.after, len(b.content))])
	_ = s.CloseWrite()
	if first { // the rest of what was written arrives, or is asked for again
		_, _ = io.ReadAll(s)
	}
}

// What has come through a connection that breaks is not asked for again.
func TestFetchGoesOnWhereItBroke(t *testing.T) {
	a, _ := newShelfNode(t)
	b, _ := newShelfNode(t)
	c, holds := newShelfNode(t)
	connect(t, a.host, b.host)
	connect(t, a.host, c.host)
	want, name := blobOf(1, 10*blobChunk+5)
	part := &breaking{content: want, after: 4 * blobChunk}
	b.host.SetStreamHandler(blobProtocol("net"), part.handle)
	got, err := a.get(t, name, len(want), b)
	if err != nil || !bytes.Equal(got, want) || len(part.places) != 3 || part.places[2] != 8*blobChunk {
		t.Errorf("from a peer that breaks off: %d bytes, asked from %v, %v", len(got), part.places, err)
	}
	// The rest comes from another peer, when the first one is gone.
	part = &breaking{content: want, after: 4 * blobChunk, once: true}
	b.host.SetStreamHandler(blobProtocol("net"), part.handle)
	holds.put(name, want)
	got, err = a.get(t, name, len(want), b, c)
	if err != nil || !bytes.Equal(got, want) || len(part.places) != 1 {
		t.Errorf("from two: %d bytes, asked from %v, %v", len(got), part.places, err)
	}
	if a.strikes(b) != 0 {
		t.Error("a peer was struck for its connection")
	}
}

// A connection that is cut in the middle ends a stream; once there is another one, the
// rest comes through it.
func TestFetchSurvivesACutConnection(t *testing.T) {
	a, _ := newShelfNode(t)
	b, _ := newShelfNode(t)
	connect(t, a.host, b.host)
	want, name := blobOf(2, 20*blobChunk)
	var asked atomic.Int64
	var resumed atomic.Uint64
	b.host.SetStreamHandler(blobProtocol("net"), func(s network.Stream) {
		var request [40]byte
		_, _ = io.ReadFull(s, request[:])
		place := binary.BigEndian.Uint64(request[32:])
		_, _ = s.Write(binary.BigEndian.AppendUint64(nil, uint64(len(want))))
		if asked.Add(1) == 1 {
			_, _ = s.Write(want[:5*blobChunk])
			_ = s.CloseWrite()
			_, _ = io.ReadAll(s) // until all of it has come
			_ = b.host.Network().ClosePeer(a.id())
			return
		}
		resumed.Store(place)
		_, _ = s.Write(want[place:])
		_ = s.CloseWrite()
	})
	a.host.Peerstore().AddAddrs(b.id(), b.host.Addrs(), time.Hour)
	got, err := a.get(t, name, len(want), b)
	if err != nil || !bytes.Equal(got, want) || resumed.Load() != 5*blobChunk {
		t.Errorf("%d bytes, resumed at %d: %v", len(got), resumed.Load(), err)
	}
}

// A peer that sends other bytes than the name says is struck, and the blob comes from
// another; mixed bytes are nobody's fault until it is known whose.
func TestOtherBytesAreStruck(t *testing.T) {
	a, _ := newShelfNode(t)
	liar, lies := newShelfNode(t)
	c, holds := newShelfNode(t)
	connect(t, a.host, liar.host)
	connect(t, a.host, c.host)
	want, name := blobOf(1, 3*blobChunk)
	holds.put(name, want)
	lies.put(name, make([]byte, len(want)))
	got, err := a.get(t, name, len(want), liar, c)
	if err != nil || !bytes.Equal(got, want) || a.strikes(liar) != 1 || a.strikes(c) != 0 {
		t.Errorf("other bytes: %d, %d strikes and %d, %v", len(got), a.strikes(liar), a.strikes(c), err)
	}
	lies.put(name, make([]byte, len(want)-1))
	got, err = a.get(t, name, len(want), liar, c)
	if err != nil || !bytes.Equal(got, want) || a.strikes(liar) != 2 {
		t.Errorf("another size: %d, %d strikes, %v", len(got), a.strikes(liar), err)
	}
	part := &breaking{content: make([]byte, len(want)), after: blobChunk, once: true}
	liar.host.SetStreamHandler(blobProtocol("net"), part.handle)
	got, err = a.get(t, name, len(want), liar, c)
	if err != nil || !bytes.Equal(got, want) || a.strikes(c) != 0 {
		t.Errorf("mixed bytes: %d, %d strikes for the honest one, %v", len(got), a.strikes(c), err)
	}
	if _, err = a.get(t, name, len(want), liar); err == nil {
		t.Error("nobody but a liar was asked")
	}
}

// Requests of every length that no honest peer makes are refused, and those of a place
// after the end are struck.
func TestBadBlobRequests(t *testing.T) {
	a, holds := newShelfNode(t)
	b := newNode(t)
	connect(t, b.host, a.host)
	want, name := blobOf(1, 100)
	holds.put(name, want)
	ask := func(request []byte) []byte {
		s, err := b.host.NewStream(t.Context(), a.id(), blobProtocol("net"))
		if err != nil {
			return nil
		}
		defer s.Close()
		_, _ = s.Write(request)
		_ = s.CloseWrite()
		_ = s.SetReadDeadline(time.Now().Add(deadline))
		reply, _ := io.ReadAll(s)
		return reply
	}
	at := func(place uint64) []byte { return binary.BigEndian.AppendUint64(name[:], place) }
	for _, n := range []int{0, 1, 31, 39} {
		if reply := ask(at(0)[:n]); len(reply) != 0 {
			t.Errorf("a request of %d bytes got %d", n, len(reply))
		}
	}
	if reply := ask(at(99)); len(reply) != 9 || reply[8] != want[99] {
		t.Errorf("the last byte: %x", reply)
	}
	if a.strikes(b) != 0 {
		t.Fatalf("%d strikes for requests that broke off", a.strikes(b))
	}
	for i, place := range []uint64{100, 101, 1 << 40, 1 << 63, 1<<64 - 1} {
		if reply := ask(at(place)); len(reply) != 0 || a.strikes(b) != i+1 {
			t.Errorf("place %d got %d bytes and %d strikes", place, len(reply), a.strikes(b))
		}
	}
	if reply := ask(at(0)); len(reply) != 0 {
		t.Error("a refused peer was answered")
	}
}

// A flood takes one peer's places, and no other's.
func TestBlobFloodLeavesOthersTheirPlaces(t *testing.T) {
	a, holds := newShelfNode(t)
	flooder, other := newNode(t), newNode(t)
	connect(t, flooder.host, a.host)
	connect(t, other.host, a.host)
	want, name := blobOf(1, 1<<20)
	holds.put(name, want)
	for range 3 * blobQuota().peerStreams { // asks, and never reads or says more
		if s, err := flooder.host.NewStream(t.Context(), a.id(), blobProtocol("net")); err == nil {
			defer s.Reset()
			_, _ = s.Write(name[:])
		}
	}
	require.Eventually(t, "the flooder's places are taken", func() bool {
		a.blobs.mu.Lock()
		defer a.blobs.mu.Unlock()
		return a.blobs.visitors.streams == blobQuota().peerStreams
	})
	if got, err := other.get(t, name, len(want), a); err != nil || !bytes.Equal(got, want) {
		t.Errorf("another peer got %d bytes: %v", len(got), err)
	}
}

func TestBytesOfVisitorsAreBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	v := newVisitors(quota{streams: 9, peerStreams: 9, peerRequests: 99, bytes: 100, peerBytes: 60})
	enter := func(p peer.ID, at string, sent int) bool {
		from := netip.MustParseAddr(at)
		if entered, _ := v.enter(p, from, now); !entered {
			return false
		}
		v.sent(p, from, sent, now)
		v.leave(p)
		return true
	}
	const crowded, other, third = "1.2.3.4", "5.6.7.8", "9.9.9.9"
	if !enter("a", crowded, 59) || !enter("a", crowded, 1) || enter("a", crowded, 1) || !enter("b", crowded, 40) {
		t.Errorf("a peer may have 60 bytes; counted %+v", v.all)
	}
	if !enter("b", crowded, 1) || enter("c", crowded, 1) || enter("d", crowded, 1) {
		t.Errorf("identities of one address may have all 100; counted %+v", v.all)
	}
	if !enter("e", other, 40) || !enter("e", other, 11) || enter("e", other, 1) || enter("f", other, 1) {
		t.Errorf("another address has its equal part beyond them; counted %+v", v.all)
	}
	if !enter("g", third, 48) || enter("h", "8.8.8.8", 1) {
		t.Errorf("all may have twice as much; counted %+v", v.all)
	}
	now = now.Add(requestWindow)
	if !enter("a", crowded, 1) || !enter("c", crowded, 1) || v.all.bytes != 2 {
		t.Errorf("in the next window: %+v", v.all)
	}
}

// What waits for the rest of its bytes takes bounded memory: the others wait.
func TestFetchesWaitForRoom(t *testing.T) {
	a, _ := newShelfNode(t)
	b, holds := newShelfNode(t)
	connect(t, a.host, b.host)
	require.NoError(t, a.room.Acquire(t.Context(), FetchRoom-50))
	want, name := blobOf(1, 100)
	holds.put(name, want)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.Fetch(ctx, name, 100, []peer.ID{b.id()}, named(name)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("fetched without room: %v", err)
	}
	a.room.Release(50)
	if _, err := a.get(t, name, 100, b); err != nil {
		t.Errorf("fetched with room: %v", err)
	}
}

func TestCallsAreAnsweredAndGarbageIsStruck(t *testing.T) {
	a, _ := newShelfNode(t)
	b, _ := newShelfNode(t)
	connect(t, a.host, b.host)
	for _, n := range []int{0, 1, MaxCall - len("heard ")} {
		call := bytes.Repeat([]byte("x"), n)
		reply, err := a.Call(t.Context(), b.id(), call)
		if err != nil || string(reply) != "heard "+string(call) {
			t.Errorf("a call of %d bytes: %d came back, %v", n, len(reply), err)
		}
	}
	if _, err := a.Call(t.Context(), b.id(), make([]byte, MaxCall+1)); err == nil {
		t.Error("a call of too many bytes was sent")
	}
	for i := range reputation.Limit {
		if _, err := a.Call(t.Context(), b.id(), []byte("garbage")); err == nil || b.strikes(a) != i+1 {
			t.Errorf("garbage: %v, %d strikes", err, b.strikes(a))
		}
	}
	if _, err := a.Call(t.Context(), b.id(), nil); err == nil {
		t.Error("a refused peer was answered")
	}
}

// News reach every node of the network that has a service, also through others.
// A call dials also when one has failed a moment ago, by which libp2p would refuse to.
func TestCallsDialAgainAtOnce(t *testing.T) {
	a, _ := newShelfNode(t)
	gone := newHost(t, newKey(t))
	a.host.Peerstore().AddAddrs(gone.ID(), gone.Addrs(), time.Hour)
	require.NoError(t, gone.Close())
	for range 3 {
		if _, err := a.Call(t.Context(), gone.ID(), nil); err == nil || errors.Is(err, swarm.ErrDialBackoff) {
			t.Errorf("a peer that is away: %v", err)
		}
	}
}

func TestNewsReachEverybody(t *testing.T) {
	a, _ := newShelfNode(t)
	b, hears := newShelfNode(t)
	c, far := newShelfNode(t)
	connect(t, a.host, b.host)
	connect(t, b.host, c.host)
	heard := func(s *shelf) func() bool {
		return func() bool {
			_ = a.Announce(t.Context(), []byte("a result")) // heard once b has said that it listens
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.news) > 0 && string(s.news[0]) == "a result"
		}
	}
	require.Eventually(t, "the neighbour hears it", heard(hears))
	require.Eventually(t, "its neighbour hears it", heard(far))
	if err := a.Announce(t.Context(), make([]byte, maxNews+1)); err == nil || !strings.Contains(err.Error(), "512") {
		t.Errorf("too long news: %v", err)
	}
	plain := newNode(t)
	if err := plain.Announce(t.Context(), []byte("x")); err == nil {
		t.Error("a node without a service announced something")
	}
}
