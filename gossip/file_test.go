package gossip

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/crowd"
	"p2pnode/internal/require"
)

// A newcomer gets public files without being a part of the network, from a node with private
// sums and from one without.
func TestFilesAreHandedOutToNewcomers(t *testing.T) {
	want, name := blobOf(1, 100_000)
	var opened, closed atomic.Int64
	files := func(n BlobName) Blob {
		if n != name {
			return nil
		}
		opened.Add(1)
		return memoryBlob{bytes.NewReader(want), &closed}
	}
	plain, serving := testConfig(), testConfig()
	plain.Files, serving.Files, serving.Service = files, files, (&shelf{}).service()
	newcomer := newHost(t, newKey(t))
	for what, c := range map[string]Config{"without private sums": plain, "with private sums": serving} {
		n := startNode(t, newKey(t), c)
		connect(t, newcomer, n.host)
		got, err := FetchFile(t.Context(), newcomer, n.id(), c.Network, name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
		if _, err := FetchFile(t.Context(), newcomer, n.id(), c.Network, BlobName{1}); err == nil || !strings.Contains(err.Error(), "does not hold it") {
			t.Errorf("%s: a file that there is not: %v", what, err)
		}
		if _, err := FetchFile(t.Context(), newcomer, n.id(), "another network", name); err == nil {
			t.Errorf("%s: a file of another network", what)
		}
	}
	require.Eventually(t, "all files are closed", func() bool { return opened.Load() == 2 && closed.Load() == 2 })
}

// A node whose task has no private sums hands out little in a short time.
func TestFileQuota(t *testing.T) {
	want, name := blobOf(1, 100)
	var closed atomic.Int64
	c := testConfig()
	c.Files = func(BlobName) Blob { return memoryBlob{bytes.NewReader(want), &closed} }
	n, newcomer := startNode(t, newKey(t), c), newHost(t, newKey(t))
	connect(t, newcomer, n.host)
	got := 0
	for range fileQuota().peerRequests + 5 {
		if _, err := FetchFile(t.Context(), newcomer, n.id(), c.Network, name); err == nil {
			got++
		}
	}
	if got < fileQuota().peerRequests || got > 2*fileQuota().peerRequests { // a busy machine may see the next window
		t.Errorf("got %d files", got)
	}
}

// What a peer promises and sends is bounded, and is taken only if it is what was asked for.
func TestFetchFileFromLiars(t *testing.T) {
	want, name := blobOf(1, 1000)
	newcomer := newHost(t, newKey(t))
	for what, c := range map[string]struct {
		size uint64
		sent []byte
	}{
		"too large":    {MaxFile + 1, want},
		"endless":      {1 << 63, want},
		"too short":    {2000, want},
		"another file": {1000, append([]byte{want[0] ^ 1}, want[1:]...)},
	} {
		liar := newHost(t, newKey(t))
		liar.SetStreamHandler(blobProtocol("net"), func(s network.Stream) {
			_, _ = s.Write(append(binary.BigEndian.AppendUint64(nil, c.size), c.sent...))
			_ = s.Close()
		})
		connect(t, newcomer, liar)
		if got, err := FetchFile(t.Context(), newcomer, liar.ID(), "net", name); err == nil {
			t.Errorf("%s: got %d bytes", what, len(got))
		}
	}
}

// said is a stream of what a peer has sent.
type said struct{ *bytes.Reader }

func (said) SetReadDeadline(time.Time) error { return nil }

func FuzzReadFile(f *testing.F) {
	f.Add(uint64(3), []byte("abc"), true)
	f.Add(uint64(1)<<40, []byte("abc"), false)
	f.Fuzz(func(t *testing.T, size uint64, sent []byte, honest bool) {
		var name BlobName
		if honest {
			name = sha256.Sum256(sent[:min(size, uint64(len(sent)))])
		}
		data, err := readFile(said{bytes.NewReader(sent)}, size, name)
		if whole := honest && size > 0 && size <= uint64(len(sent)) && size <= MaxFile; whole != (err == nil) {
			t.Fatalf("%d of %d bytes: %v", size, len(sent), err)
		}
		if err == nil && !bytes.Equal(data, sent[:size]) {
			t.Fatalf("got %d bytes", len(data))
		}
	})
}

// caller is the connection of a visit.
type caller struct {
	network.Conn
	from string
}

func (c caller) RemoteMultiaddr() multiaddr.Multiaddr {
	return multiaddr.StringCast("/ip4/" + c.from + "/tcp/1")
}

// visit is a stream that somebody reads slowly.
type visit struct {
	network.Stream
	from  caller
	reset chan struct{}
}

func newVisit(from string) *visit {
	return &visit{from: caller{from: from}, reset: make(chan struct{})}
}

func (v *visit) Conn() network.Conn { return v.from }

func (v *visit) Reset() error {
	close(v.reset)
	return nil
}

// A few addresses that read files slowly do not keep newcomers from them, and those behind one
// address do not push each other out.
func TestSlowReadersLeaveNewcomersAPlace(t *testing.T) {
	q := fileQuota()
	e := &server{ctx: t.Context(), visitors: newVisitors(q), places: crowd.NewPlaces[network.Stream](q.streams)}
	var crowded []*visit
	for i := range q.streams {
		v := newVisit(fmt.Sprintf("198.51.100.%d", i/2+1))
		crowded = append(crowded, v)
		if entered, _ := e.enter(peer.ID(fmt.Sprint(i/2)), v); !entered {
			t.Fatalf("there is no place for stream %d", i)
		}
	}
	if entered, blame := e.enter("crowd", newVisit("198.51.100.1")); entered || blame {
		t.Errorf("one more of the crowd: entered %v, blamed %v", entered, blame)
	}
	newcomer := newVisit("192.0.2.1")
	if entered, _ := e.enter("newcomer", newcomer); !entered {
		t.Error("there is no place for a newcomer")
	}
	lost := func() (n int) {
		for _, v := range crowded {
			select {
			case <-v.reset:
				n++
			default:
			}
		}
		return n
	}
	require.Eventually(t, "one of the crowd gives its place up", func() bool { return lost() == 1 })
	e.leave("newcomer", newcomer)
	if n := e.visitors.streams; n != q.streams {
		t.Errorf("%d requests are counted, want %d", n, q.streams)
	}
}
