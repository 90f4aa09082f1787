package learner

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"p2pnode/internal/vector"
)

// runningMean is the mean of models that a neighbour sent. The k-th has weight k
// (Lacoste-Julien, Schmidt, Bach, "A simpler approach to obtaining an O(1/t) convergence
// rate for the projected stochastic subgradient method", 2012): each has noise of its own,
// and the later ones have learned more.
type runningMean struct {
	model  []float64 // nil: of none
	models int
	round  uint64 // of the newest in it
}

// average adds to the neighbours' means what is newer than they are. An agent does so when it
// releases or, in rounds, when it combines, so of what it hears in between, the newest counts.
// A mean
// never reaches further back than over as many models as a record pays for, because what
// people learn changes with their records.
func (n *neighbourhood) average(t *Task) {
	if n.means == nil {
		n.means = make([]runningMean, len(n.edges))
	}
	for i := range n.latest {
		if n.latest[i].round > n.means[i].round {
			n.means[i].add(&n.latest[i], t.Release.Releases)
			t.single(n.means[i].model, n.latest[i].noiseStd)
		}
	}
}

// add takes a model into the mean, as the one of that number at most.
func (r *runningMean) add(l *latest, most int) {
	if r.model == nil {
		r.model = make([]float64, len(l.model))
	}
	r.round, r.models = l.round, min(r.models, most-1)+1
	share := 2 / float64(1+r.models)
	floats.Scale(1-share, r.model)
	vector.AddScaled(r.model, share, l.model)
}

// store writes the mean into the form of [State].
func (r *runningMean) store(h *Heard) {
	if r.model != nil {
		h.Mean, h.Models = slices.Clone(r.model), r.models
	}
}

// resumeMean restores what store wrote of edge i, which has the newest model.
func (n *neighbourhood) resumeMean(i int, h *Heard, p int) error {
	switch {
	case h.Mean == nil && h.Models == 0:
		return nil
	case len(h.Mean) != p || !finite(h.Mean) || h.Models < 1:
		return fmt.Errorf("learner: the saved mean of the models of %s does not fit the task", h.Peer)
	}
	if n.means == nil {
		n.means = make([]runningMean, len(n.edges))
	}
	n.means[i] = runningMean{slices.Clone(h.Mean), h.Models, h.Round}
	return nil
}
