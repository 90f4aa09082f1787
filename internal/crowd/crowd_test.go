package crowd_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"p2pnode/internal/crowd"

	"github.com/multiformats/go-multiaddr"
)

func addr(text string) netip.Addr { return netip.MustParseAddr(text) }

func TestANewcomerTakesAPlaceOfTheCrowd(t *testing.T) {
	for name, c := range map[string]struct{ hostile func(i int) netip.Addr }{
		"of one address":     {func(int) netip.Addr { return addr("10.0.0.9") }},
		"of one network":     {func(i int) netip.Addr { return addr(fmt.Sprintf("10.0.7.%d", i%250)) }},
		"of one provider":    {func(i int) netip.Addr { return addr(fmt.Sprintf("10.9.%d.%d", i%250, i%7)) }},
		"of one home, IPv6":  {func(i int) netip.Addr { return addr(fmt.Sprintf("2001:db8:1:1::%x", i)) }},
		"of nowhere":         {func(int) netip.Addr { return netip.Addr{} }},
		"IPv4 written as v6": {func(int) netip.Addr { return addr("::ffff:10.0.0.9").Unmap() }},
	} {
		t.Run(name, func(t *testing.T) {
			p := crowd.NewPlaces[string](64)
			honest := func(k string) bool { return k[0] == 'h' }
			for i := range 300 {
				if leave := p.Enter(fmt.Sprintf("x%d", i), c.hostile(i), nil); i >= 64 && len(leave) != 1 {
					t.Fatalf("number %d is given a place, and %v leave", i, leave)
				}
				if i%30 != 0 {
					continue
				}
				for _, k := range p.Enter(fmt.Sprintf("h%d", i), addr(fmt.Sprintf("10.0.%d.3", 100+i/30)), nil) {
					if honest(k) {
						t.Errorf("%s has to make way", k)
					}
				}
			}
			if p.Len() != 64 {
				t.Errorf("%d places are taken", p.Len())
			}
			for i := 0; i < 300; i += 30 {
				if !p.Has(fmt.Sprintf("h%d", i)) {
					t.Errorf("h%d has lost its place", i)
				}
			}
		})
	}
}

func TestAmongEqualsAnyMakesWay(t *testing.T) {
	p := crowd.NewPlaces[int](3)
	for i := range 3 {
		p.Enter(i, addr("127.0.0.1"), nil)
	}
	if leave := p.Enter(3, addr("127.0.0.1"), func(k int) bool { return k != 1 }); len(leave) != 1 || leave[0] != 1 {
		t.Errorf("%v make way, want the one that is not spared", leave)
	}
	if leave := p.Enter(4, addr("127.0.0.1"), func(int) bool { return true }); len(leave) != 0 || p.Len() != 4 {
		t.Errorf("%v make way though all are spared", leave)
	}
	p.Leave(0)
	p.Leave(0)
	if p.Len() != 3 || p.Has(0) {
		t.Errorf("%d places are taken after one has left", p.Len())
	}
	// Somebody who comes 64 times into four places that equals hold is there at once at
	// least once, but for a chance of 5^-64.
	stays := false
	for range 64 {
		p.Enter(9, addr("127.0.0.1"), nil)
		stays = stays || p.Has(9)
	}
	if !stays {
		t.Error("a newcomer never gets a place among equals")
	}
}

// Who gives places of another kind too, as to those who show tokens, may need one before
// all of these are taken.
func TestACrowdMakesWayBeforeAllPlacesAreTaken(t *testing.T) {
	p := crowd.NewPlaces[int](9)
	for i, from := range []string{"10.0.0.9", "10.7.0.1", "10.0.0.9"} {
		p.Enter(i, addr(from), nil)
	}
	if out, found := p.Evict(func(int) bool { return true }); found || p.Len() != 3 {
		t.Errorf("%d makes way though all are spared", out)
	}
	if out, found := p.Evict(func(k int) bool { return k == 2 }); out != 0 || !found || p.Has(0) || p.Len() != 2 {
		t.Errorf("%d makes way (%v), want the other of the crowd", out, found)
	}
}

// While as many as there are places are on their way out nobody enters, wherever from.
func TestRoomsHoldThoseWhoHaveNotLeft(t *testing.T) {
	r := crowd.NewRooms[int](2)
	var out []int
	for i := range 4 {
		stays, lost := r.Enter(i, addr("10.0.0.9"), nil)
		if out = append(out, lost...); !stays {
			out = append(out, i)
		}
	}
	if len(out) != 2 {
		t.Fatalf("of four in two places %v have none", out)
	}
	honest := addr("10.7.0.1")
	if stays, lost := r.Enter(4, honest, nil); stays || len(lost) > 0 || r.Has(4) {
		t.Errorf("a fifth enters: %v, and %v lose their places", stays, lost)
	}
	r.Leave(out[0])
	r.Leave(out[0])
	if stays, lost := r.Enter(4, honest, nil); !stays || len(lost) != 1 || !r.Has(lost[0]) {
		t.Errorf("after one has left, the fifth stays: %v, and %v lose their places", stays, lost)
	}
	if stays, _ := r.Enter(5, honest, nil); stays {
		t.Error("one that left twice has left twice as much room")
	}
}

func TestWorkIsSharedWhenItIsScarce(t *testing.T) {
	w := crowd.NewWork(100, 10*time.Second)
	now := time.Unix(1000, 0)
	granted := 0
	for i := range 1000 { // many identities of one address
		if w.Take(addr("10.0.0.9"), fmt.Sprint(i), 1, now) {
			granted++
		}
	}
	if granted != 100 {
		t.Errorf("%d units for a single address that wants all, want 100", granted)
	}
	for i := range 4 {
		for range 3 {
			if !w.Take(addr(fmt.Sprintf("10.0.0.%d", 20+i)), "", 1, now.Add(time.Second)) {
				t.Errorf("newcomer %d gets nothing", i)
			}
		}
	}
	if !w.Take(addr("10.0.0.9"), "", 1, now.Add(11*time.Second)) {
		t.Error("nothing in the next window")
	}
	// On one machine names count.
	w = crowd.NewWork(100, 10*time.Second)
	for range 100 {
		w.Take(addr("127.0.0.1"), "greedy", 1, now)
	}
	if w.Take(addr("127.0.0.1"), "greedy", 1, now) || !w.Take(addr("127.0.0.1"), "modest", 1, now) {
		t.Error("peers of one machine are not told apart")
	}
}

func TestTheAddressOfAPath(t *testing.T) {
	for text, want := range map[string]string{
		"/ip4/10.1.2.3/tcp/4001":             "10.1.2.3",
		"/ip6/2001:db8::1/udp/4001/quic-v1":  "2001:db8::1",
		"/ip4/10.1.2.3/tcp/4001/p2p-circuit": "10.1.2.3",
		"/ip6/::ffff:10.1.2.3/tcp/4001":      "10.1.2.3",
		"/dns4/example.org/tcp/4001":         "invalid IP",
	} {
		if got := crowd.Of(multiaddr.StringCast(text)).String(); got != want {
			t.Errorf("%s is at %s, want %s", text, got, want)
		}
	}
	if crowd.Of(nil).IsValid() {
		t.Error("nothing has an address")
	}
}

// What was charged counts like what was asked for, also beyond what there is.
func TestChargedWorkCounts(t *testing.T) {
	w := crowd.NewWork(10, time.Minute)
	busy, other, now := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("198.51.100.1"), time.Unix(0, 0)
	w.Charge(busy, "", 12, now)
	if w.Take(busy, "", 1, now) {
		t.Error("who was charged more than there is gets more")
	}
	if !w.Take(other, "", 5, now) {
		t.Error("somebody else does not get an equal part")
	}
}

// An address that asks without end leaves their part to those beside it, and a network with many
// addresses to other networks.
func TestParts(t *testing.T) {
	at := func(a, b, c, d byte) netip.Addr { return netip.AddrFrom4([4]byte{a, b, c, d}) }
	now := time.Now()
	p := crowd.NewParts(64, time.Second)
	for range 1000 {
		p.Take(at(203, 0, 113, 9), "", 1, now)
	}
	if !p.Take(at(203, 0, 200, 7), "", 1, now) {
		t.Error("an address beside a flood has no part")
	}
	p = crowd.NewParts(64, time.Second)
	for i := range 1000 {
		p.Take(at(203, 0, byte(i/250), byte(i%250)), "", 1, now)
	}
	if !p.Take(at(198, 51, 100, 7), "", 1, now) {
		t.Error("a network beside a flood of many addresses has no part")
	}
}

// Grants says what Take would, also for an address that has not asked before, and takes nothing.
// Of 4,000 questions some are granted and some are not, whatever the seed.
func TestGrantsSaysWhatTakeWould(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	p, now := crowd.NewParts(64, time.Second), time.Unix(0, 0)
	var granted, refused int
	for range 4000 {
		now = now.Add(time.Duration(random.IntN(20)) * time.Millisecond)
		from := netip.AddrFrom4([4]byte{203, byte(random.IntN(3)), 0, byte(random.IntN(20))})
		would := p.Grants(from, "", 1, now)
		if p.Grants(from, "", 1, now) != would || p.Take(from, "", 1, now) != would {
			t.Fatalf("%v at %v: %v is not so", from, now, would)
		}
		if would {
			granted++
		} else {
			refused++
		}
	}
	if min(granted, refused) < 100 {
		t.Errorf("%d granted, %d refused", granted, refused)
	}
}
