package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"p2pnode/discovery/reach"
	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/node/netedge"
	"p2pnode/testnet/lab"
)

// internet is a lab with a network of public addresses, which no router of the
// real one can see, and homes that are behind routers of their own.
type internet struct {
	lab     *lab.Lab
	wide    *lab.Segment
	homes   int
	hosts   int
	helper  *lab.Host
	dir     string // of the relay
	address string // of the relay, for --bootstrap
}

func newInternet(t *testing.T) *internet {
	t.Helper()
	inNamespaces(t)
	l, err := lab.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	wide, err := l.Segment(netip.MustParsePrefix("45.0.0.0/24"))
	require.NoError(t, err)
	return &internet{lab: l, wide: wide}
}

// public makes a host that everybody can call.
func (w *internet) public(t *testing.T) *lab.Host {
	t.Helper()
	w.hosts++
	h, err := w.lab.Host(fmt.Sprintf("public %d", w.hosts))
	require.NoError(t, err)
	_, err = h.Join(w.wide, w.wide.Addr(100+w.hosts))
	require.NoError(t, err)
	return h
}

// home makes a host behind a router of its own, and its cable.
func (w *internet) home(t *testing.T, nat lab.NAT) (*lab.Host, *lab.Link) {
	t.Helper()
	host, link, _ := w.homeAndRouter(t, nat)
	return host, link
}

func (w *internet) homeAndRouter(t *testing.T, nat lab.NAT) (*lab.Host, *lab.Link, *lab.Host) {
	t.Helper()
	w.homes++
	inside, err := w.lab.Segment(netip.MustParsePrefix(fmt.Sprintf("192.168.%d.0/24", w.homes)))
	require.NoError(t, err)
	router, err := w.lab.Router(fmt.Sprintf("router %d", w.homes), lab.Port{Segment: inside, Addr: inside.Addr(1)},
		lab.Port{Segment: w.wide, Addr: w.wide.Addr(w.homes)}, nat)
	require.NoError(t, err)
	h, err := w.lab.Host(fmt.Sprintf("home %d", w.homes))
	require.NoError(t, err)
	link, err := h.Join(inside, inside.Addr(2))
	require.NoError(t, err)
	require.NoError(t, h.Route(inside.Addr(1)))
	return h, link, router
}

// relay starts p2pnode relay on a public host, and returns what ends it.
func (w *internet) relay(t *testing.T) (kill func()) {
	t.Helper()
	if w.helper == nil {
		w.helper, w.dir = w.public(t), shortTemp(t)
	}
	cmd := w.helper.Command(t.Context(), "p2pnode", "relay", "--json", "--dir", w.dir)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var s netedge.RelayStatus
	require.NoError(t, json.NewDecoder(stdout).Decode(&s))
	i := slices.IndexFunc(s.Addresses, func(a string) bool { return strings.HasPrefix(a, "/ip4/45.0.0.101/tcp/4001/") })
	if i < 0 {
		t.Fatalf("the relay's addresses: %v", s.Addresses)
	}
	if w.address != "" && w.address != s.Addresses[i] {
		t.Errorf("the relay is now at %s, was at %s", s.Addresses[i], w.address)
	}
	w.address = s.Addresses[i]
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// node starts a daemon on a host. Its owner lets it release to any stranger that listens:
// otherwise these nodes, each on a network of its own, would wait for an hour.
func (w *internet) node(t *testing.T, h *lab.Host, bootstrap string) *daemon {
	t.Helper()
	var flags []string
	if bootstrap != "" {
		flags = []string{"--bootstrap", bootstrap}
	}
	dir := initNodeAt(t, "/ip4/0.0.0.0/tcp/4001", flags...)
	cli(t, nil, "config", "set", "listeners=0", "--dir", dir)
	return startWith(t, dir, h.Command(t.Context(), "p2pnode", "run", "--json", "--dir", dir))
}

func (d *daemon) doctor(t *testing.T) api.Diagnosis {
	t.Helper()
	found, err := d.owner.Doctor(t.Context())
	require.NoError(t, err)
	return found
}

// says checks the words and the exit code of p2pnode doctor.
func (d *daemon) says(t *testing.T, code int, words ...string) {
	t.Helper()
	out, err := exec.Command("p2pnode", "doctor", "--dir", d.dir).Output()
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	}
	if got != code {
		t.Errorf("doctor's exit code is %d, want %d", got, code)
	}
	text := strings.Join(strings.Fields(string(out)), " ")
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("doctor does not say %q:\n%s", w, out)
		}
	}
}

// flow waits until each of two nodes has heard models of the other that are newer
// than now.
func flow(t *testing.T, limit time.Duration, when string, a, b *daemon) {
	t.Helper()
	begin, heard := time.Now(), [2]uint64{a.heard(t, b.id), b.heard(t, a.id)}
	require.Within(t, limit, "models flow "+when, func() bool {
		return a.heard(t, b.id) > heard[0]+2 && b.heard(t, a.id) > heard[1]+2
	})
	t.Logf("%s: models flow after %.1f s", when, time.Since(begin).Seconds())
}

// link is how a node is connected to a peer.
func (d *daemon) link(t *testing.T, to string) (l reach.Link) {
	t.Helper()
	for _, l := range d.doctor(t).Reach.Links {
		if l.Peer == to {
			return l
		}
	}
	return l
}

// Two nodes behind two routers meet through a relay, and leave it as soon as a hole
// is punched. Models flow before and after.
func TestLabHolePunching(t *testing.T) {
	w := newInternet(t)
	w.relay(t)
	first, _ := w.home(t, lab.PlainNAT)
	second, _ := w.home(t, lab.PlainNAT)
	a, b := w.node(t, first, w.address), w.node(t, second, w.address)
	flow(t, 40*time.Second, "through the relay", a, b)
	punched := func() bool {
		x, y := a.link(t, b.id), b.link(t, a.id)
		return x.Punched && y.Punched && x.Through == "" && y.Through == ""
	}
	begin := time.Now()
	require.Within(t, 40*time.Second, "a hole is punched", punched)
	t.Logf("direct %.1f s after that", time.Since(begin).Seconds())
	flow(t, 20*time.Second, "through the hole", a, b)
	// A neighbour that fell silent in the change to the hole is called once more, through the
	// relay at first.
	require.Within(t, 40*time.Second, "a hole is there to stay", punched)
	a.says(t, 0, "REACHABLE THROUGH A RELAY", "1 by hole punching", "1 of 1 reached")
	if v := b.doctor(t).Verdict; v != reach.Relayed {
		t.Errorf("verdict %s, want relayed: strangers still need the relay", v)
	}
}

// Where a router takes a new port for every peer no hole can be punched: the nodes
// stay with the relay, and it works. It is restarted, with the same identity.
func TestLabRelayed(t *testing.T) {
	nightly(t)
	w := newInternet(t)
	kill := w.relay(t)
	first, _ := w.home(t, lab.RandomNAT)
	second, _ := w.home(t, lab.RandomNAT)
	a, b := w.node(t, first, w.address), w.node(t, second, w.address)
	flow(t, 40*time.Second, "through the relay", a, b)
	require.Within(t, 60*time.Second, "hole punching is given up", func() bool {
		return a.link(t, b.id).NoPunch != "" || b.link(t, a.id).NoPunch != ""
	})
	flow(t, 20*time.Second, "through the relay, without a hole", a, b)
	if l := a.link(t, b.id); l.Through == "" || l.Punched {
		t.Errorf("connected as %+v, want through the relay", l)
	}
	a.says(t, 0, "REACHABLE THROUGH A RELAY", "1 through relay")
	kill()
	w.relay(t)
	flow(t, 60*time.Second, "after a restart of the relay", a, b)
}

// A public node is called by others and says so. A node behind a router calls it
// and learns with it; without a relay it says that nobody can call it.
func TestLabPublicNode(t *testing.T) {
	nightly(t)
	w := newInternet(t)
	public := w.node(t, w.public(t), "")
	public.says(t, 3, "CANNOT TELL YET", "connected to nobody")
	host, _ := w.home(t, lab.PlainNAT)
	behind := w.node(t, host, fmt.Sprintf("/ip4/45.0.0.101/tcp/4001/p2p/%s", public.id))
	flow(t, 40*time.Second, "from behind a router", public, behind)
	public.says(t, 0, "REACHABLE. Others call this node directly", "1 called this node")
	behind.says(t, 1, "NOT REACHABLE", "It still calls others", "p2pnode relay")
	if os.Getenv("P2PNODE_OUTAGE") == "" {
		return // AutoNAT asks the same peer at most once in two minutes, and wants two answers
	}
	require.Within(t, 6*time.Minute, "AutoNAT has called back", func() bool {
		return slices.ContainsFunc(public.doctor(t).Reach.Addresses, func(a reach.Address) bool { return a.State == reach.Verified })
	})
	public.says(t, 0, "everybody: a peer has tried")
}

// A node behind a router gets another address there. Its connections are lost, and
// come back through the relay.
func TestLabAddressChangeBehindRouter(t *testing.T) {
	nightly(t)
	w := newInternet(t)
	w.relay(t)
	first, link := w.home(t, lab.PlainNAT)
	second, _ := w.home(t, lab.PlainNAT)
	a, b := w.node(t, first, w.address), w.node(t, second, w.address)
	flow(t, 40*time.Second, "before", a, b)
	require.NoError(t, link.Move(netip.MustParseAddr("192.168.1.77")))
	require.NoError(t, first.Route(netip.MustParseAddr("192.168.1.1")))
	flow(t, 60*time.Second, "after the address changed", a, b)
}
