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
func TestACopiedDirectoryThatRunsTwiceIsProven(t *testing.T) {
	t.Parallel()
	first, _ := listener(t, nil)
	second, stop := listener(t, nil)
	n := talker(t, 1, waitForAddrs(t, first))
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	twin := openNode(t, copyDir(t, n.dir))
	twin.files.Config.Bootstrap = waitForAddrs(t, second)
	again := openNode(t, n.dir)
	// A copy that hears of the other one stops by itself.
	startWhich(t, again, ErrRolledBack)
	startWhich(t, twin, ErrRolledBack)
	waitUntilHeard(t, n, 0, first, second)
	if _, err := second.AddPeer(t.Context(), waitForAddrs(t, first)[0]); err != nil {
		t.Fatal(err)
	}
	for _, honest := range []*Node{first, second} {
		require.Eventually(t, "the copies are found out, and the edge is given up", func() bool {
			list, err := honest.Evidence(t.Context())
			neighbours, wrong := honest.Neighbours(t.Context())
			return err == nil && wrong == nil && len(list) == 1 && list[0].Author == n.self.String() &&
				!slices.ContainsFunc(neighbours.Neighbours, func(p api.Peer) bool { return p.ID == n.self.String() }) &&
				slices.ContainsFunc(neighbours.Refused, func(r api.Refused) bool {
					return r.Peer == n.self.String() && strings.Contains(r.Reason, "two different models for round") && r.Until == nil
				})
		})
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
