package discovery

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multiformats/go-multiaddr"
)

func addrsOf(t testing.TB, texts ...string) []multiaddr.Multiaddr {
	t.Helper()
	out := make([]multiaddr.Multiaddr, len(texts))
	for i, text := range texts {
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = a
	}
	return out
}

func ips(texts ...string) []netip.Addr {
	out := make([]netip.Addr, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParseAddr(text)
	}
	return out
}

// fakeInterfaces knows those that read returns at the time.
func fakeInterfaces(read func() ([]Interface, error), names ...string) *Interfaces {
	i := &Interfaces{only: names, read: read, changed: make(chan struct{})}
	i.refresh()
	return i
}

func TestAnnouncedAddresses(t *testing.T) {
	const relayed = "/ip4/10.9.9.9/tcp/1/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN/p2p-circuit"
	wlan := Interface{Name: "wlan0", Index: 3, Addrs: ips("192.168.1.7", "fe80::1%wlan0", "2a01:4f8::7"), Multicast: true}
	vpn := Interface{Name: "wg0", Index: 4, Addrs: ips("10.8.0.2", "198.18.0.9")}
	system := func() ([]Interface, error) { return []Interface{wlan, vpn}, nil }
	forbidden := func() ([]Interface, error) { return nil, errors.New("permission denied") }
	for name, c := range map[string]struct {
		read                 func() ([]Interface, error)
		only                 []string
		given                []Interface
		listen, before, want []string
	}{
		"the host knows best": {
			read: system, listen: []string{"/ip4/0.0.0.0/tcp/4"},
			before: []string{"/ip4/10.8.0.2/tcp/4", "/ip4/127.0.0.1/tcp/4"},
			want:   []string{"/ip4/10.8.0.2/tcp/4", "/ip4/127.0.0.1/tcp/4"},
		},
		"given where the system is silent": {
			read: forbidden, given: []Interface{wlan}, listen: []string{"/ip4/0.0.0.0/tcp/4", "/ip6/::/udp/4/quic-v1"},
			before: []string{"/ip4/127.0.0.1/tcp/4", "/ip6/::1/udp/4/quic-v1"},
			want: []string{"/ip4/192.168.1.7/tcp/4", "/ip6/2a01:4f8::7/udp/4/quic-v1",
				"/ip4/127.0.0.1/tcp/4", "/ip6/::1/udp/4/quic-v1"},
		},
		"silent, and nothing given": {
			read: forbidden, listen: []string{"/ip4/0.0.0.0/tcp/4"},
			before: []string{"/ip4/127.0.0.1/tcp/4"}, want: []string{"/ip4/127.0.0.1/tcp/4"},
		},
		"given, none": {
			read: system, given: []Interface{}, listen: []string{"/ip4/0.0.0.0/tcp/4"},
			before: []string{"/ip4/127.0.0.1/tcp/4", "/ip4/10.8.0.2/tcp/4"}, want: []string{"/ip4/127.0.0.1/tcp/4"},
		},
		"given, and one of them is named": {
			read: forbidden, only: []string{"wlan0"}, given: []Interface{vpn, wlan}, listen: []string{"/ip4/0.0.0.0/tcp/4"},
			before: []string{"/ip4/127.0.0.1/tcp/4", "/ip4/198.18.0.9/tcp/4"}, want: []string{"/ip4/192.168.1.7/tcp/4", "/ip4/127.0.0.1/tcp/4"},
		},
		"given, and another one is named": {
			read: forbidden, only: []string{"eth7"}, given: []Interface{wlan}, listen: []string{"/ip4/0.0.0.0/tcp/4"},
			before: []string{"/ip4/127.0.0.1/tcp/4", "/ip4/192.168.1.7/tcp/4"}, want: []string{"/ip4/127.0.0.1/tcp/4"},
		},
		"a loopback listener gets no other address": {
			read: forbidden, given: []Interface{wlan}, listen: []string{"/ip4/127.0.0.1/tcp/4"},
			before: []string{"/ip4/127.0.0.1/tcp/4"}, want: []string{"/ip4/127.0.0.1/tcp/4"},
		},
		"named: others go, mapped and relayed ones stay": {
			read: system, only: []string{"wlan0"}, listen: []string{"/ip4/0.0.0.0/tcp/4"},
			before: []string{"/ip4/192.168.1.7/tcp/4", "/ip4/10.8.0.2/tcp/4", "/ip4/198.18.0.9/tcp/4",
				"/ip4/203.0.113.5/tcp/77", relayed, "/dns4/example.org/tcp/4"},
			want: []string{"/ip4/192.168.1.7/tcp/4", "/ip4/203.0.113.5/tcp/77", relayed, "/dns4/example.org/tcp/4"},
		},
		"named, and missing": {
			read: system, only: []string{"eth7"}, listen: []string{"/ip4/0.0.0.0/tcp/4"},
			before: []string{"/ip4/10.8.0.2/tcp/4"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := fakeInterfaces(c.read, c.only...)
			if c.given != nil {
				i.Set(c.given)
			}
			got := i.Announce(addrsOf(t, c.listen...), addrsOf(t, c.before...))
			if want := addrsOf(t, c.want...); !slices.EqualFunc(got, want, multiaddr.Multiaddr.Equal) {
				t.Errorf("announces %v, want %v", got, want)
			}
		})
	}
}

func TestChangesOfInterfacesAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, after := Interface{Name: "eth0", Index: 1, Addrs: ips("10.0.0.1")}, Interface{Name: "eth0", Index: 1, Addrs: ips("10.0.0.2")}
		var now atomic.Pointer[Interface] // nil: none
		now.Store(&before)
		i := fakeInterfaces(func() ([]Interface, error) {
			if one := now.Load(); one != nil {
				return []Interface{*one}, nil
			}
			return nil, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		go i.Watch(ctx)
		same := i.Changed()
		time.Sleep(10 * lookEvery)
		if isClosed(same) {
			t.Error("a change, and nothing changed")
		}
		now.Store(&after)
		<-same
		if list, err := i.List(); err != nil || !list[0].equal(after) {
			t.Errorf("after the change: %v, %v", list, err)
		}

		given := i.Changed()
		i.Set([]Interface{{Name: "rmnet0", Index: 9}})
		<-given
		later := i.Changed()
		now.Store(nil)
		time.Sleep(10 * lookEvery)
		if list, _ := i.List(); isClosed(later) || len(list) != 1 || list[0].Name != "rmnet0" {
			t.Errorf("the system was asked although interfaces were given: %v", list)
		}
		i.Set(nil)
		if list, _ := i.List(); len(list) != 0 {
			t.Errorf("the system was not asked again: %v", list)
		}
		cancel()
		synctest.Wait()
	})
}

func TestASleepIsAJumpOfTheClock(t *testing.T) {
	for _, c := range []struct {
		clock, seen time.Duration
		want        bool
	}{
		{5 * time.Second, 5 * time.Second, false},
		{40 * time.Second, 40 * time.Second, false}, // a busy machine: late, not asleep
		{8 * time.Hour, 5 * time.Second, true},
		{8 * time.Hour, 8 * time.Hour, true}, // a phone that stopped the program
		{-time.Hour, 5 * time.Second, false}, // somebody set the clock
	} {
		if got := awoke(c.clock, c.seen); got != c.want {
			t.Errorf("clock %v, seen %v: %v", c.clock, c.seen, got)
		}
	}
}

func TestTheSystemsInterfacesAreListed(t *testing.T) {
	list, err := NewInterfaces().List()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		if slices.Contains(one.Addrs, netip.MustParseAddr("127.0.0.1")) {
			return
		}
	}
	t.Errorf("no loopback among %v", list)
}
