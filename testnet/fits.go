package testnet

import "fmt"

// The files that a node has open: its database, its listener, and its end of each
// connection. It has a connection to each neighbour (in a random graph half again as
// many as it seeks, because others seek it too) and a few others.
const (
	ownFiles      = 2
	edgesPerSeek  = 1.5
	sparesPerNode = 3
	otherFiles    = 200 // files of the process itself
)

// MostNodes is how many real nodes, each seeking degree neighbours, can run in this
// process with the files that it may open.
func MostNodes(degree int) int { return mostNodes(degree, openFiles()) }

func mostNodes(degree int, limit uint64) int {
	return int(float64(limit-min(limit, otherFiles)) / filesEach(degree))
}

func filesEach(degree int) float64 { return ownFiles + edgesPerSeek*float64(degree) + sparesPerNode }

// fits reports whether this many nodes can run in one process that may open limit
// files.
func fits(nodes, degree int, limit uint64) error {
	degree = min(degree, nodes-1)
	need := uint64(float64(nodes)*filesEach(degree)) + otherFiles
	if need <= limit {
		return nil
	}
	return fmt.Errorf("%d real nodes need about %d open files and this process may have %d; take at most %d, raise the limit, or simulate",
		nodes, need, limit, mostNodes(degree, limit))
}
