package mobile

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/discovery/members"
	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// keyText is a network key of one byte, as the file swarm.key has it.
func keyText(digits string) string {
	return "/key/swarm/psk/1.0.0/\n/base16/\n" + strings.Repeat(digits, 32) + "\n"
}

// garden is a private network and who keeps its list.
type garden struct {
	t         *testing.T
	key       crypto.PrivKey
	authority string
	version   uint64
}

func newGarden(t *testing.T) *garden {
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	check(t, err)
	id, err := peer.IDFromPrivateKey(key)
	check(t, err)
	return &garden{t: t, key: key, authority: id.String()}
}

// list signs the next list of members.
func (g *garden) list(of ...*Node) []byte {
	g.version++
	l := &members.List{Network: "garden", Version: g.version}
	for _, n := range of {
		check(g.t, l.Put(members.Member{Peer: n.node.ID(), Added: time.Now()}))
	}
	s, err := l.Sign(g.key, time.Now())
	check(g.t, err)
	return s.Text
}

// closed changes a configuration, and opens a node that takes part in the network.
func closed(t *testing.T, l Listener, change func(*Config) error) *Node {
	c := testConfig(t)
	check(t, change(c))
	n := open(t, c, l)
	check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start())
	return n
}

// privateOf is what the app sees of the private network.
func privateOf(t *testing.T, n *Node) api.Private {
	t.Helper()
	s, err := n.node.Progress(t.Context())
	check(t, err)
	if s.Private == nil {
		t.Fatal("the node is not private")
	}
	return *s.Private
}

// refused lets a stranger try to reach a node and waits until the attempt has failed. The
// node has met it neither then nor before.
func refused(t *testing.T, n, stranger *Node, heard *recorder) {
	t.Helper()
	at := address(t, n)
	awaitState(t, stranger, stateRunning)
	check(t, stranger.AddPeer(at))
	awaitHeard(t, heard, `"connected":false`)
	if met, err := n.PeersJSON(); err != nil || strings.Contains(met, stranger.node.ID().String()) {
		t.Errorf("the node has met %s, %v", met, err)
	}
	if strings.Contains(strings.Join(heard.all(), "\n"), `"connected":true`) {
		t.Errorf("the stranger heard %q", heard.all())
	}
}

func TestNetworkKeyKeepsStrangersAway(t *testing.T) {
	with := func(key string) func(*Config) error {
		return func(c *Config) error { return c.SetNetworkKey(key) }
	}
	r, without, another := &recorder{}, &recorder{}, &recorder{}
	one, two := closed(t, nil, with(keyText("a5"))), closed(t, r, with(keyText("a5")))
	awaitState(t, two, stateRunning)
	check(t, two.AddPeer(address(t, one)))
	awaitHeard(t, r, `"connected":true`)
	refused(t, one, closed(t, another, with(keyText("00"))), another)
	refused(t, one, online(t, without), without)
	text, err := one.StatusJSON()
	if got := parse(t, text, err)["node"].(map[string]any)["private"].(map[string]any); got["key_fingerprint"] == "" || got["key_fingerprint"] != privateOf(t, two).Key {
		t.Errorf("the status says %v, and that of the other %+v", got, privateOf(t, two))
	}
}

// Members speak to each other, nobody else to them; who is taken off the list is
// dropped, and who is put on it is let in.
func TestMembersKeepStrangersAway(t *testing.T) {
	g := newGarden(t)
	join := func(c *Config) error { return c.JoinMembers("garden", g.authority, nil) }
	r, unlisted, open := &recorder{}, &recorder{}, &recorder{}
	one, two, three, stranger := closed(t, nil, join), closed(t, r, join), closed(t, unlisted, join), online(t, open)
	first := g.list(one, two)
	check(t, one.ImportMembers(first), two.ImportMembers(first), three.ImportMembers(first))
	if p := privateOf(t, two); !p.Listed || p.Members != 2 || p.Version != 1 {
		t.Errorf("a member: %+v", p)
	}
	if p := privateOf(t, three); p.Listed || p.Version != 1 {
		t.Errorf("not a member: %+v", p)
	}
	refused(t, one, stranger, open)
	refused(t, one, three, unlisted)
	awaitState(t, two, stateRunning)
	check(t, two.AddPeer(address(t, one)))
	awaitHeard(t, r, `"connected":true`)
	awaitNeighbours(t, one, 1)

	second := g.list(one)
	check(t, one.ImportMembers(second), one.ImportMembers(second))
	awaitNeighbours(t, one, 0)
	if err := one.ImportMembers(first); errorCode(err) != CodeInput || !strings.Contains(err.Error(), "older") {
		t.Errorf("the older list: %v", err)
	}
	check(t, one.ImportMembers(g.list(one, three))) // which goes on trying, and gets the list from it
	awaitNeighbours(t, one, 1)
	require.Eventually(t, "a member again", func() bool { return privateOf(t, three).Listed })
	if list, err := one.node.Peers(t.Context()); err != nil || list[0].ID != three.node.ID().String() {
		t.Errorf("the neighbour is %v, %v", list, err)
	}
	check(t, two.ImportMembers(second))
	if p := privateOf(t, two); p.Listed {
		t.Errorf("no member any more: %+v", p)
	}
}

// The app may go on shipping an old list, or nothing; it cannot change networks by
// mistake, nor open the node to everybody.
func TestDirectoryStaysPrivate(t *testing.T) {
	g := newGarden(t)
	c := testConfig(t)
	n := open(t, c, nil)
	first, second := g.list(n), g.list(n, n)
	check(t, n.Stop())
	for _, list := range [][]byte{nil, first, second, first, {}} {
		check(t, c.JoinMembers("garden", " "+g.authority+"\n", list), c.SetNetworkKey(keyText("a5")))
		check(t, open(t, c, nil).Stop())
	}
	plain := *c
	plain.private = datadir.PrivateNetwork{}
	n = open(t, &plain, nil)
	if p := privateOf(t, n); p.Version != 2 || !p.Listed || p.Key == "" || p.Network != "garden" {
		t.Errorf("%+v", p)
	}
	check(t, n.Stop())
	for says, change := range map[string]func(*Config) error{
		"another key":        func(c *Config) error { return c.SetNetworkKey(keyText("00")) },
		"belongs to the net": func(c *Config) error { return c.JoinMembers("field", g.authority, nil) },
		"of " + g.authority:  func(c *Config) error { return c.JoinMembers("garden", newGarden(t).authority, nil) },
		"use TCP":            func(c *Config) error { return c.AddListen("/ip4/127.0.0.1/udp/0/quic-v1") },
	} {
		other := *c
		other.listen = slices.Clone(c.listen)
		check(t, change(&other))
		if _, err := NewNode(&other, nil); errorCode(err) != CodeInput || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	n = open(t, c, nil)
	check(t, n.LeaveAndErase())
	if left, err := os.ReadDir(c.DataDir); !os.IsNotExist(err) {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
}

func TestPrivateNetworkRefuses(t *testing.T) {
	g, c := newGarden(t), testConfig(t)
	c.DataDir = filepath.Join(c.DataDir, "x")
	n := open(t, testConfig(t), nil)
	list := g.list(n)
	for says, err := range map[string]error{
		"/key/swarm/psk/":       c.SetNetworkKey("a5"),
		"at least one":          c.JoinMembers("garden", " ", nil),
		"is no authority":       c.JoinMembers("garden", g.authority+" x", nil),
		"no name for a network": c.JoinMembers("", g.authority, nil),
		"is damaged":            c.JoinMembers("garden", g.authority, []byte("x")),
		"does not trust":        c.JoinMembers("garden", newGarden(t).authority, list),
		"of another network":    c.JoinMembers("field", g.authority, list),
		"with joinMembers":      n.ImportMembers(list),
	} {
		if errorCode(err) != CodeInput || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	check(t, c.SetNetworkKey(keyText("a5")), c.AddListen("/ip4/127.0.0.1/udp/0/quic-v1"))
	if _, err := NewNode(c, nil); errorCode(err) != CodeInput || !strings.Contains(err.Error(), "use TCP") {
		t.Errorf("QUIC with a key: %v", err)
	}
	if _, err := os.Stat(c.DataDir); !os.IsNotExist(err) {
		t.Errorf("what was refused made the directory: %v", err)
	}
}

// A phone without a list gets the first one from the peer that it starts from.
func TestFirstListComesFromABootstrapPeer(t *testing.T) {
	g := newGarden(t)
	join := func(c *Config) error { return c.JoinMembers("garden", g.authority, nil) }
	one := closed(t, nil, join)
	at := address(t, one)
	two := closed(t, nil, func(c *Config) error { return errors.Join(c.AddBootstrap(at), join(c)) })
	check(t, one.ImportMembers(g.list(one, two)))
	awaitNeighbours(t, one, 1)
	if p := privateOf(t, two); !p.Listed || p.Version != 1 {
		t.Errorf("%+v", p)
	}
}
