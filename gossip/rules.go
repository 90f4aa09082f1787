package gossip

import (
	"errors"
	"fmt"
	"math"

	"p2pnode/gossip/internal/wire"
	"p2pnode/learner"
)

// checkRules reports whether every message the rules allow fits on the wire, and
// whether all kinds are known.
func checkRules(r learner.Rules) error {
	if len(r) == 0 {
		return errors.New("gossip: Rules must allow some kind of message")
	}
	for kind, rule := range r {
		values := rule.Reals + rule.Ring
		if rule.Reals < 0 || rule.Ring < 0 || values < 1 || values > (maxMessageSize-headerSize)/8 {
			return fmt.Errorf("gossip: %d coordinates do not fit in a message of %d bytes", values, maxMessageSize)
		}
		if !(rule.Radius > 0) && rule.Reals > 0 {
			return fmt.Errorf("gossip: radius %v is not a positive number", rule.Radius)
		}
		if kind != learner.KindModel && !kind.Directed() {
			return fmt.Errorf("gossip: kind %d is not known", kind)
		}
	}
	return nil
}

// largest is the most bytes a message of any allowed kind can have.
func largest(r learner.Rules) int {
	return max(largestOf(r, learner.Kind.Directed), largestOf(r, func(k learner.Kind) bool { return !k.Directed() }))
}

// largestDirected is the largest size of the messages to one peer.
func largestDirected(r learner.Rules) int { return largestOf(r, learner.Kind.Directed) }

func largestOf(r learner.Rules, has func(learner.Kind) bool) int {
	values := 0
	for kind, rule := range r {
		if has(kind) {
			values = max(values, rule.Reals+rule.Ring)
		}
	}
	return 8*values + headerSize
}

// admit checks a message of an author. All errors wrap errMalformed and say
// nothing of the values.
func admit(r learner.Rules, w *wire.Model, real []float64, from learner.ID) error {
	if w.Version != Version {
		return malformed("version %d, not %d", w.Version, Version)
	}
	if w.Kind > math.MaxUint8 {
		return malformed("unknown kind %d", w.Kind)
	}
	rule, ok := r[learner.Kind(w.Kind)]
	switch {
	case !ok:
		return malformed("kind %d is not for this node", w.Kind)
	case rule.From != nil && !rule.From(from):
		return malformed("kind %d from a peer that may not send it", w.Kind)
	}
	return checkShape(&rule, w, real)
}

func checkShape(r *learner.Rule, w *wire.Model, real []float64) error {
	switch {
	case w.Round == 0 || r.Last > 0 && w.Round > r.Last:
		return malformed("round %d is out of range", w.Round)
	case w.Attempt > r.Attempt:
		return malformed("attempt %d of at most %d", w.Attempt, r.Attempt)
	case uint64(w.Degree) > uint64(r.Degree):
		return malformed("degree %d of at most %d", w.Degree, r.Degree)
	case len(w.Value) > 0 && len(w.Single) > 0:
		return malformed("coordinates in single and in double precision")
	case len(real) != r.Reals || len(w.Ring) != r.Ring:
		return malformed("%d and %d coordinates, not %d and %d", len(real), len(w.Ring), r.Reals, r.Ring)
	case !(w.NoiseStd >= 0) || math.IsInf(w.NoiseStd, 1):
		return malformed("the noise level must be a finite number >= 0")
	case !inBall(real, r.Radius):
		return malformed("the values are not finite or lie outside the public ball")
	}
	return nil
}

// ballSlack forgives the rounding of a sender that projects onto the ball.
const ballSlack = 1e-9

// inBall reports whether v is finite and has l2 norm at most radius, up to the
// slack. All machines must agree, or a node would blame one that passes a model on, so
// nothing is rounded less than it says (no fused multiplication). A sum that overflows lies in the infinite ball only; a NaN anywhere makes
// it NaN, which fails the comparison.
func inBall(v []float64, radius float64) bool {
	var sum float64
	for _, x := range v {
		if math.IsInf(x, 0) {
			return false
		}
		sum += float64(x * x)
	}
	return math.Sqrt(sum) <= radius*(1+ballSlack)
}
