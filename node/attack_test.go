package node

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// A neighbour that sends messages of kinds or rounds that the task does not have is
// rejected and in the end refused, and does not keep the others from their run.
func TestForeignKindsAndRoundsAreRejected(t *testing.T) {
	t.Parallel()
	task := learnerTask("diffusion")
	task.Rounds.Count, task.Rounds.Seconds = 20, 1
	accept := func(context.Context) gossip.EdgeReply { return gossip.EdgeReply{Answer: gossip.EdgeAccepted} }
	liar, info := fakePeer(t, testNode(t, task, nil, nil), accept)
	w := startGraph(t, full(2), task, func(c *datadir.Config) {
		c.Unprotected, c.Releases, c.Neighbours = datadir.Consent, 0, []string{info.ID.String()}
	})
	defer w.stop()
	victim := w.nodes[0]
	victim.session.hood.found(info)
	if err := liar.Follow(victim.self); err != nil {
		t.Fatal(err)
	}
	require.Eventually(t, "the liar is a neighbour", func() bool { return status(t, victim).Listening == 2 })
	to := gossip.ID(victim.self)
	bad := []learner.Message{
		{Kind: learner.KindGradient, Round: 1, Real: make([]float64, 3)},
		{Kind: learner.KindMask, Round: 1, Ring: make([]uint64, 3)},
		{Kind: learner.KindAck, Round: 21, Real: []float64{1}}, // after the last
		{Kind: learner.KindAck, Round: 1, Real: []float64{1, 1}},
		{Kind: learner.KindAck, Round: 1, Attempt: 1, Real: []float64{1}},
	}
	for i, m := range bad {
		m.To = to
		var sent time.Time
		require.Eventually(t, "it is rejected", func() bool {
			if time.Since(sent) > 10*time.Second { // again: it is lost if the connection was replaced meanwhile
				sent = time.Now()
				if err := liar.Send(m); err != nil {
					t.Fatal(err)
				}
			}
			return status(t, victim).Traffic.Rejected > uint64(i)
		})
		waitUntilReset(t, victim, info.ID)
	}
	require.Eventually(t, "the liar is refused", func() bool { return status(t, victim).Listening == 1 })
	w.addRecords(t, rand.New(rand.NewPCG(25, 26)), 15)
	require.Eventually(t, "the run is over", func() bool { return w.ahead(t, make([]uint64, 2), 20) })
	if s := status(t, victim); s.Traffic.Taken == 0 || s.Traffic.Rejected != uint64(len(bad)) {
		t.Errorf("the victim counts %+v", s.Traffic)
	}
	ownerHearsOf(t, victim, info.ID, uint64(len(bad)))
}

// ownerHearsOf checks that the owner was told of a peer that is refused, and of the messages
// that were rejected.
func ownerHearsOf(t *testing.T, n *Node, liar peer.ID, bad uint64) {
	t.Helper()
	if e := last(eventsUntil(t, n, api.EventRefused), api.EventRefused); e.Peer != liar.String() || e.Reason == "" {
		t.Errorf("the owner is told %+v; want who is refused and why", e)
	}
	list, err := n.Neighbours(t.Context())
	if err != nil || len(list.Refused) != 1 || list.Refused[0].Peer != liar.String() || list.Refused[0].Until == nil {
		t.Errorf("refused are %+v, %v; want the liar, for a while", list.Refused, err)
	}
	held, err := n.Standings(t.Context())
	if err != nil || len(held) != 1 || held[0].State != api.RefusedHere || held[0].Counts["malformed"] != bad || held[0].Until == nil || !strings.Contains(held[0].Why, "that no honest node sends") {
		t.Errorf("held is %+v, %v; want the liar's bad messages", held, err)
	}
	n.diary.Close() // does not wait with what comes many at a time
	counted := uint64(0)
	for e := range n.Events(t.Context(), 0) {
		if counted += e.Rejected["malformed"]; counted == bad {
			break // else the test never ends
		}
	}
}

// waitUntilReset waits until a peer knows that its stream of directed messages was
// reset. What it sent on that stream meanwhile would be lost.
func waitUntilReset(t *testing.T, n *Node, p peer.ID) {
	t.Helper()
	h := n.session.host
	require.Eventually(t, "its stream is reset", func() bool {
		for _, c := range h.Network().ConnsToPeer(p) {
			for _, s := range c.GetStreams() {
				if strings.Contains(string(s.Protocol()), "/direct/") {
					return false
				}
			}
		}
		return true
	})
	<-ping.Ping(t.Context(), h, p) // an answer, or a refusal, comes after the reset: it is the same connection
}
