package members

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is when the tests' lists are issued.
var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// transports are the addresses the hosts of a test listen on.
var transports = map[string]string{
	"tcp":       "/ip4/127.0.0.1/tcp/0",
	"websocket": "/ip4/127.0.0.1/tcp/0/ws",
	"quic":      "/ip4/127.0.0.1/udp/0/quic-v1",
}

func newKey(t testing.TB) (crypto.PrivKey, peer.ID) {
	t.Helper()
	return keyFrom(t, rand.Reader)
}

// fixedKey is a key that each process of a fuzz target has, so that its seeds are genuine in all.
func fixedKey(t testing.TB, number byte) (crypto.PrivKey, peer.ID) {
	t.Helper()
	return keyFrom(t, bytes.NewReader(bytes.Repeat([]byte{number}, 32)))
}

func keyFrom(t testing.TB, random io.Reader) (crypto.PrivKey, peer.ID) {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(random)
	if err != nil {
		t.Fatal(err)
	}
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, id
}

// sign issues a version of the list of "garden".
func sign(t testing.TB, key crypto.PrivKey, version uint64, members ...peer.ID) *Signed {
	t.Helper()
	l := List{Network: "garden", Version: version}
	for i, p := range members {
		if err := l.Put(Member{Peer: p, Name: fmt.Sprint("node ", i), Added: start}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := l.Sign(key, start)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newBook(t testing.TB, self peer.ID, introducers []peer.ID, authorities ...peer.ID) *Book {
	t.Helper()
	b, err := Open(Config{
		File: filepath.Join(t.TempDir(), "members.toml"), Network: "garden", Authorities: authorities,
		Self: self, Introducers: introducers, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func offer(t testing.TB, s *Signed, books ...*Book) {
	t.Helper()
	for _, b := range books {
		if news, err := b.Offer(s.Text); err != nil || !news {
			t.Fatalf("offer: %v, %v", news, err)
		}
	}
}

// member is a running host with a book.
type member struct {
	host.Host
	book *Book
	log  *logged
	stop func()
}

// join starts a host that listens on the address and trusts the authority.
func join(t testing.TB, listen string, list *Signed, key crypto.PrivKey, introducers []peer.ID, authorities ...peer.ID) *member {
	t.Helper()
	return joinFor(t, exchangeTimeout, listen, list, key, introducers, authorities...)
}

// joinFor joins with another bound on the time of an exchange. The host answers when
// it returns.
func joinFor(t testing.TB, timeout time.Duration, listen string, list *Signed, key crypto.PrivKey, introducers []peer.ID, authorities ...peer.ID) *member {
	t.Helper()
	self, err := peer.IDFromPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	m := &member{book: newBook(t, self, introducers, authorities...), log: &logged{}}
	m.book.log = slog.New(slog.NewTextHandler(m.log, nil))
	m.book.timeout = timeout
	if list != nil {
		offer(t, list, m.book)
	}
	m.Host = newHost(t, listen, key, libp2p.ConnectionGater(m.book))
	ctx, cancel := context.WithCancel(context.Background())
	ended, answers := make(chan error, 1), make(chan struct{})
	go func() { ended <- m.book.Run(ctx, m.Host, sync.OnceFunc(func() { close(answers) })) }()
	select {
	case <-answers:
	case err := <-ended:
		t.Fatalf("the book does not run: %v", err)
	}
	m.stop = func() {
		if cancel == nil {
			return
		}
		cancel()
		cancel = nil
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(m.stop)
	return m
}

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newHost(t testing.TB, listen string, key crypto.PrivKey, more ...libp2p.Option) host.Host {
	t.Helper()
	h, err := libp2p.New(append(more, libp2p.Identity(key), libp2p.ListenAddrStrings(listen),
		libp2p.ResourceManager(&network.NullResourceManager{}),
		libp2p.DisableRelay(), libp2p.DisableMetrics(), libp2p.DisableIdentifyAddressDiscovery())...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func infoOf(h host.Host) peer.AddrInfo { return peer.AddrInfo{ID: h.ID(), Addrs: h.Addrs()} }

// connect dials until it succeeds or the test has waited too long.
func connect(t testing.TB, from *member, to host.Host) {
	t.Helper()
	if err := from.Connect(t.Context(), infoOf(to)); err != nil {
		t.Fatal(err)
	}
}

func connected(a, b host.Host) bool {
	return a.Network().Connectedness(b.ID()) == network.Connected
}
