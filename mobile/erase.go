package mobile

// LeaveAndErase tells the neighbours that the node leaves, stops it, and erases the
// data directory: examples, models, ledger, identity. What was released stays with
// those who heard it. It returns within fifteen seconds.
func (n *Node) LeaveAndErase() (err error) {
	defer guard(&err)
	return errNotBuilt
}
