package node

import (
	"sync"

	"p2pnode/learner"
)

// Shared holds what many nodes of one task in one process need to work out only once. It
// holds public values only. The zero value holds nothing at first. It is safe for
// concurrent use.
type Shared struct {
	// Catalogue is that of the task's key; nil: each node reads the one in its directory.
	Catalogue *learner.Catalogue

	mu         sync.Mutex
	name       string // identifies the sums from which newest was read
	newest     *learner.Population
	newestFail error
}

// population reads opened sums. name identifies them.
func (s *Shared) population(name string, known []learner.Opened) (*learner.Population, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.name != name {
		s.name = name
		s.newest, s.newestFail = learner.NewPopulation(known...)
	}
	return s.newest, s.newestFail
}
