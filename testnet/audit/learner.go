package audit

import (
	"fmt"
	"math/rand/v2"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// newAgent makes the agent of the learner with that name. A new learner whose
// releases are sums of clipped per-record gradients needs a line here, and its
// name in [Learners].
func newAgent(name string, t *learner.Task, p privacy.Policy, schedule *rand.Rand) (learner.Agent, error) {
	switch name {
	case "personal":
		return learner.New(learner.Config{Self: "audited", Task: t, Policy: p, WakeMean: 1, Schedule: schedule})
	}
	return nil, fmt.Errorf("audit: there is no learner %q, choose one of %q", name, Learners())
}

// Learners are the names of the learners that can be audited.
func Learners() []string { return []string{"personal"} }
