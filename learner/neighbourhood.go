package learner

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"p2pnode/internal/vector"
)

// neighbourhood is an agent's edges with the newest shared model heard over
// each.
type neighbourhood struct {
	self      ID
	workspace *Workspace    // nil: new memory every time
	listening bool          // some neighbour listens
	byNoise   bool          // in the shared step models count by their [precision]
	edges     []Edge        // sorted by peer
	latest    []latest      // one for each edge
	means     []runningMean // one for each edge; nil: none are kept
	screened  *screen       // marks the edges whose models the mean leaves out; nil: none

	scratch []float64 // working memory
}

// latest is the newest model that a neighbour sent, and what the agent reads of it at
// each wake.
type latest struct {
	model    []float64 // nil before the first
	round    uint64    // 0: none yet
	noiseStd float64
	weight   float64 // of the edge
}

// screen marks the models heard over the edges that honest noise does not explain. own
// is the agent's model, or what that was before its own release, whose noise would hide
// what neighbours add; ownStd is the noise in it, and drawn what the agent drew for the
// release. Few edges need no memory for it.
func (n *neighbourhood) screen(heard []latest, own []float64, ownStd, drawn float64) {
	if n.screened == nil {
		if len(n.edges) < enoughToJudge {
			return
		}
		n.screened = &screen{}
	}
	n.screened.judge(n.edges, heard, own, ownStd, drawn)
}

// set replaces the edges and keeps the models heard over those that stay. It ignores
// edges without a positive finite weight, edges to the agent itself, and second edges
// to a peer.
func (n *neighbourhood) set(edges []Edge) {
	if !n.among(edges) {
		n.replace(edges)
	} else {
		copy(n.edges, edges)
	}
	n.listening = false
	for i, e := range n.edges {
		n.latest[i].weight = e.Weight
		n.listening = n.listening || e.Live
	}
}

// among reports whether the edges lead to the peers of the present ones, in the same
// order, and are all usable.
func (n *neighbourhood) among(edges []Edge) bool {
	return slices.EqualFunc(n.edges, edges, func(a, b Edge) bool { return a.Peer == b.Peer && n.usable(b) })
}

func (n *neighbourhood) usable(e Edge) bool {
	return e.Weight > 0 && !math.IsInf(e.Weight, 0) && e.Peer != n.self
}

// replace is set for edges to other peers.
func (n *neighbourhood) replace(edges []Edge) {
	fresh := n.workspace.newEdges(len(edges))[:0]
	for _, e := range edges {
		if n.usable(e) {
			fresh = append(fresh, e)
		}
	}
	slices.SortStableFunc(fresh, func(a, b Edge) int { return cmp.Compare(a.Peer, b.Peer) })
	fresh = slices.CompactFunc(fresh, func(a, b Edge) bool { return a.Peer == b.Peer })
	list := n.workspace.newLatest(len(fresh))
	var means []runningMean
	if n.means != nil {
		means = make([]runningMean, len(fresh))
	}
	for i, e := range fresh {
		if k, found := findEdge(n.edges, e.Peer); found {
			list[i] = n.latest[k]
			if n.means != nil {
				means[i] = n.means[k]
			}
		}
	}
	n.edges, n.latest, n.means = fresh, list, means
}

func findEdge(edges []Edge, peer ID) (int, bool) {
	return slices.BinarySearchFunc(edges, peer, func(e Edge, id ID) int { return cmp.Compare(e.Peer, id) })
}

// hear takes a neighbour's model of p parameters if it is newer than the last.
func (n *neighbourhood) hear(m *Message, p int) error {
	i, found := findEdge(n.edges, m.From)
	if !found {
		return ErrStranger
	}
	return n.latest[i].hear(m, p)
}

// hear takes a model of p parameters if it is newer than the last.
func (l *latest) hear(m *Message, p int) error {
	if m.Kind != KindModel || len(m.Real) != p || !finite(m.Real) || !deviation(m.NoiseStd) {
		return ErrShape
	}
	return l.take(m)
}

// deviation reports whether v can be the standard deviation of noise.
func deviation(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }

// take is hear of a model of the right form.
func (l *latest) take(m *Message) error {
	if m.Round <= l.round {
		return ErrStale
	}
	l.round, l.noiseStd, l.model = m.Round, m.NoiseStd, m.Real
	return nil
}

// termsAtOnce is how many models mean adds up before it writes down the sum.
const termsAtOnce = 8

// mean returns sum_j (W_ij/D_i) T_j over the neighbours that were heard and are not
// left out, each model clipped around own (see gossipRadius), in the memory of dst; and
// the standard deviation of the noise in it. W_ij is the weight of the edge, by noise times
// the [precision] of the model. ownStd is the standard deviation of the noise in own. No
// neighbour's counts as more than most, see [believed]. If there are no such neighbours,
// heard is false and mean is own itself, because the agent agrees with itself.
func (n *neighbourhood) mean(dst, own []float64, ownStd, most float64) (mean []float64, std float64, heard bool) {
	usual, models := n.usualNoise()
	most = believed(usual, most)
	usual = n.weighing(usual, models)
	var degree float64
	for i := range n.latest {
		if e := &n.latest[i]; e.round > 0 && !n.screened.leftOut(i) {
			degree += e.weight * precision(e.noiseStd, usual, usual)
		}
	}
	if degree == 0 {
		return own, 0, false
	}
	radius, distances := n.radius(own)
	clear(dst)
	var block [termsAtOnce]vector.Scaled
	terms, kept := block[:0], 0.
	for i := range n.latest {
		e := &n.latest[i]
		if e.round == 0 || n.screened.leftOut(i) {
			continue
		}
		w, distance := e.weight*precision(e.noiseStd, usual, usual)/degree, 0.
		if distances != nil {
			distance = distances[i]
		}
		part := share(w, distance, radius)
		if len(terms) == termsAtOnce {
			vector.AddAllScaled(dst, terms)
			terms = block[:0]
		}
		terms = append(terms, vector.Scaled{X: e.model, By: part})
		kept += w - part
		if e.noiseStd > 0 {
			std = math.Hypot(std, part*min(e.noiseStd, most))
		}
		n.workspace.between()
	}
	vector.AddAllScaled(dst, terms)
	if kept > 0 {
		floats.AddScaled(dst, kept, own)
		std = math.Hypot(std, kept*ownStd)
	}
	return dst, std, true
}

// usualNoise is the function of that name of the models that the mean takes, and how many
// these are.
func (n *neighbourhood) usualNoise() (usual float64, models int) {
	var few [enoughToJudge]float64 // an agent with few neighbours has no memory of its own
	claims := few[:0]
	if len(n.edges) > len(few) {
		n.scratch = slices.Grow(n.scratch[:0], 2*len(n.edges)) // as much as radius takes
		claims = n.scratch
	}
	for i := range n.latest {
		if n.latest[i].round > 0 && !n.screened.leftOut(i) {
			claims = append(claims, n.latest[i].noiseStd)
		}
	}
	return usualNoise(claims), len(claims)
}

// weighing is the function of that name for the shared step, in which so many models count.
func (n *neighbourhood) weighing(usual float64, models int) float64 {
	if !n.byNoise {
		return math.Inf(1)
	}
	return weighing(usual, models, len(n.edges))
}

// radius returns the radius of ClippedGossip around own, and the distance of each
// edge's model. For few neighbours it is infinite, and the distances are not computed.
func (n *neighbourhood) radius(own []float64) (radius float64, distances []float64) {
	if len(n.edges) < enoughToJudge {
		return math.Inf(1), nil
	}
	k := len(n.edges)
	n.scratch = slices.Grow(n.scratch[:0], 2*k)[:2*k]
	distances, heard := n.scratch[:k], n.scratch[k:k]
	for i := range n.latest {
		if n.latest[i].round > 0 {
			distances[i] = floats.Distance(n.latest[i].model, own, 2)
			heard = append(heard, distances[i])
		}
	}
	return gossipRadius(heard, k), distances
}

// heard returns a copy of what was heard, in the form of [State].
func (n *neighbourhood) heard() []Heard {
	var list []Heard
	for i := range n.latest {
		if e := &n.latest[i]; e.round > 0 {
			h := Heard{Peer: n.edges[i].Peer, Weight: e.weight, Round: e.round, NoiseStd: e.noiseStd, Model: slices.Clone(e.model)}
			if n.means != nil {
				n.means[i].store(&h)
			}
			list = append(list, h)
		}
	}
	return list
}

// resume restores what heard returned. It also sets the edges, until the first call of
// set.
func (n *neighbourhood) resume(list []Heard, p int) error {
	edges := make([]Edge, len(list))
	for i, h := range list {
		edges[i] = Edge{Peer: h.Peer, Weight: h.Weight}
	}
	n.set(edges)
	for _, h := range list {
		var heard latest
		if err := heard.hear(h.message(), p); err != nil {
			return fmt.Errorf("learner: the saved model of %s does not fit the task", h.Peer)
		}
		if i, found := findEdge(n.edges, h.Peer); found {
			heard.weight = n.latest[i].weight
			n.latest[i] = heard
			if err := n.resumeMean(i, &h, p); err != nil {
				return err
			}
		}
	}
	return nil
}
