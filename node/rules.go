package node

import (
	"math"
	"slices"

	"p2pnode/gossip"
	"p2pnode/learner"
)

// The limits of what a neighbour may say beside a model.
const (
	maxDegree   = 256     // neighbours it counts
	maxAttempts = 1 << 24 // of masking one round again: one each deadline of an outage
)

// rules say which messages a node takes from its neighbours. They follow from the
// task and from who sends to whom, which everybody knows, so that whoever breaks
// them is no honest node.
func rules(t *learner.Task, self learner.ID) gossip.Rules {
	last := uint64(t.Rounds.Count)
	model := gossip.Rule{Reals: t.Dimension(), Radius: t.Radius, Last: last}
	switch {
	case t.Learner == "polar":
		return polarRules(t, self, model)
	case inRounds(t):
		model.Degree = maxDegree
		return gossip.Rules{
			learner.KindModel: model,
			learner.KindAck:   {Reals: 1, Radius: 1, Last: last},
		}
	}
	return gossip.Rules{learner.KindModel: model}
}

// polarRules: servers broadcast models, the last of them after the last round,
// clients send gradients to servers, and servers send masks and masked states to
// one another.
func polarRules(t *learner.Task, self learner.ID, model gossip.Rule) gossip.Rules {
	server := func(id learner.ID) bool { return isServer(t, id) }
	client := func(id learner.ID) bool { return !isServer(t, id) }
	gradient := gossip.Rule{Reals: t.Dimension(), Radius: gradientRadius(t), Last: model.Last, From: client}
	masked := gossip.Rule{Ring: t.Dimension(), Last: model.Last, Attempt: maxAttempts, From: server}
	model.From = server
	if model.Last > 0 {
		model.Last++
	}
	all := gossip.Rules{learner.KindModel: model}
	if !server(self) {
		return all
	}
	all[learner.KindGradient], all[learner.KindMask], all[learner.KindMasked] = gradient, masked, masked
	return all
}

func isServer(t *learner.Task, id learner.ID) bool {
	return slices.Contains(t.Polar.Servers, string(id))
}

// gradientRadius bounds an obfuscated gradient W g + d (BUC of Gade and Vaidya), g
// with the regulariser's share at a model in the ball. Noise inside it has no bound.
func gradientRadius(t *learner.Task) float64 {
	if t.Polar.Private {
		return math.Inf(1)
	}
	gradient := max(t.Clip, t.GradientBound()) + 2*t.Lambda*t.Radius
	return t.Polar.Bound*gradient + t.Polar.Additive
}

// inRounds reports whether the agents of a task wait for each other's rounds.
func inRounds(t *learner.Task) bool { return t.Rounds != learner.Rounds{} }

// roundsKept is how many rounds of a neighbour wait for a learner in rounds: one
// that is ahead may be followed round by round, and a late one jumps.
const roundsKept = 4

// inboxDepth is how many messages of a neighbour and kind can wait for the agent.
func inboxDepth(t *learner.Task) int {
	if inRounds(t) {
		return roundsKept
	}
	return 1
}
