package schemes

import (
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// holder is an agent of learner diffusion with what only its owner knows: the stream of
// its records, and the model w_k, which can be computed here because the seed of the
// noise is known.
type holder struct {
	learner.Agent
	scheme string               // of learner.Diffusion
	edges  []learner.Edge       // its own edges
	self   float64              // a_kk
	lazy   int                  // divisor of the others' weights
	stream *rand.Rand           // source of new records; nil: they stay the same
	record []float64            // the features of the one record that a stream has
	slots  int                  // the number of records
	twin   *privacy.SeededNoise // draws what the door draws
	asked  *learner.Query       // waiting for the door
	noise  []float64            // v of the last round; nil: none
	held   [][]float64          // w_k before round 1, 2, ...
}

// watch returns the agent to run instead of the one it holds.
func (h *holder) watch() learner.Agent { return sim.Through(h, h.said) }

// said notes w_k whenever a round begins. The gradients of that round have been
// computed, so a stream goes on to its next record, which replaces the last one, as if
// the agent had only one record at any time.
func (h *holder) said(out learner.Output) learner.Output {
	if h.asked = out.Ask; out.Ask == nil {
		return out
	}
	h.held = append(h.held, h.model())
	if h.stream != nil {
		drawFeatures(h.stream, h.record)
	}
	return out
}

// model is w_k: the public mix, in which the own part a_kk psi = a_kk (phi + v) is
// replaced by a_kk (phi + c v).
func (h *holder) model() []float64 {
	w := h.State().Model
	if h.noise != nil {
		share := h.self // a_kk (1 - c)
		if h.scheme == homomorphic {
			share = 1
		}
		floats.AddScaled(w, -share, h.noise)
	}
	return w
}

// Receive implements [learner.Agent]. A Metropolis weight is 1/(1 + the larger of two
// degrees). It divides the others' weights by lazy, by telling both ends a degree that
// much larger: .8 I + .2 A for lazy 5.
func (h *holder) Receive(now time.Duration, m learner.Message) (learner.Output, error) {
	if m.Kind == learner.KindModel {
		m.Degree = h.lazy*(1+max(len(h.edges), m.Degree)) - 1
	}
	return h.Agent.Receive(now, m)
}

// Released implements [learner.Agent]. For a whole vector it draws the noise again.
func (h *holder) Released(now time.Duration, a privacy.Answer) learner.Output {
	if m := h.asked.Mechanism; h.scheme != iid && m.Protected() && !a.Exhausted() {
		zero := make([]float64, len(a.Sum))
		h.noise = h.twin.Answer(m, []privacy.Sum{m.NewBounded(1, h.slots, zero)}).Sum
		floats.Scale(1/float64(h.slots), h.noise)
	}
	return h.Agent.Released(now, a)
}
