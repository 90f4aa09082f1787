package lab

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
)

var subnet = netip.MustParsePrefix("10.77.0.0/24")

// newLab makes a lab that goes with the test, or skips the test.
func newLab(t *testing.T) *Lab {
	t.Helper()
	if err := Available(); err != nil {
		t.Skip(err)
	}
	l, err := New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// newSegment makes a segment with hosts on it; slow gives them cables with delay.
func newSegment(t *testing.T, l *Lab, hosts int, slow *Delay) []*Link {
	t.Helper()
	s, err := l.Segment(subnet)
	require.NoError(t, err)
	links := make([]*Link, hosts)
	for i := range links {
		h, err := l.Host(fmt.Sprintf("host %d", i))
		require.NoError(t, err)
		if slow != nil {
			links[i], err = h.JoinSlow(s, s.Addr(i+1), *slow)
		} else {
			links[i], err = h.Join(s, s.Addr(i+1))
		}
		require.NoError(t, err)
	}
	return links
}

// socket opens a UDP socket on a host; it closes with the test.
func socket(t *testing.T, h *Host) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	require.NoError(t, h.Do(func() (err error) {
		c, err = net.ListenUDP("udp4", nil)
		return err
	}))
	t.Cleanup(func() { c.Close() })
	return c
}

func at(addr netip.Addr, c *net.UDPConn) netip.AddrPort {
	return netip.AddrPortFrom(addr, c.LocalAddr().(*net.UDPAddr).AddrPort().Port())
}

// arrival is a numbered packet as it came in.
type arrival struct {
	number int
	from   netip.AddrPort
	when   time.Time
}

// numbered sends so many numbered packets, and says when each was sent.
func numbered(t *testing.T, from *net.UDPConn, to netip.AddrPort, count int, pause time.Duration) []time.Time {
	t.Helper()
	sent := make([]time.Time, count)
	for i := range sent {
		sent[i] = time.Now()
		_, err := from.WriteToUDPAddrPort([]byte(strconv.Itoa(i)), to)
		require.NoError(t, err)
		time.Sleep(pause)
	}
	return sent
}

// collect reads count packets, or what comes until nothing has come for a while.
func collect(t *testing.T, c *net.UDPConn, count int, quiet time.Duration) []arrival {
	t.Helper()
	var all []arrival
	buffer := make([]byte, 100)
	for len(all) < count {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(quiet)))
		n, from, err := c.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return all
		}
		number, err := strconv.Atoi(string(buffer[:n]))
		require.NoError(t, err)
		all = append(all, arrival{number, from, time.Now()})
	}
	return all
}

// wantReach checks whether packets get through. One that should may take a while:
// the kernel asks for the receiver's Ethernet address once a second.
func wantReach(t *testing.T, from, to *Link, want bool) {
	t.Helper()
	patience := time.Minute
	if !want {
		patience = 300 * time.Millisecond
	}
	a, b := socket(t, from.host), socket(t, to.host)
	got := false
	for end := time.Now().Add(patience); !got && time.Now().Before(end); {
		_, _ = a.WriteToUDPAddrPort([]byte("0"), at(to.Addr(), b)) // refused without a carrier or a route
		got = len(collect(t, b, 1, 50*time.Millisecond)) > 0
	}
	if got != want {
		t.Errorf("from %v to %v: %v, want %v", from.Addr(), to.Addr(), got, want)
	}
}

func TestNoWayOut(t *testing.T) {
	a := newSegment(t, newLab(t), 1, nil)[0]
	routes, err := a.host.Run("ip", "route")
	require.NoError(t, err)
	devices, err := a.host.Run("ip", "-o", "link")
	require.NoError(t, err)
	if strings.Contains(routes, "default") || strings.Count(devices, "\n") != 2 {
		t.Errorf("routes %q, devices %q; want the segment only", routes, devices)
	}
	c := socket(t, a.host)
	if _, err := c.WriteToUDPAddrPort([]byte("out"), netip.MustParseAddrPort("192.0.2.1:9")); err == nil {
		t.Error("a packet has left for the world")
	}
}

func TestBlockCutMove(t *testing.T) {
	l := newLab(t)
	links := newSegment(t, l, 3, nil)
	a, b, c := links[0], links[1], links[2]
	wantReach(t, a, b, true)

	require.NoError(t, l.Block([]*Link{a}, []*Link{b}))
	wantReach(t, a, b, false)
	wantReach(t, b, a, false)
	wantReach(t, a, c, true)
	require.NoError(t, l.Unblock())
	wantReach(t, a, b, true)

	require.NoError(t, a.Cut())
	wantReach(t, a, b, false)
	wantReach(t, c, a, false)
	require.NoError(t, a.Mend())
	wantReach(t, a, b, true)

	require.NoError(t, a.Move(a.segment.Addr(50)))
	wantReach(t, b, a, true)
	wantReach(t, a, b, true)
}

// Both cables lose a fifth, so 0.64 of the packets arrive. Of 5000 the share has a
// standard deviation of 0.0068; five of them fail once in 1.7 million.
func TestLoss(t *testing.T) {
	const count, tolerance = 5000, 5 * 0.0068
	links := newSegment(t, newLab(t), 2, nil)
	wantReach(t, links[0], links[1], true) // the addresses are resolved
	from, to := socket(t, links[0].host), socket(t, links[1].host)
	require.NoError(t, to.SetReadBuffer(1<<22))
	require.NoError(t, links[0].Lose(0.2))
	require.NoError(t, links[1].Lose(0.2))
	numbered(t, from, at(links[1].Addr(), to), count, 0)
	arrived := float64(len(collect(t, to, count, 200*time.Millisecond))) / count
	t.Logf("of %d packets %.4f arrived", count, arrived)
	if arrived < 0.64-tolerance || arrived > 0.64+tolerance {
		t.Errorf("a share of %.4f arrived, want 0.64 within %.3f", arrived, tolerance)
	}
	require.NoError(t, links[0].Lose(0))
	require.NoError(t, links[1].Lose(0))
	numbered(t, from, at(links[1].Addr(), to), 100, 0)
	if n := len(collect(t, to, 100, 200*time.Millisecond)); n != 100 {
		t.Errorf("%d of 100 packets arrived after the loss", n)
	}
}

// Two slow cables in a row: 2 x 20 ms and twice up to 10 ms of jitter more.
func TestDelay(t *testing.T) {
	const count = 200
	for _, reorder := range []bool{false, true} {
		links := newSegment(t, newLab(t), 2, &Delay{Latency: 20 * time.Millisecond, Jitter: 10 * time.Millisecond, Reorder: reorder})
		wantReach(t, links[0], links[1], true)
		from, to := socket(t, links[0].host), socket(t, links[1].host)
		sent := make(chan []time.Time, 1)
		go func() { sent <- numbered(t, from, at(links[1].Addr(), to), count, time.Millisecond) }()
		all := collect(t, to, count, time.Second)
		if len(all) != count {
			t.Fatalf("%d of %d packets arrived", len(all), count)
		}
		start := <-sent
		overtaken := 0
		took := make([]time.Duration, count)
		for i, a := range all {
			took[i] = a.when.Sub(start[a.number])
			if a.number != i {
				overtaken++
			}
		}
		slices.Sort(took)
		// A busy machine can only make it slower.
		if took[0] < 40*time.Millisecond || took[count/2] < 45*time.Millisecond || took[count/2] > 100*time.Millisecond {
			t.Errorf("the fastest packet took %v and half of them %v, want at least 40ms and about 50ms", took[0], took[count/2])
		}
		t.Logf("reorder %v: from %v, median %v, %d of %d out of place", reorder, took[0], took[count/2], overtaken, count)
		if reorder != (overtaken > 0) {
			t.Errorf("with reorder %v, %d packets were out of place", reorder, overtaken)
		}
	}
}

// A packet from behind a router comes from the router's address; whether two
// destinations see the same port is what tells the kinds apart.
func TestMasquerade(t *testing.T) {
	for _, nat := range []NAT{PlainNAT, RandomNAT} {
		l := newLab(t)
		outside := newSegment(t, l, 2, nil)
		home, err := l.Segment(netip.MustParsePrefix("192.168.7.0/24"))
		require.NoError(t, err)
		public := outside[0].segment
		_, err = l.Router("router", Port{home, home.Addr(1)}, Port{public, public.Addr(100)}, nat)
		require.NoError(t, err)
		phone, err := l.Host("phone")
		require.NoError(t, err)
		link, err := phone.Join(home, home.Addr(2))
		require.NoError(t, err)
		require.NoError(t, phone.Route(home.Addr(1)))

		inside := socket(t, phone)
		ports := make(map[uint16]bool)
		for _, o := range outside {
			s := socket(t, o.host)
			numbered(t, inside, at(o.Addr(), s), 1, 0)
			got := collect(t, s, 1, time.Second)
			if len(got) != 1 || got[0].from.Addr() != public.Addr(100) {
				t.Fatalf("%s: arrived %v, want one packet from the router", nat, got)
			}
			ports[got[0].from.Port()] = true
			numbered(t, s, got[0].from, 1, 0)
			if back := collect(t, inside, 1, time.Second); len(back) != 1 {
				t.Errorf("%s: no answer came back through the router", nat)
			}
		}
		// Two random ports agree once in 64,000.
		if want := map[NAT]int{PlainNAT: 1, RandomNAT: 2}[nat]; len(ports) != want {
			t.Errorf("%s: two hosts outside saw %d ports, want %d", nat, len(ports), want)
		}
		wantReach(t, outside[0], link, false)
	}
}
