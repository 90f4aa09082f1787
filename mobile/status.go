package mobile

import (
	"context"

	"p2pnode/node/api"
)

// StatusJSON returns the state: {"state":"running", "reason":"", "queued":…, "age_millis":…,
// "node":{…}}. state is one of "off" (not started), "waiting", "paused", "starting",
// "running", "failed"; reason says in words what it waits for or why it failed. node is
// what p2pnode status --json prints; its personal compares the newest model, and is
// null until there is one. While the node is busy, node is that of a moment ago,
// age_millis old.
func (n *Node) StatusJSON() (statusJSON string, err error) {
	return n.json(func() (any, error) {
		ctx, cancel := context.WithTimeout(n.ctx, userWait)
		defer cancel()
		progress, age, err := n.progress.get(ctx)
		if err != nil {
			return nil, err
		}
		progress.Personal = n.comparison.Load()
		_, queued := n.queue.lengths()
		return struct {
			state
			Queued    int        `json:"queued"`
			AgeMillis int64      `json:"age_millis"`
			Node      api.Status `json:"node"`
		}{n.driver.now(), queued, age.Milliseconds(), progress}, nil
	})
}

// BudgetJSON returns what p2pnode budget --json prints: the privacy spent and left. It
// waits while the node is busy, a second or so.
func (n *Node) BudgetJSON() (budgetJSON string, err error) {
	return n.json(func() (any, error) { return n.node.Budget(n.ctx) })
}

// PeersJSON returns the neighbours, and the peers that the node can start from:
// {"neighbours":[…], "acquaintances":[…]}. It waits while the node is busy, a second
// or so.
func (n *Node) PeersJSON() (peersJSON string, err error) {
	return n.json(func() (any, error) {
		neighbours, err := n.node.Peers(n.ctx)
		if err != nil {
			return nil, err
		}
		acquaintances, err := n.node.Acquaintances(n.ctx)
		return struct {
			Neighbours    []api.Peer         `json:"neighbours"`
			Acquaintances []api.Acquaintance `json:"acquaintances"`
		}{neighbours, acquaintances}, err
	})
}

// TaskJSON describes the task: {"name":…, "network":…, "loss":…, "columns":[{"name":…,
// "kind":"number", "min":…, "max":…, "log":…, "values":[…], "edges":[…], "bends":[…],
// "parts":[…], "at":…, "length":…}], "length":…, "target":{"name":…, "classes":[…],
// "min":…, "max":…, "log":…}}; what a column or the target does not have is left out. A vector of features has length numbers in all;
// those of a column begin at "at": one for kinds number, range and key (NaN: unknown),
// for a time seconds or milliseconds since 1970 (NaN: unknown), one 0 or 1 for each value
// of a set, the numbers of a vector (all NaN: unknown).
func (n *Node) TaskJSON() (taskJSON string, err error) {
	return n.json(func() (any, error) { return describeTask(n.node.Task()), nil })
}

// DiagnoseJSON finds out whether others can reach this node and what to do if not, as
// p2pnode doctor --json. It takes up to six seconds, and calls the peers to start from
// whatever the conditions, in a pause too.
func (n *Node) DiagnoseJSON() (diagnosisJSON string, err error) {
	return n.json(func() (any, error) { return n.node.Doctor(n.ctx) })
}
