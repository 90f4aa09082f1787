package mobile

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
)

// address is where a node that runs on loopback can be reached.
func address(t testing.TB, n *Node) string {
	awaitState(t, n, stateRunning)
	addrs, err := n.node.Addrs(t.Context())
	if err != nil || len(addrs) == 0 {
		t.Fatal(addrs, err)
	}
	return addrs[0]
}

// online opens a node that takes part in the network.
func online(t testing.TB, l Listener) *Node {
	n := open(t, testConfig(t), l)
	check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start())
	return n
}

func added(t testing.TB, n *Node, id string) bool {
	list, err := n.node.Acquaintances(t.Context())
	check(t, err)
	for _, a := range list {
		if a.ID == id && a.From == "added" {
			return true
		}
	}
	return false
}

func TestAddPeer(t *testing.T) {
	r := &recorder{}
	n, other := online(t, r), online(t, nil)
	at := address(t, other)
	awaitState(t, n, stateRunning)
	check(t, n.AddPeer(at))
	id := other.node.ID().String()
	awaitHeard(t, r, fmt.Sprintf(`peer {"id":%q,"connected":true,"reason":""}`, id))
	if !added(t, n, id) {
		t.Error("not remembered")
	}
	check(t, n.RemovePeer(id))
	if err := n.RemovePeer(id); errorCode(err) != CodeInput {
		t.Errorf("removed twice: %v", err)
	}

	// Somebody else answers at the address: not remembered.
	stranger := open(t, testConfig(t), nil).node.ID().String()
	check(t, n.AddPeer(strings.ReplaceAll(at, id, stranger)))
	awaitHeard(t, r, "another node answers at that address")
	if added(t, n, stranger) {
		t.Error("a stranger is remembered")
	}
}

func TestAddPeerThatIsSilent(t *testing.T) {
	r := &recorder{}
	n := online(t, r)
	awaitState(t, n, stateRunning)
	id := open(t, testConfig(t), nil).node.ID().String()
	check(t, n.AddPeer("/ip4/127.0.0.1/tcp/1/p2p/"+id))
	awaitHeard(t, r, "nothing listens at that address")
	if !added(t, n, id) {
		t.Error("not remembered")
	}
}

// Over the years an app finds many peers: those that were not seen for longest make room.
func TestAddManyPeers(t *testing.T) {
	r := &recorder{}
	n := open(t, testConfig(t), r)
	var last string
	for i := range maxIntroduced + 2 {
		key, _, err := crypto.GenerateEd25519Key(rand.NewChaCha8([32]byte{byte(i)}))
		check(t, err)
		id, err := peer.IDFromPrivateKey(key)
		check(t, err)
		last = id.String()
		check(t, n.AddPeer("/ip4/192.0.2.1/tcp/1/p2p/"+last))
		awaitHeard(t, r, fmt.Sprintf(`peer {"id":%q,"connected":false,"reason":"the node is not in the network; it connects when it is"}`, last))
	}
	list, err := n.node.Acquaintances(t.Context())
	if check(t, err); len(list) != 64 || !added(t, n, last) {
		t.Errorf("%d peers are kept, the last one %v; want 64, and that one", len(list), added(t, n, last))
	}
}

// What was taken before Stop is remembered, although nothing was tried.
func TestAddPeersBeforeStop(t *testing.T) {
	c := testConfig(t)
	n := open(t, c, nil)
	var ids []string
	for range 5 {
		id := open(t, testConfig(t), nil).node.ID().String()
		ids = append(ids, id)
		check(t, n.AddPeer("/ip4/127.0.0.1/tcp/1/p2p/"+id))
	}
	check(t, n.Stop())
	n = open(t, c, nil)
	for _, id := range ids {
		if !added(t, n, id) {
			t.Errorf("%s is forgotten", id)
		}
	}
}

func TestAddPeerRefuses(t *testing.T) {
	n := open(t, testConfig(t), nil)
	for _, text := range []string{
		"", "wlan0", "/ip4/192.0.2.7/tcp/4001", "/p2p/" + n.node.ID().String(), "/ip4/127.0.0.1/tcp/4001/p2p/" + n.node.ID().String(),
	} {
		if err := n.AddPeer(text); errorCode(err) != CodeInput {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := n.RemovePeer("wlan0"); errorCode(err) != CodeInput {
		t.Errorf("RemovePeer: %v", err)
	}
}
