package mobile

// Node is one participant in the app's process. There may be several, each with a
// directory of its own.
type Node struct{}

// NewNode opens the data directory, and makes it first if it is empty: a new identity,
// a new ledger. It touches no network. l may be nil. It may take a second or two with
// many examples. It fails with [CodeBusy] if another node has the directory open,
// and with [CodeTask] if it belongs to another task.
func NewNode(c *Config, l Listener) (n *Node, err error) {
	defer guard(&err)
	return nil, errNotBuilt
}

// Start lets the node take part in the network whenever the conditions allow it, until
// [Node.Pause] or [Node.Stop]. It returns at once; events tell what came of it. A
// second Start changes nothing.
func (n *Node) Start() (err error) {
	defer guard(&err)
	return errNotBuilt
}

// Stop ends everything and closes the directory. It returns within ten seconds, with
// [CodeBusy] if something has not ended by then, which goes on ending by itself; call
// it again to know. A second Stop changes nothing. Every later call of another method
// fails with [CodeStopped]; no callback begins after Stop has returned.
func (n *Node) Stop() (err error) {
	defer guard(&err)
	return errNotBuilt
}

// Pause leaves the network until [Node.Resume]: no socket stays open, the directory
// does, and examples, predictions and fits go on. reason is what the state says, as
// "in the background". It returns within ten seconds, as Stop does.
func (n *Node) Pause(reason string) (err error) {
	defer guard(&err)
	return errNotBuilt
}

// Resume ends a pause, and returns at once.
func (n *Node) Resume() (err error) {
	defer guard(&err)
	return errNotBuilt
}

// Train does one slice of work, for WorkManager and BGProcessingTask: writes what
// waits, takes part in the network while the conditions allow it, and brings the
// personal model up to date, whether the node was started or not. It takes at most
// maxMillis milliseconds and about a second more, and less when nothing is left to do
// or when the node is stopped or paused meanwhile. The JSON says what was done:
//
//	{"millis":…, "online_millis":…, "waiting":"for Wi-Fi", "stored":…, "releases":…, "heard":…, "fitted":true}
func (n *Node) Train(maxMillis int) (resultJSON string, err error) {
	defer guard(&err)
	return "", errNotBuilt
}

// LeaveAndErase tells the neighbours that the node leaves, stops it, and erases the
// data directory: examples, models, ledger, identity. What was released stays with
// those who heard it. It returns within fifteen seconds.
func (n *Node) LeaveAndErase() (err error) {
	defer guard(&err)
	return errNotBuilt
}
