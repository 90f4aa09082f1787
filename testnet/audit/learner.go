package audit

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// Learners lists the learners that can be audited: those whose releases are sums of
// clipped per-record gradients, and [Sums]. The others release a whole vector; tests of
// package learner check its sensitivity by brute force.
func Learners() []string { return append(releasing(), Sums) }

func releasing() []string { return []string{"personal", "diffusion", "km"} }

// of returns the task for the learner with that name.
func of(name string, t *learner.Task) (*learner.Task, error) {
	if !slices.Contains(releasing(), name) {
		return nil, fmt.Errorf("audit: there is no learner %q, choose one of %q", name, Learners())
	}
	t.Learner = name
	if name != "personal" {
		t.Rounds = learner.Rounds{Seconds: 1, Step: 1e-6}
	}
	switch name {
	case "diffusion":
		t.Diffusion = learner.Diffusion{Noise: "iid"}
	case "km":
		t.KM = learner.KM{Operator: "gradient", Relaxation: 1}
	}
	return t, nil
}

// newAgent makes the agent of a task.
func newAgent(t *learner.Task, p privacy.Policy, schedule *rand.Rand) (learner.Agent, error) {
	return learner.New(learner.Config{Self: "audited", Task: t, Policy: p, WakeMean: 1, Schedule: schedule})
}
