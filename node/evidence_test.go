package node

import (
	"slices"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// Two copies of one directory run at once, each with a neighbour of its own, until both
// have published the same round. When the neighbours meet they find out, tell their
// owners, end the edge and remember it. The proof convinces anybody.
//
// A copy that hears that the other is ahead stops, and then there may be no round of both: other
// copies have to run.
func TestACopiedDirectoryThatRunsTwiceIsProven(t *testing.T) {
	t.Parallel()
	var c copies
	for attempt, proven := 0, false; !proven; attempt++ {
		if attempt == 20 {
			t.Fatal("no two copies of 20 were found out")
		}
		c = runTwice(t)
		require.Eventually(t, "the copies are found out, and the edge is given up, or one stops", func() bool {
			proven = c.provenTo(t, c.first) && c.provenTo(t, c.second)
			return proven || !status(t, c.again).Running || !status(t, c.twin).Running
		})
	}
	n, first, second, stop := c.again, c.first, c.second, c.stop
	for _, honest := range []*Node{first, second} {
		if !slices.ContainsFunc(eventsUntil(t, honest, api.EventRefused), func(e api.Event) bool { return e.Kind == api.EventRefused && e.Peer == n.self.String() && e.Round > 0 }) {
			t.Error("the owner is not told")
		}
	}
	if s := status(t, first); s.Traffic.Rejected > 0 {
		t.Errorf("%d messages of honest peers were rejected", s.Traffic.Rejected)
	}
	list, err := first.Evidence(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckEvidence(list[0]); err != nil {
		t.Error(err)
	}
	list[0].Author = second.self.String()
	if CheckEvidence(list[0]) == nil {
		t.Error("it convicts another node too")
	}
	stop()
	if list, err := second.Evidence(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("after the run: %d pieces, %v", len(list), err)
	}
}

// copies are two nodes of one directory, and their neighbours, which have heard them and meet.
type copies struct {
	again, twin, first, second *Node
	stop                       func() // of second
}

func runTwice(t *testing.T) (c copies) {
	t.Helper()
	c.first, _ = listener(t, nil)
	c.second, c.stop = listener(t, nil)
	n := talker(t, 1, waitForAddrs(t, c.first))
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	c.twin = openNode(t, copyDir(t, n.dir))
	c.twin.files.Config.Bootstrap = waitForAddrs(t, c.second)
	c.again = openNode(t, n.dir)
	startWhich(t, c.again, ErrRolledBack)
	startWhich(t, c.twin, ErrRolledBack)
	waitUntilHeard(t, n, 0, c.first, c.second)
	if _, err := c.second.AddPeer(t.Context(), waitForAddrs(t, c.first)[0]); err != nil {
		t.Fatal(err)
	}
	return c
}

// provenTo reports whether a neighbour has the proof, and refuses the copies for it.
func (c copies) provenTo(t *testing.T, honest *Node) bool {
	list, err := honest.Evidence(t.Context())
	neighbours, wrong := honest.Neighbours(t.Context())
	id := c.again.self.String()
	return err == nil && wrong == nil && len(list) == 1 && list[0].Author == id &&
		!slices.ContainsFunc(neighbours.Neighbours, func(p api.Peer) bool { return p.ID == id }) &&
		slices.ContainsFunc(neighbours.Refused, func(r api.Refused) bool {
			return r.Peer == id && strings.Contains(r.Reason, "two different models for round") && r.Until == nil
		})
}
