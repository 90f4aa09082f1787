package netedge

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/storage"
)

func newBook(t testing.TB) *Book {
	t.Helper()
	store, err := storage.Open(filepath.Join(t.TempDir(), datadir.StoreFile))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return reopen(t, store)
}

func reopen(t testing.TB, store *storage.Store) *Book {
	t.Helper()
	b, err := OpenBook(store, "net", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// silentHost is a host that listens nowhere.
func silentHost(t testing.TB) host.Host {
	t.Helper()
	h, err := libp2p.New(libp2p.NoListenAddrs, libp2p.DisableMetrics())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func somebody(t *testing.T) peer.AddrInfo {
	t.Helper()
	return peer.AddrInfo{ID: randomPeer(t), Addrs: []multiaddr.Multiaddr{multiaddr.StringCast("/ip4/192.0.2.1/tcp/1")}}
}

func TestWhatTheOwnerAddsStays(t *testing.T) {
	b := newBook(t)
	host := silentHost(t)
	p := somebody(t)
	if err := b.Add(p); err != nil {
		t.Fatal(err)
	}
	for range 3 * maxMisses {
		b.Tried([]peer.ID{host.ID()}, []peer.ID{p.ID})
	}
	b.Save(host)
	again := reopen(t, b.store)
	if got := again.Added(); len(got) != 1 || got[0].ID != p.ID || len(got[0].Addrs) != 1 {
		t.Errorf("after a restart: %v", got)
	}
	if err := again.Remove(p.ID); err != nil {
		t.Fatal(err)
	}
	if err := again.Remove(p.ID); !errors.Is(err, api.ErrNoPeer) {
		t.Errorf("removed twice: %v", err)
	}
	if got := reopen(t, b.store).Added(); len(got) != 0 {
		t.Errorf("after it was removed: %v", got)
	}
	for range maxAdded {
		if err := b.Add(somebody(t)); err != nil {
			break
		}
	}
	if err := b.Add(somebody(t)); err == nil {
		t.Error("no limit to what the owner can add")
	}
}

// An app names the peers that it sees again and again: only what is new is written.
func TestWhatIsAddedAgainIsNotWritten(t *testing.T) {
	b := newBook(t)
	p := somebody(t)
	if err := b.Add(p); err != nil {
		t.Fatal(err)
	}
	_ = b.store.Close()
	if err := b.Add(p); err != nil {
		t.Errorf("the same again: %v", err)
	}
	p.Addrs = []multiaddr.Multiaddr{multiaddr.StringCast("/ip4/192.0.2.1/tcp/2")}
	if err := b.Add(p); err == nil {
		t.Error("another address was not written")
	}
}

func TestWhoIsNotSeenAnyMoreIsForgotten(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		seen   time.Duration // ago
		after  int           // so many others were seen an hour ago
		misses int
		others bool // answered when it did not
		kept   bool
	}{
		"seen lately":            {seen: time.Hour, kept: true},
		"long ago, as many were": {seen: 31 * 24 * time.Hour, after: minMet},
		"long ago, as few were":  {seen: 31 * 24 * time.Hour, after: minMet - 1, kept: true},
		"lately, as many were":   {seen: 29 * 24 * time.Hour, after: minMet, kept: true},
		"silent, others not":     {seen: time.Hour, misses: maxMisses, others: true},
		"silent, as all are":     {seen: time.Hour, misses: 10 * maxMisses, kept: true},
		"silent now and again":   {seen: time.Hour, misses: maxMisses - 1, others: true, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			b, host, p := newBook(t), silentHost(t), somebody(t)
			b.known[p.ID] = &acquaintance{addrs: p.Addrs, seen: now.Add(-c.seen)}
			for range c.after {
				b.known[randomPeer(t)] = &acquaintance{addrs: p.Addrs, seen: now.Add(-time.Hour)}
			}
			var reached []peer.ID
			if c.others {
				reached = append(reached, host.ID())
			}
			for range c.misses {
				b.Tried(reached, []peer.ID{p.ID})
			}
			b.Save(host)
			if got := reopen(t, b.store).known[p.ID] != nil; got != c.kept {
				t.Errorf("kept: %v", got)
			}
		})
	}
}

// TestTheBookIsBounded meets many more peers than it keeps; the last ones stay.
func TestTheBookIsBounded(t *testing.T) {
	b := newBook(t)
	first := somebody(t)
	if err := b.Add(first); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for i := range 3 * maxMet {
		b.mu.Lock()
		b.keep(maxMet - 1)
		b.known[peer.ID(fmt.Sprint(i))] = &acquaintance{seen: start.Add(time.Duration(i) * time.Second), addrs: first.Addrs}
		b.mu.Unlock()
	}
	list := b.Remembered()
	if len(list) != maxMet || list[0].ID != peer.ID(fmt.Sprint(3*maxMet-1)) {
		t.Errorf("%d remembered, %v first", len(list), list[0].ID)
	}
	if len(b.Added()) != 1 {
		t.Error("the peer that the owner added had to make room")
	}
}

// A crowd of peers that the node has never seen before does not push out those that it has
// known for long, over restarts too.
func TestWhoHasStoodIsRemembered(t *testing.T) {
	b := newBook(t)
	start := time.Now().Add(-24 * time.Hour)
	enter := func(b *Book, id peer.ID, first, again time.Time) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.keep(maxMet - 1)
		b.known[id] = &acquaintance{}
		b.known[id].meet(first)
		b.known[id].meet(again)
	}
	old := make(map[peer.ID]bool)
	for range maxStood {
		id := randomPeer(t)
		old[id] = true
		enter(b, id, start, start.Add(time.Hour))
	}
	host := silentHost(t)
	for i := range 5 * maxMet {
		if i%(maxMet/2) == 0 {
			b.Save(host)
			b = reopen(t, b.store)
		}
		now := start.Add(2*time.Hour + time.Duration(i)*time.Second)
		enter(b, randomPeer(t), now, now)
	}
	if len(b.known) != maxMet {
		t.Errorf("%d are remembered", len(b.known))
	}
	b.Save(host)
	stored, err := b.store.Peers()
	if err != nil || len(stored) != maxMet {
		t.Errorf("%d are stored, %v", len(stored), err)
	}
	b = reopen(t, b.store)
	if len(b.known) != maxMet {
		t.Errorf("%d are remembered after a restart", len(b.known))
	}
	for id := range old {
		if b.known[id] == nil {
			t.Fatal("a peer known for long was pushed out")
		}
	}
}

// What the owner adds and removes while the book is written is on disk as she left it.
func TestWhatIsAddedWhileTheBookIsWritten(t *testing.T) {
	b, host := newBook(t), silentHost(t)
	var done atomic.Bool
	var saves sync.WaitGroup
	saves.Go(func() {
		for !done.Load() {
			b.Save(host)
		}
	})
	for range 20 {
		p := somebody(t)
		if err := b.Add(p); err != nil {
			t.Fatal(err)
		}
		if err := b.Remove(p.ID); err != nil {
			t.Fatal(err)
		}
		if stored, err := b.store.Peers(); err != nil || len(stored) > 0 {
			t.Fatalf("after it was removed: %v, %v", stored, err)
		}
	}
	done.Store(true)
	saves.Wait()
}

func TestAddressesThatWorkedComeFirst(t *testing.T) {
	worked := multiaddr.StringCast("/ip4/192.0.2.9/tcp/9")
	a := &acquaintance{worked: worked}
	var named []multiaddr.Multiaddr
	for i := range 5000 {
		named = append(named, multiaddr.StringCast(fmt.Sprintf("/ip4/10.0.0.1/tcp/%d", i+1)))
	}
	a.learn(named)
	if len(a.addrs) > 16 || !a.addrs[0].Equal(worked) {
		t.Errorf("keeps %d addresses, %v first", len(a.addrs), a.addrs[0])
	}
	a.learn(nil)
	if len(a.addrs) == 0 {
		t.Error("a peer that names no address lost those it had")
	}
}

// A peer that the configuration names with two addresses is one peer.
func TestNamedTwiceListedOnce(t *testing.T) {
	p := somebody(t)
	other := peer.AddrInfo{ID: p.ID, Addrs: []multiaddr.Multiaddr{multiaddr.StringCast("/ip6/fd00::2/tcp/1")}}
	list := newBook(t).List([]peer.AddrInfo{p, somebody(t), other})
	if len(list) != 2 || len(list[0].Addrs) != 2 || list[0].ID != p.ID.String() || len(list[1].Addrs) != 1 {
		t.Errorf("%+v", list)
	}
}
