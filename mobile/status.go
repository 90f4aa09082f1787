package mobile

// StatusJSON returns the state: {"state":"running", "reason":"", "queued":…, "age_millis":…,
// "node":{…}}. state is one of "off" (not started), "waiting", "paused", "starting",
// "running", "failed"; reason says in words what it waits for or why it failed. node is
// what p2pnode status --json prints, personal included. While the node is busy it is
// the state of a moment ago, age_millis old.
func (n *Node) StatusJSON() (statusJSON string, err error) {
	defer guard(&err)
	return "", errNotBuilt
}

// BudgetJSON returns what p2pnode budget --json prints: the privacy spent and left.
func (n *Node) BudgetJSON() (budgetJSON string, err error) {
	defer guard(&err)
	return "", errNotBuilt
}

// PeersJSON returns the neighbours, and the peers that the node can start from:
// {"neighbours":[…], "acquaintances":[…]}.
func (n *Node) PeersJSON() (peersJSON string, err error) {
	defer guard(&err)
	return "", errNotBuilt
}

// TaskJSON describes the task: {"name":…, "network":…, "loss":…, "columns":[{"name":…,
// "kind":"number", "min":…, "max":…, "values":[…], "at":…, "length":…}], "length":…,
// "target":{"name":…, "classes":[…], "min":…, "max":…}}. A vector of features has
// length numbers in all; those of a column begin at "at": one for kinds number and
// range (NaN: unknown, for range only), one 0 or 1 for each value of a set.
func (n *Node) TaskJSON() (taskJSON string, err error) {
	defer guard(&err)
	return "", errNotBuilt
}

// DiagnoseJSON finds out whether others can reach this node and what to do if not, as
// p2pnode doctor --json. It takes up to six seconds.
func (n *Node) DiagnoseJSON() (diagnosisJSON string, err error) {
	defer guard(&err)
	return "", errNotBuilt
}
