package node

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/libp2p/go-libp2p/p2p/transport/websocket"

	"p2pnode/discovery/members"
	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// garden is a private network for tests.
type garden struct {
	t    *testing.T
	key  crypto.PrivKey
	list *members.Signed
}

func newGarden(t *testing.T) *garden {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &garden{t: t, key: key}
}

// issue signs the next list.
func (g *garden) issue(ids ...peer.ID) {
	g.t.Helper()
	l := &members.List{Network: "garden", Version: 1}
	if g.list != nil {
		l.Version = g.list.Version + 1
	}
	for _, id := range ids {
		if err := l.Put(members.Member{Peer: id, Added: time.Now()}); err != nil {
			g.t.Fatal(err)
		}
	}
	var err error
	if g.list, err = l.Sign(g.key, time.Now()); err != nil {
		g.t.Fatal(err)
	}
}

// join makes a closed node a member, and opens it again.
func (g *garden) join(n *Node) *Node {
	g.t.Helper()
	authority, err := peer.IDFromPrivateKey(g.key)
	if err != nil {
		g.t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		g.t.Fatal(err)
	}
	if _, err := datadir.Join(g.t.Context(), n.dir, "garden", []string{authority.String()}, g.list.Text); err != nil {
		g.t.Fatal(err)
	}
	return openNode(g.t, n.dir)
}

// gardenOf starts nodes that are all members and waits until each listens to all.
func gardenOf(t *testing.T, count int) (g *garden, nodes []*Node, stops []func()) {
	t.Helper()
	g = newGarden(t)
	var bootstrap []string
	nodes, stops = make([]*Node, count), make([]func(), count)
	for i := range nodes {
		nodes[i] = testNode(t, lineTask(), nil, func(c *datadir.Config) {
			c.Bootstrap = bootstrap
			c.Listen = []string{"/ip4/127.0.0.1/tcp/" + freePort(t)}
		})
		if i == 0 {
			bootstrap = []string{nodes[0].files.Config.Listen[0] + "/p2p/" + nodes[0].self.String()}
		}
	}
	ids := make([]peer.ID, count)
	for i, n := range nodes {
		ids[i] = n.self
	}
	g.issue(ids...)
	for i := range nodes {
		nodes[i] = g.join(nodes[i])
		stops[i] = start(t, nodes[i])
	}
	require.Eventually(t, "a complete graph", func() bool {
		return !slices.ContainsFunc(nodes, func(n *Node) bool { return status(t, n).Listening < count-1 })
	})
	return g, nodes, stops
}

func edgeTo(t *testing.T, n *Node, id peer.ID) bool {
	t.Helper()
	peers, err := n.Peers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(peers, func(p api.Peer) bool { return p.ID == id.String() })
}

// A list that one member gets while all are connected ends the revoked one's edges
// and topics everywhere, on disk too; the others go on. A member that was away
// forgets its edge when it comes back.
func TestRevocationWhileConnected(t *testing.T) {
	t.Parallel()
	g, nodes, stops := gardenOf(t, 4)
	revoked := nodes[3].self
	stops[2]() // is away meanwhile
	if err := nodes[2].Close(); err != nil {
		t.Fatal(err)
	}
	g.issue(nodes[0].self, nodes[1].self, nodes[2].self)
	begin := time.Now()
	if err := nodes[0].ImportMembers(t.Context(), g.list.Text); err != nil {
		t.Fatal(err)
	}
	require.Eventually(t, "the edges are gone", func() bool { return !edgeTo(t, nodes[0], revoked) && !edgeTo(t, nodes[1], revoked) })
	t.Logf("the edges are gone after %v", time.Since(begin))
	for _, n := range nodes[:2] {
		// It calls again at once, and is connected until it has proved who it is.
		require.Eventually(t, "the revoked member is not connected", func() bool { return !n.session.hood.connected(revoked) })
		require.Eventually(t, "the edge is gone from disk", func() bool {
			edges, err := n.store.Edges()
			if err != nil {
				t.Fatal(err)
			}
			return len(edges) == 2
		})
	}
	back := openNode(t, nodes[2].dir)
	if edges, err := back.store.Edges(); err != nil || len(edges) != 3 {
		t.Fatalf("%d edges on disk, %v", len(edges), err)
	}
	start(t, back)
	require.Eventually(t, "the new list, and the edge forgotten", func() bool {
		return back.private.Book.List().Version == 2 && !edgeTo(t, back, revoked) && status(t, back).Listening == 2
	})
	require.Eventually(t, "the revoked member knows", func() bool {
		p := status(t, nodes[3]).Private
		return p.Version == 1 && len(p.RefusedBy) > 0
	})
	require.Eventually(t, "the doctor says that the bootstrap peer refuses it", func() bool {
		d, err := nodes[3].Doctor(t.Context())
		if err != nil || len(d.Bootstrap) != 1 {
			t.Fatalf("%+v, %v", d.Bootstrap, err)
		}
		return !d.Bootstrap[0].Reached && d.Bootstrap[0].Why == errTurnedAway.Error()
	})
	if d, err := nodes[1].Doctor(t.Context()); err != nil || !d.Bootstrap[0].Reached {
		t.Errorf("a member reaches %+v, %v", d.Bootstrap, err)
	}
	if p := status(t, nodes[0]).Private; p.Version != 2 || p.Members != 3 || !p.Listed {
		t.Errorf("%+v", p)
	}
}

// hostWith makes a host that listens on the address, with the network key of a data
// directory.
func hostWith(t *testing.T, p datadir.Private, listen string) host.Host {
	t.Helper()
	h, err := libp2p.New(append(p.Options(), libp2p.ListenAddrStrings(listen),
		libp2p.Transport(tcp.NewTCPTransport), libp2p.Transport(websocket.New),
		libp2p.ResourceManager(&network.NullResourceManager{}),
		libp2p.DisableRelay(), libp2p.DisableMetrics(), libp2p.DisableIdentifyAddressDiscovery())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// Only a node with the same network key gets through, over TCP and WebSocket.
func TestNetworkKey(t *testing.T) {
	t.Parallel()
	withKey := func() datadir.Private {
		n := testNode(t, lineTask(), nil, nil)
		if _, err := datadir.CreateNetworkKey(n.dir); err != nil {
			t.Fatal(err)
		}
		p, err := datadir.ReadPrivate(n.dir, n.self, nil, n.log)
		if err != nil || p.Key == nil {
			t.Fatalf("%v", err)
		}
		return p
	}
	ours, other := withKey(), withKey()
	for _, listen := range []string{"/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/tcp/0/ws"} {
		for name, c := range map[string]struct {
			caller datadir.Private
			want   bool
		}{"the same key": {ours, true}, "another key": {other, false}, "no key": {datadir.Private{}, false}} {
			limit := 4 * time.Minute
			if !c.want {
				limit = time.Second // two ends that decrypt noise may wait for each other
			}
			a, b := hostWith(t, ours, listen), hostWith(t, c.caller, listen)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			err := b.Connect(ctx, peer.AddrInfo{ID: a.ID(), Addrs: a.Addrs()})
			cancel()
			if (err == nil) != c.want {
				t.Errorf("%s, %s: %v", listen, name, err)
			}
		}
	}
}

func TestNetworkKeyFiles(t *testing.T) {
	t.Parallel()
	n, other := testNode(t, lineTask(), nil, nil), testNode(t, lineTask(), nil, nil)
	if _, err := datadir.ReadNetworkKey(n.dir); !errors.Is(err, datadir.ErrNoNetworkKey) {
		t.Errorf("no key: %v", err)
	}
	made, err := datadir.CreateNetworkKey(n.dir)
	if err != nil || len(made.Fingerprint) != 16 {
		t.Fatalf("%+v, %v", made, err)
	}
	taken, err := datadir.ImportNetworkKey(other.dir, made.File)
	if err != nil || taken.Fingerprint != made.Fingerprint || taken.File == made.File {
		t.Errorf("%+v, %v", taken, err)
	}
	if again, err := datadir.ReadNetworkKey(other.dir); err != nil || again != taken {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := datadir.CreateNetworkKey(n.dir); err == nil || !strings.Contains(err.Error(), made.Fingerprint) {
		t.Errorf("a second key: %v", err)
	}
	if text, err := os.ReadFile(made.File); err != nil || !strings.HasPrefix(string(text), "/key/swarm/psk/1.0.0/\n/base16/\n") {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.WriteFile(made.File, []byte("/key/swarm/psk/1.0.0/\n/base16/\n00ff"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := datadir.ReadNetworkKey(n.dir); err == nil || !strings.Contains(err.Error(), "copy it again") {
		t.Errorf("half a key: %v", err)
	}
	if err := os.Chmod(made.File, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(n.dir, n.log); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("others can read it: %v", err)
	}
}

func TestNetworkKeyAddresses(t *testing.T) {
	for addr, good := range map[string]bool{
		"/ip4/0.0.0.0/tcp/4001": true, "/ip6/::/tcp/4001": true, "/ip4/0.0.0.0/tcp/4001/ws": true,
		"/ip4/0.0.0.0/udp/4001/quic-v1": false, "/ip4/0.0.0.0/udp/4001/quic-v1/webtransport": false,
		"/ip4/0.0.0.0/udp/4001/webrtc-direct": false,
	} {
		err := datadir.Private{Key: make([]byte, 32)}.Check([]string{"/ip4/0.0.0.0/tcp/1", addr})
		if (err == nil) != good {
			t.Errorf("%s: %v", addr, err)
		}
		if err := (datadir.Private{}).Check([]string{addr}); err != nil {
			t.Errorf("%s without a key: %v", addr, err)
		}
	}
}

func TestJoinRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), nil, nil)
	if _, err := n.Members(t.Context()); !errors.Is(err, api.ErrNotJoined) {
		t.Errorf("not joined: %v", err)
	}
	if err := n.ImportMembers(t.Context(), nil); !errors.Is(err, api.ErrNotJoined) {
		t.Errorf("not joined: %v", err)
	}
	for name, c := range map[string]struct {
		network     string
		authorities []string
		want        string
	}{
		"a bad name":            {"my garden", []string{n.self.String()}, "no name for a network"},
		"no authority":          {"garden", nil, "at least one authority"},
		"no peer ID":            {"garden", []string{"x"}, "no authority"},
		"an ID without its key": {"garden", []string{"QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N"}, "no authority"},
	} {
		if _, err := datadir.Join(t.Context(), n.dir, c.network, c.authorities, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, text := range []string{"network = ", "network = \"garden\"\n", "network = \"garden\"\nauthorities = [\"x\"]\n", "level = 3\n"} {
		if err := os.WriteFile(filepath.Join(n.dir, datadir.PrivateFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := datadir.ReadPrivate(n.dir, n.self, nil, n.log); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// The doctor tells a member what is wrong, and nothing while all is well.
func TestMembershipProblems(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	n := testNode(t, lineTask(), nil, nil)
	friend := randomPeer(t)
	g.issue(n.self, friend)
	n = g.join(n)
	now := time.Now()
	if got := n.private.Problems(n.self, []peer.AddrInfo{{ID: friend}}, now); len(got) != 0 {
		t.Errorf("a member: %q", got)
	}
	stranger := randomPeer(t)
	got := n.private.Problems(stranger, []peer.AddrInfo{{ID: stranger}}, now)
	if len(got) != 2 || !strings.Contains(got[0], "members add "+stranger.String()) || !strings.Contains(got[1], "bootstrap peer "+stranger.String()) {
		t.Errorf("a stranger: %q", got)
	}
	l := g.list.Next()
	if err := l.Put(members.Member{Peer: n.self, Added: now, Expires: now.Add(24 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	s, err := l.Sign(g.key, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.ImportMembers(t.Context(), s.Text); err != nil {
		t.Fatal(err)
	}
	if got := n.private.Problems(n.self, nil, now); len(got) != 1 || !strings.Contains(got[0], "membership ends") {
		t.Errorf("a member for one more day: %q", got)
	}
	if got := n.private.Problems(n.self, nil, now.Add(48*time.Hour)); len(got) != 1 || !strings.Contains(got[0], "has expired") {
		t.Errorf("a member that has expired: %q", got)
	}
	if got := (datadir.Private{}).Problems(n.self, nil, now); got != nil {
		t.Errorf("no private network: %q", got)
	}
}

func TestPrivateNetworkRefuses(t *testing.T) {
	t.Parallel()
	g, other := newGarden(t), newGarden(t)
	g.issue(randomPeer(t))
	authority, err := peer.IDFromPrivateKey(g.key)
	require.NoError(t, err)
	otherAuthority, err := peer.IDFromPrivateKey(other.key)
	require.NoError(t, err)
	var p datadir.PrivateNetwork
	for _, text := range []string{"", "x", networkKeyText("zz"), networkKeyText("a5")[:60], strings.Replace(networkKeyText("a5"), "1.0.0", "2.0.0", 1)} {
		if err := p.SetKey(text); !errors.Is(err, api.ErrRequest) {
			t.Errorf("%q: %v", text, err)
		}
	}
	damaged := slices.Clone(g.list.Text)
	damaged[len(damaged)/2] ^= 1
	for what, c := range map[string]struct {
		network   string
		authority string
		list      []byte
		says      string
	}{
		"a bad name":            {"my garden", authority.String(), nil, "no name for a network"},
		"no authority":          {"garden", "", nil, "no authority"},
		"a damaged list":        {"garden", authority.String(), damaged, "damaged"},
		"an empty list":         {"garden", authority.String(), []byte{}, "damaged"},
		"a list of another":     {"garden", otherAuthority.String(), g.list.Text, "does not trust"},
		"that of another place": {"field", authority.String(), g.list.Text, `another network, "garden"`},
	} {
		if err := p.Join(c.network, []string{c.authority}, c.list); !errors.Is(err, api.ErrRequest) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", what, err, c.says)
		}
	}
	if !reflect.DeepEqual(p, datadir.PrivateNetwork{}) {
		t.Errorf("what was refused is there: %+v", p)
	}
	require.NoError(t, p.Join("garden", []string{authority.String()}, g.list.Text))
}

// networkKeyText is a network key made of one byte.
func networkKeyText(digits string) string {
	return "/key/swarm/psk/1.0.0/\n/base16/\n" + strings.Repeat(digits, 32) + "\n"
}

// A copy of a node of a private network is restored only beside what kept strangers away;
// a node that starts without it says so once.
func TestRestoreKeepsTheNetworkPrivate(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 10), nil)
	g := newGarden(t)
	g.issue(n.self)
	n = g.join(n)
	require.NoError(t, n.Close())
	if _, err := datadir.CreateNetworkKey(n.dir); err != nil {
		t.Fatal(err)
	}
	n = openNode(t, n.dir)
	copied := backup(t, n)
	require.NoError(t, n.Close())

	away := t.TempDir()
	files := []string{"private.toml", "members.toml", "swarm.key"}
	move := func(from, to string, names ...string) {
		t.Helper()
		for _, f := range names {
			require.NoError(t, os.Rename(filepath.Join(from, f), filepath.Join(to, f)))
		}
	}
	refused := func(words string) {
		t.Helper()
		if _, err := datadir.Restore(n.dir, copied, nil); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
	move(n.dir, away, files...)
	refused("put the node's private.toml and members.toml and swarm.key there first")
	move(away, n.dir, files[:2]...)
	refused("put the node's swarm.key there first")
	move(away, n.dir, files[2])
	if _, err := datadir.Restore(n.dir, copied, nil); err != nil {
		t.Fatal(err)
	}
	move(n.dir, away, files...)
	for _, want := range []string{"the private network garden and the network key", ""} {
		n = openNode(t, n.dir)
		if !strings.Contains(n.opened, want) || want == "" && n.opened != "" {
			t.Errorf("it has left %q, want %q", n.opened, want)
		}
		start(t, n)()
		require.NoError(t, n.Close())
	}
}
