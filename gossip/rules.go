package gossip

import (
	"errors"
	"fmt"
	"math"

	"p2pnode/gossip/internal/wire"
	"p2pnode/learner"
)

// Rules say which messages this node takes, by kind. A kind without a rule is
// malformed: no honest node sends one here.
type Rules map[learner.Kind]Rule

// Rule is what the messages of one kind look like, and who may send them. It
// follows from what the nodes of a network agree on, so that whoever breaks it
// is no honest node.
type Rule struct {
	Reals   int     // exact number of real coordinates
	Radius  float64 // the reals lie in the l2 ball of this radius around zero; +Inf: they are finite
	Ring    int     // exact number of elements of Z_2^64
	Last    uint64  // the highest round; 0: there is none
	Attempt uint32  // the highest attempt
	Degree  int     // the largest degree
	// From says whether an author may send this kind to this node; nil: everybody
	// whom the node follows may.
	From func(learner.ID) bool
}

// check reports whether every message the rules allow fits on the wire, and
// whether all kinds are known.
func (r Rules) check() error {
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
		if kind != learner.KindModel && !directed(kind) {
			return fmt.Errorf("gossip: kind %d is not known", kind)
		}
	}
	return nil
}

// directed reports whether messages of a kind go to one peer.
func directed(k learner.Kind) bool { return k >= learner.KindAck && k <= learner.KindMasked }

// largest is the most bytes a message of any allowed kind can have.
func (r Rules) largest() int {
	values := 0
	for _, rule := range r {
		values = max(values, rule.Reals+rule.Ring)
	}
	return 8*values + headerSize
}

// admit checks a message of an author. All errors wrap errMalformed and say
// nothing of the values.
func (r Rules) admit(w *wire.Model, from learner.ID) error {
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
	return rule.admit(w)
}

func (r *Rule) admit(w *wire.Model) error {
	switch {
	case w.Round == 0 || r.Last > 0 && w.Round > r.Last:
		return malformed("round %d is none", w.Round)
	case w.Attempt > r.Attempt:
		return malformed("attempt %d of at most %d", w.Attempt, r.Attempt)
	case uint64(w.Degree) > uint64(r.Degree):
		return malformed("degree %d of at most %d", w.Degree, r.Degree)
	case len(w.Value) != r.Reals || len(w.Ring) != r.Ring:
		return malformed("%d and %d coordinates, not %d and %d", len(w.Value), len(w.Ring), r.Reals, r.Ring)
	case !(w.NoiseStd >= 0) || math.IsInf(w.NoiseStd, 1):
		return malformed("the noise level is no finite number >= 0")
	case !inBall(w.Value, r.Radius):
		return malformed("the values are not finite or lie outside the public ball")
	}
	return nil
}

// ballSlack forgives the rounding of a sender that projects onto the ball.
const ballSlack = 1e-9

// inBall reports whether v is finite and has l2 norm at most radius, up to the
// slack. A sum that overflows lies in the infinite ball only; a NaN anywhere makes
// it NaN, which fails the comparison.
func inBall(v []float64, radius float64) bool {
	var sum float64
	for _, x := range v {
		if math.IsInf(x, 0) {
			return false
		}
		sum += x * x
	}
	return math.Sqrt(sum) <= radius*(1+ballSlack)
}
