package testnet

import "fmt"

// Files a node has open: its database and its listener, and its end of each
// connection: one to each neighbour, of which a node of a random graph has half
// again as many as it seeks, because others seek it too, and few to others.
const (
	ownFiles      = 2
	edgesPerSeek  = 1.5
	sparesPerNode = 3
	otherFiles    = 200 // of the process
)

// fits reports whether so many nodes can run in one process that may open limit
// files.
func fits(nodes, degree int, limit uint64) error {
	each := ownFiles + edgesPerSeek*float64(min(degree, nodes-1)) + sparesPerNode
	need := uint64(float64(nodes)*each) + otherFiles
	if need <= limit {
		return nil
	}
	most := float64(limit-min(limit, otherFiles)) / each
	return fmt.Errorf("%d real nodes need about %d open files and this process may have %d; take at most %d, raise the limit, or simulate",
		nodes, need, limit, int(most))
}
