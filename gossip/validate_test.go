package gossip

import (
	"math"
	"testing"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/internal/wire"
	"p2pnode/learner"
)

// badModels are such as an honest codec would never write.
func badModels(t testing.TB) map[string][]byte {
	t.Helper()
	bad := map[string][]byte{
		"NaN":             mustEncode(t, model(1, math.NaN(), 0, 0)),
		"out of ball":     mustEncode(t, model(1, 3, 0, 0)),
		"wrong dimension": mustEncode(t, model(1, 0, 0)),
		"garbage":         []byte("\xffgarbage"),
		"empty":           nil,
		"large":           make([]byte, 50<<10),
		"no proof":        withoutProof(t, mustEncode(t, model(1, 0, 0, 0))),
	}
	old, err := proto.Marshal(&wire.Model{Version: 99, Kind: uint32(learner.KindModel), Round: 1, Value: []float64{0, 0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	bad["wrong version"] = old
	return bad
}

// TestVerdicts asks the validator directly, so that each outcome is seen.
func TestVerdicts(t *testing.T) {
	g := newNode(t)
	ownerKey, otherKey := newKey(t), newKey(t)
	owner, _ := peer.IDFromPrivateKey(ownerKey)
	other, _ := peer.IDFromPrivateKey(otherKey)
	if err := g.Follow(owner); err != nil {
		t.Fatal(err)
	}
	judge := func(via, topicOwner peer.ID, data []byte) pubsub.ValidationResult {
		return g.validate(t.Context(), via, &pubsub.Message{Message: posted(topicOwner, data)})
	}
	good := func(round uint64) []byte {
		data, err := NewSigner(ownerKey, "net").Encode(model(round, 1, 1, 1))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, step := range []struct {
		name    string
		via, of peer.ID
		data    []byte
		want    pubsub.ValidationResult
	}{
		{"the first", owner, owner, good(3), pubsub.ValidationAccept},
		{"the same again", owner, owner, good(3), pubsub.ValidationIgnore},
		{"one that was overtaken", owner, owner, good(2), pubsub.ValidationAccept},
		{"the overtaken one again", owner, owner, good(2), pubsub.ValidationIgnore},
		{"a newer one, relayed", other, owner, good(100), pubsub.ValidationAccept},
		{"one of long ago", owner, owner, good(100 - window), pubsub.ValidationIgnore},
		{"not followed", other, other, good(1), pubsub.ValidationIgnore},
		{"own", g.id(), g.id(), good(1), pubsub.ValidationAccept},
		{"with another's proof", owner, owner, mustEncode(t, model(102, 1, 1, 1)), pubsub.ValidationReject},
		{"with another's proof, relayed", other, owner, mustEncode(t, model(102, 1, 1, 1)), pubsub.ValidationReject},
	} {
		if got := judge(step.via, step.of, step.data); got != step.want {
			t.Errorf("%s: verdict %v, want %v", step.name, got, step.want)
		}
	}
	for name, data := range badModels(t) {
		if got := judge(owner, owner, data); got != pubsub.ValidationReject {
			t.Errorf("%s: verdict %v, want Reject", name, got)
		}
	}
	if got := g.Inbox().Take(); len(got) != 1 || got[0].Round != 100 {
		t.Errorf("the inbox holds %+v", got)
	}
}

func TestServedModelsAreCheckedLikeBroadcasts(t *testing.T) {
	g, author := newNode(t), newNode(t)
	for name, data := range badModels(t) {
		if _, err := g.Hear(author.id(), data); err == nil {
			t.Errorf("%s: heard", name)
		}
	}
	if !g.offenders.Contains(author.id()) {
		t.Error("a peer that serves bad models is not refused")
	}
	if len(g.Inbox().Take()) != 0 {
		t.Error("a bad model is in the inbox")
	}
}

func withoutProof(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := WitnessOf(data)
	if err != nil {
		t.Fatal(err)
	}
	return data[:len(data)-len(appendProof(nil, w.Proof))]
}
