package node

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"

	"p2pnode/discovery/reach"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/storage"
)

func TestDoctorOfANodeAtRest(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	n := testNode(t, lineTask(), nil, func(c *datadir.Config) {
		c.Listen = []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", port)}
		c.Bootstrap = []string{
			fmt.Sprintf("/ip4/127.0.0.1/tcp/%d/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN", port),
			fmt.Sprintf("/ip4/127.0.0.1/tcp/%d/p2p/12D3KooWSkQGebxiJSmavWHMkjr7Tzni3S7GozyRC9TrgE3t6ZA4", gone.Addr().(*net.TCPAddr).Port),
		}
	})
	d, err := n.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.Running || d.Verdict != reach.Unknown || d.DiskFree == 0 || d.Clock != 0 {
		t.Errorf("%+v", d)
	}
	if b := d.Bootstrap; len(b) != 2 || !b[0].Reached || b[1].Reached || !strings.Contains(b[1].Why, "nothing listens at that address") {
		t.Errorf("bootstrap %+v", b)
	}
	wantProblem(t, d, "another program listens on /ip4/127.0.0.1/tcp/", "it is not running")
}

func wantProblem(t *testing.T, d api.Diagnosis, parts ...string) {
	t.Helper()
	text := strings.Join(d.Problems, "\n")
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("the problems do not say %q:\n%s", p, text)
		}
	}
}

func TestDoctorOfARunningNode(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	start(t, n)
	waitForAddrs(t, n)
	d, err := n.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !d.Running || d.Verdict != reach.Unreachable || !d.Reach.Loopback {
		t.Errorf("%+v", d)
	}
	wantProblem(t, d, "listens on this machine only", "knows nobody to start from: unless")
}

// Connecting to a peer of another task does not help.
func TestDoctorFindsPeersOfAnotherTask(t *testing.T) {
	t.Parallel()
	another := lineTask()
	another.Name = "another line"
	other, same := testNode(t, another, nil, nil), testNode(t, lineTask(), nil, nil)
	start(t, other)
	start(t, same)
	n := testNode(t, lineTask(), nil, func(c *datadir.Config) {
		c.Bootstrap = []string{waitForAddrs(t, other)[0], waitForAddrs(t, same)[0]}
	})
	var said []string
	log := notebook{new(sync.Mutex), &said}
	n.log = slog.New(log)
	start(t, n)
	waitForAddrs(t, n)
	d, err := n.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if first := d.Problems[0]; !strings.Contains(first, "another task.toml") || !strings.Contains(first, other.self.String()) || strings.Contains(first, same.self.String()) ||
		!strings.Contains(first, "p2pnode status") || !strings.Contains(first, "ticket") {
		t.Errorf("what to do begins with %q", first)
	}
	strange := func() (lines []string) {
		log.mu.Lock()
		defer log.mu.Unlock()
		for _, line := range said {
			if strings.Contains(line, "answers, and this node cannot use it") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	require.Eventually(t, "a line in the log", func() bool { return len(strange()) > 0 })
	if lines := strange(); len(lines) != 1 || !strings.Contains(lines[0], "a bootstrap peer answers") || !strings.Contains(lines[0], "peer="+other.self.String()) {
		t.Errorf("the log says %q", lines)
	}
	if b := d.Bootstrap; len(b) != 2 || b[0].Reached || !strings.Contains(b[0].Why, "another task.toml") || !b[1].Reached {
		t.Errorf("bootstrap %+v", b)
	}
}

// A bootstrap peer that is the node itself, as that of the first one where all have the same
// configuration, is no problem.
func TestDoctorIgnoresItselfAsBootstrap(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "first.key")
	self, err := datadir.NewIdentity(file)
	require.NoError(t, err)
	c := datadir.DefaultConfig(lineTask())
	c.Listen, c.MDNS, c.Bootstrap = []string{"/ip4/127.0.0.1/tcp/0"}, false, []string{"/ip4/127.0.0.1/tcp/21101/p2p/" + self.String()}
	dir := filepath.Join(t.TempDir(), "first")
	require.NoError(t, datadir.Make(dir, datadir.New{Task: lineTask(), Config: c, Identity: file}))
	n, other := openNode(t, dir), testNode(t, lineTask(), nil, nil)
	start(t, n)
	start(t, other)
	_, err = other.AddPeer(t.Context(), waitForAddrs(t, n)[0])
	require.NoError(t, err)
	require.Eventually(t, "they are connected", func() bool { return status(t, n).Connected > 0 })
	d, err := n.Doctor(t.Context())
	require.NoError(t, err)
	text := strings.Join(d.Problems, "\n")
	if len(d.Bootstrap) != 0 || strings.Contains(text, "bootstrap") || strings.Contains(text, "knows nobody") {
		t.Errorf("bootstrap %+v, problems:\n%s", d.Bootstrap, text)
	}
}

// After an update the old neighbours are there and not heard, and neither is somebody of the local
// network: both are named with what to do, and the log says it of the neighbour.
func TestDoctorNamesPeersOfAnotherVersion(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), nil, nil)
	const earlier = "13709f9ebde73e4c9b51b6df9c1ac91d" // the network of this task in the first version
	if v := datadir.Version(n.files.Task, earlier); v != 1 {
		t.Fatalf("%s is the network of version %d", earlier, v)
	}
	older := func() host.Host {
		h, err := libp2p.New(libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"), libp2p.Transport(tcp.NewTCPTransport), libp2p.DisableRelay(), libp2p.DisableMetrics())
		require.NoError(t, err)
		t.Cleanup(func() { h.Close() })
		h.SetStreamHandler(protocol.ID("/p2pnode/"+earlier+"/model"), func(s network.Stream) { s.Reset() })
		return h
	}
	friend, guest := older(), older()
	require.NoError(t, n.store.SaveEdges(nil, storage.Edge{Peer: friend.ID().String(), Weight: 1, Addrs: []string{friend.Addrs()[0].String()}}))
	var said []string
	log := notebook{new(sync.Mutex), &said}
	n.log = slog.New(log)
	start(t, n)
	waitForAddrs(t, n)
	require.NoError(t, guest.Connect(t.Context(), peer.AddrInfo{ID: n.self, Addrs: n.session.host.Addrs()}))
	require.Eventually(t, "the doctor names both", func() bool {
		d, err := n.Doctor(t.Context())
		require.NoError(t, err)
		return slices.ContainsFunc(d.Problems, func(p string) bool {
			return strings.HasPrefix(p, "this node does not hear ") && strings.Contains(p, friend.ID().String()) && strings.Contains(p, guest.ID().String()) && strings.HasSuffix(p, sameVersion+")")
		})
	})
	require.Eventually(t, "a line in the log", func() bool {
		log.mu.Lock()
		defer log.mu.Unlock()
		return slices.ContainsFunc(said, func(line string) bool {
			return strings.Contains(line, "a neighbour answers, and this node cannot use it peer="+friend.ID().String())
		})
	})
}

// Members of the committee who run, with another task, are not to be run by their owners: what
// to do begins with the task.
func TestDoctorFindsMembersOfAnotherTask(t *testing.T) {
	t.Parallel()
	p := newPopulace(t, 0, func(*learner.Task) {})
	for _, member := range p.nodes[:2] {
		start(t, member)
	}
	differs := *p.task
	differs.Target.Max++
	n := testNode(t, &differs, nil, func(c *datadir.Config) {
		for _, member := range p.nodes[:2] {
			c.Bootstrap = append(c.Bootstrap, waitForAddrs(t, member)[0])
		}
	})
	start(t, n)
	waitForAddrs(t, n)
	d, err := n.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range d.Committee {
		if m.Reached || strings.Contains(m.Why, "another task.toml") != (i < 2) {
			t.Errorf("member %d: %+v", i, m)
		}
		if strings.Contains(d.Problems[0], m.Peer) != (i < 2) {
			t.Errorf("what to do begins with %q", d.Problems[0])
		}
	}
	if why := d.Committee[2].Why; why != "no address of it is known yet: it was not met since this node started" {
		t.Errorf("a member that was not met: %q", why)
	}
	require.Eventually(t, "the committee is told in the same words", func() bool {
		s := status(t, n)
		return !slices.ContainsFunc(d.Committee, func(m api.MemberCheck) bool {
			return !slices.Contains(s.Sums.Committee.Members, api.Member{Peer: m.Peer, Failure: m.Why})
		})
	})
	wantProblem(t, d, p.nodes[2].self.String(), "cannot be reached")
	if text := strings.Join(d.Problems, "\n"); strings.Contains(text, "ask its owner to run it") {
		t.Errorf("to run what may run:\n%s", text)
	}
}

// What it means that members are missing depends on how far each sum is.
func TestDoctorSaysWhatIsAtStake(t *testing.T) {
	d := &api.Diagnosis{Committee: []api.MemberCheck{{Peer: "one", Self: true, Reached: true}, {Peer: "two", Reached: true}, {Peer: "three", Why: "asleep"}, {Peer: "four", Why: "asleep"}}}
	const asleep = "of the committee, three, four cannot be reached (asleep): ask its owner to run it"
	hour := time.Now().Add(time.Hour)
	for _, c := range []struct {
		state api.SumState
		dies  time.Time
		want  []string
	}{
		{api.SumWaiting, hour, []string{asleep, "a private sum opens only when all members of its committee are there"}},
		{api.SumOpen, hour, []string{asleep, "the open sum abcdabcd needs 1 more of the members until " + hour.Format("15:04 (Monday 2 January)") + "; otherwise it is dead, and what was paid for it is lost"}},
		{api.SumClosed, hour, []string{asleep, "the closed sum abcdabcd needs 1 more of the members until " + hour.Format("15:04 (Monday 2 January)") + "; otherwise it is dead, and what was paid for it is lost"}},
		{api.SumClosed, time.Unix(0, 0), []string{asleep, "the closed sum abcdabcd had to be added up until " + time.Unix(0, 0).Format("15:04 (Monday 2 January)") +
			": unless a member that is missing has its result, it is dead, and what was paid for it is lost"}},
	} {
		sums := &api.Sums{Committee: api.Committee{Colluding: 1, Quorum: 3, Members: make([]api.Member, 4)}, List: []api.Sum{{ID: "abcdabcdabcd", State: c.state, Dies: c.dies.Unix()}}}
		if got := missingProblems(d, sums); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.state, got)
		}
	}
}

// A member without a known address may run where nobody can tell: its address is asked for.
func TestDoctorAsksForAddressOfMember(t *testing.T) {
	d := &api.Diagnosis{Committee: []api.MemberCheck{{Peer: "one", Why: unmet}}}
	got := missingProblems(d, &api.Sums{})
	if len(got) != 1 || !strings.Contains(got[0], "if it runs, for the address that it prints") || !strings.Contains(got[0], "p2pnode peer add ADDRESS") {
		t.Errorf("%q", got)
	}
}

// The clock of a machine that lost its battery is behind the files.
func TestDoctorSeesClockBehindFiles(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	if got := behindFiles(n.dir, time.Now()); got != 0 {
		t.Errorf("%v behind, want not", got)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(n.dir, datadir.StoreFile), later, later); err != nil {
		t.Fatal(err)
	}
	if got := behindFiles(n.dir, time.Now()); got < 59*time.Minute || got > time.Hour {
		t.Errorf("%v behind, want an hour", got)
	}
	if got := behindFiles(t.TempDir(), storage.Earliest.Add(-time.Hour)); got != time.Hour {
		t.Errorf("%v behind a time at which it can have been set, want an hour", got)
	}
	d := api.Diagnosis{Running: true, Clock: 3600, Verdict: reach.Reachable}
	judge(&d, nil)
	wantProblem(t, d, "about 1 hour behind")
}

// A disk with little room left is told apart from a directory that cannot be written to.
// TestLabFullDisk has a full one.
func TestDoctorOfADisk(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	for _, free := range []int64{-1, lowDisk} {
		if p := n.diskProblem(free); len(p) > 0 {
			t.Errorf("with %d bytes free: %q", free, p)
		}
	}
	wantProblem(t, api.Diagnosis{Problems: n.diskProblem(5 << 20)}, "the disk is nearly full, 5.0 MB are free: below 32 MB no more records")
	n.dir = filepath.Join(n.dir, "gone")
	wantProblem(t, api.Diagnosis{Problems: n.diskProblem(5 << 20)}, "make "+n.dir+" writable")
}

// What to do depends on what is wrong. A node that others can reach gets no advice.
func TestRemedies(t *testing.T) {
	for _, c := range []struct {
		d    api.Diagnosis
		want string // "": nothing
	}{
		{api.Diagnosis{Running: true, Verdict: reach.Reachable}, ""},
		{api.Diagnosis{Running: true, Verdict: reach.Relayed}, ""},
		{api.Diagnosis{Running: true, Verdict: reach.Local}, ""},
		{api.Diagnosis{Running: true, Verdict: reach.Unreachable}, "p2pnode relay"},
		{api.Diagnosis{Running: true, Verdict: reach.Unreachable}, "upnp = true"},
		{api.Diagnosis{Running: true, Verdict: reach.Unreachable, PortMap: true}, "announce"},
		{api.Diagnosis{Running: true, Verdict: reach.Unknown}, "connected to nobody"},
		{api.Diagnosis{Running: true, Verdict: reach.Unknown, Reach: reach.Report{Links: []reach.Link{{}}}}, "five minutes"},
		{api.Diagnosis{Running: true, Verdict: reach.Unknown, Reach: reach.Report{Links: []reach.Link{{Called: true, Local: true, Here: true}}}}, "another machine"},
	} {
		got := strings.Join(remedies(&c.d), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.d.Verdict, got, c.want)
		}
	}
}
