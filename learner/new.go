package learner

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"p2pnode/privacy"
)

// Config describes the agent that New makes.
type Config struct {
	Self     ID             // required; messages carry it as From
	Task     *Task          // required, valid, never changed. Task.Learner chooses the agent
	Policy   privacy.Policy // the mechanisms of the releases
	Made     int            // how many of the policy's mechanisms were used before
	WakeMean float64        // mean time between wakes in seconds, > 0; learners in rounds need one too, and do not use it
	Schedule *rand.Rand     // required; draws the wake times and nothing else
	// Masks is the source of masks and obfuscations, for learners that need it. In a
	// node it must be cryptographic. nil: none.
	Masks  rand.Source
	Resume *State // nil: start at zero, like every new agent
	// Spent reports whether a cohort can pay for no more releases, so that newer ones need
	// not pay alone to find that out. The agent calls it while it handles an input, and
	// only if there is more than one cohort. nil: the door's answers tell.
	Spent func(privacy.Cohort) bool
	// Workspace is shared by all agents that one goroutine drives. nil: the agent
	// allocates what it returns, and the caller may keep it.
	Workspace *Workspace
}

// New returns the agent of the task's learner, or an error if the configuration is
// invalid.
func New(c Config) (Agent, error) {
	if c.Self == "" || c.Task == nil || c.Schedule == nil {
		return nil, errors.New("learner: Self, Task and Schedule are required")
	}
	if err := c.Workspace.check(c.Task); err != nil {
		return nil, err
	}
	if !(c.WakeMean > 0) || math.IsInf(c.WakeMean, 0) {
		return nil, fmt.Errorf("learner: WakeMean must be a positive number of seconds, not %v", c.WakeMean)
	}
	if s := c.Resume; s != nil && (len(s.Model) != c.Task.Dimension() || !finite(s.Model) || !deviation(s.NoiseStd)) {
		return nil, fmt.Errorf("learner: the saved model does not fit the task, which has %d parameters", c.Task.Dimension())
	}
	d := c.Task.learner()
	if d.make == nil {
		return nil, fmt.Errorf("learner: there is no learner %q, choose one of %q", c.Task.Learner, names())
	}
	return d.make(c)
}
