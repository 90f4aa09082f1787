package node

import (
	"strings"
	"testing"

	"p2pnode/gossip"
)

// Who may be a neighbour: by the owner's list, and by the roles of learner polar.
func TestWhoMayBeANeighbour(t *testing.T) {
	c := DefaultConfig(lineTask())
	c.Neighbours = []string{"nobody"}
	if err := c.Validate(lineTask()); err == nil || !strings.Contains(err.Error(), `key "neighbours"`) {
		t.Errorf("a list with no peer ID: %v", err)
	}
	friend, stranger := randomPeer(t), randomPeer(t)
	listed := attachedSession(t, testNode(t, lineTask(), nil, func(c *Config) { c.Neighbours = []string{friend.String()} }))
	if h := listed.hood; !h.suits(friend) || h.suits(stranger) {
		t.Error("the owner's list is not kept")
	}
	ask := gossip.EdgeRequest{Kind: gossip.EdgeAsk}
	if reply := listed.hood.answer(t.Context(), stranger, ask); reply.Answer == gossip.EdgeAccepted {
		t.Error("a stranger gets an edge")
	}
	if reply := listed.hood.answer(t.Context(), friend, ask); reply.Answer != gossip.EdgeAccepted {
		t.Errorf("the friend is declined: %s", reply.Reason)
	}
	task := lineTask()
	task.Learner, task.Polar.Servers = "polar", []string{friend.String()}
	client := &neighbourhood{task: task, host: listed.host}
	if client.suits(stranger) || !client.suits(friend) {
		t.Error("a client takes another client, or no server")
	}
	task.Polar.Servers = append(task.Polar.Servers, listed.host.ID().String())
	if !client.suits(stranger) || !client.suits(friend) {
		t.Error("a server takes not everybody")
	}
}
