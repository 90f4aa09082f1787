package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"
	"p2pnode/node/netedge"
)

// startRelay runs a relay on loopback and returns its address. It is killed with the
// test.
func startRelay(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("p2pnode", "relay", "--json", "--dir", dir, "--listen", "/ip4/127.0.0.1/tcp/0")
	var log bytes.Buffer
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var s netedge.RelayStatus
	decodeErr := json.NewDecoder(stdout).Decode(&s)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // that it was killed
		if t.Failed() {
			t.Logf("log of the relay:\n%s", &log)
		}
	})
	if decodeErr != nil || len(s.Addresses) != 1 {
		t.Fatalf("the relay said %+v, %v", s, decodeErr)
	}
	return s.Addresses[0]
}

// A relay of a private network is its bootstrap: with the network key and the list it
// serves members, and brings the list to one that has none.
func TestPrivateRelay(t *testing.T) {
	t.Parallel()
	home := shortTemp(t)
	relay, key, list := filepath.Join(home, "relay"), filepath.Join(home, "garden.key"), filepath.Join(home, "garden.toml")
	if err := os.Mkdir(relay, 0o700); err != nil {
		t.Fatal(err)
	}
	var identity newIdentity
	cli(t, &identity, "identity", filepath.Join(relay, "relay.key"))
	var network begun
	cli(t, &network, "members", "init", "garden", "--key", key, "--list", list)
	var shared datadir.NetworkKey
	cli(t, &shared, "network-key", "create", "--dir", relay)

	// The identities come first, so that the list has them all.
	var id [2]newIdentity
	for i := range id {
		cli(t, &id[i], "identity", filepath.Join(home, []string{"a.key", "b.key"}[i]))
	}
	cli(t, nil, "members", "add", identity.Peer, id[0].Peer, id[1].Peer, "--key", key, "--list", list)
	cli(t, nil, "members", "join", "garden", network.Authority, "--list", list, "--dir", relay)
	address := startRelay(t, relay)
	var d [2]*daemon
	for i := range d {
		dir := initNode(t, "--identity", id[i].File, "--bootstrap", address)
		cli(t, nil, "network-key", "import", shared.File, "--dir", dir)
		cli(t, nil, "members", "join", "garden", network.Authority, "--dir", dir)
		d[i] = start(t, dir)
	}
	require.Within(t, patience, "the two meet through the relay", func() bool {
		return d[0].status(t).Listening == 1 && d[1].status(t).Listening == 1
	})
	if p := d[1].status(t).Private; p.Version != 2 || p.Members != 3 || !p.Listed || p.Key != shared.Fingerprint {
		t.Errorf("%+v", p)
	}
}

// The list of a relay is kept in its directory, which has no node.
func TestMembersOfARelay(t *testing.T) {
	t.Parallel()
	home := shortTemp(t)
	relay, key, list := filepath.Join(home, "relay"), filepath.Join(home, "garden.key"), filepath.Join(home, "garden.toml")
	var identity newIdentity
	cli(t, &identity, "identity", filepath.Join(relay, "relay.key"))
	var network begun
	cli(t, &network, "members", "init", "garden", "--key", key, "--list", list)
	cli(t, nil, "members", "add", identity.Peer, "--key", key, "--list", list)
	cli(t, nil, "members", "join", "garden", network.Authority, "--list", list, "--dir", relay)
	cli(t, nil, "members", "add", network.Authority, "--name", "issuer", "--key", key, "--list", list)
	var given edited
	cli(t, &given, "members", "import", list, "--dir", relay)
	if given.Version != 3 || given.Members != 2 || !given.Relay {
		t.Errorf("%+v", given)
	}
	cli(t, &given, "members", "revoke", "issuer", "--key", key, "--dir", relay)
	var kept memberList
	cli(t, &kept, "members", "list", "--dir", relay)
	if kept.Version != 4 || len(kept.Members) != 1 {
		t.Errorf("%+v", kept)
	}
}
