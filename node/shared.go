package node

import (
	"sync"

	"p2pnode/learner"
)

// Shared is what many nodes of one task in one process need not work out for each: public
// things alone. The zero value shares nothing that was known before. It is safe for
// concurrent use.
type Shared struct {
	// Catalogue is that of the task's key; nil: each node reads its directory's.
	Catalogue *learner.Catalogue

	mu         sync.Mutex
	name       string // of the sums that newest was read from
	newest     *learner.Population
	newestFail error
}

// population reads opened sums, which have a name.
func (s *Shared) population(name string, known []learner.Opened) (*learner.Population, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.name != name {
		s.name = name
		s.newest, s.newestFail = learner.NewPopulation(known...)
	}
	return s.newest, s.newestFail
}
