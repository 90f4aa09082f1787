package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/node/api"
)

// twoFaced is a node's ID and a proof that it signed two different models for round 7. Its key
// comes from random: each process of a fuzz target must have the same.
func twoFaced(t testing.TB, random io.Reader) api.Evidence {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(random)
	if err != nil {
		t.Fatal(err)
	}
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	e := api.Evidence{Network: "net", Author: id.String(), Round: 7}
	for i, to := range []*api.ModelProof{&e.First, &e.Second} {
		data, err := gossip.NewSigner(key, "net").Encode(learner.Message{Kind: learner.KindModel, Round: 7, Real: []float64{float64(i)}})
		if err != nil {
			t.Fatal(err)
		}
		w, err := gossip.WitnessOf(data)
		if err != nil {
			t.Fatal(err)
		}
		to.Hash, to.Proof = w.Hash, w.Proof
	}
	return e
}

// The keeper of a list revokes whom a proof convicts, and nobody for a proof that shows
// nothing or is against a stranger.
func TestRevokeWithEvidence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, list := filepath.Join(dir, "garden.key"), filepath.Join(dir, "garden.toml")
	good, stranger := twoFaced(t, rand.Reader), twoFaced(t, rand.Reader)
	forged := good
	forged.Round++
	cli(t, nil, "members", "init", "garden", "--key", key, "--list", list)
	cli(t, nil, "members", "add", good.Author, "--name", "shed", "--key", key, "--list", list)
	file := func(v any) string {
		t.Helper()
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "evidence.json")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for want, v := range map[string]any{
		"did not sign both models": []api.Evidence{forged}, "none is against a member": []api.Evidence{stranger},
		"has no proof": []api.Evidence{}, "no proofs as": "so",
	} {
		out, err := exec.Command("p2pnode", "members", "revoke", "--evidence", file(v), "--key", key, "--list", list).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("want %q: %v\n%s", want, err, out)
		}
	}
	var done revoked
	cli(t, &done, "members", "revoke", "--evidence", file([]api.Evidence{stranger, good, good}), "--key", key, "--list", list)
	if done.Members != 0 || len(done.Evidence) != 1 || done.Evidence[0].Author != good.Author {
		t.Errorf("done: %+v", done)
	}
	if out := done.String(); !strings.Contains(out, good.Author+" signed two different models for round 7") {
		t.Errorf("it says %s", out)
	}
}

// Whatever is in a file of proofs, only what an author signed twice is believed.
func FuzzEvidence(f *testing.F) {
	good := twoFaced(f, bytes.NewReader(make([]byte, 32)))
	for _, v := range []any{good, []api.Evidence{good}} {
		text, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseEvidence(text)
		for _, e := range list {
			if err != nil || e.Author != good.Author || e.Round != good.Round {
				t.Fatalf("believed: %+v, %v", e, err)
			}
		}
	})
}
