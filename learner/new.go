package learner

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"p2pnode/privacy"
)

// Config is what an agent is made from.
type Config struct {
	Self     ID             // required; messages carry it as From
	Task     *Task          // required, valid; not changed. Task.Learner chooses the agent
	Policy   privacy.Policy // the mechanisms of the releases
	Made     int            // how many of them were used before
	WakeMean float64        // mean time between wakes in seconds, > 0; learners in rounds do not use it
	Schedule *rand.Rand     // required; draws the wake times and nothing else
	// Masks is the source of masks and obfuscations, for learners that need it:
	// cryptographic in a node. nil: none.
	Masks  rand.Source
	Resume *State // nil: start at zero, as every agent does
	// Checked says that Task has passed [Task.Validate]: that takes longer than
	// everything else here, and a driver makes many agents of one task.
	Checked bool
	// Scratch is shared by all agents that one goroutine drives; nil: what an agent
	// returns lasts.
	Scratch *Scratch
	// Vector, if set, gives learner "personal" the memory of its next shared model,
	// length [Task.Dimension]. It may be given out again once the agent has made
	// another release, and none of those who were sent it can look at it any more:
	// they took a newer one from the agent, or lost the edge, or never take it.
	Vector func() []float64
}

// New returns the agent of the task's learner. An invalid configuration is an
// error.
func New(c Config) (Agent, error) {
	if c.Self == "" || c.Task == nil || c.Schedule == nil {
		return nil, errors.New("learner: Self, Task and Schedule are required")
	}
	if !c.Checked {
		if err := c.Task.Validate(); err != nil {
			return nil, err
		}
	}
	if !(c.WakeMean > 0) || math.IsInf(c.WakeMean, 0) {
		return nil, fmt.Errorf("learner: WakeMean must be a positive number of seconds, not %v", c.WakeMean)
	}
	if s := c.Resume; s != nil && (len(s.Model) != c.Task.Dimension() || !finite(s.Model)) {
		return nil, fmt.Errorf("learner: the saved model does not fit the task, which has %d parameters", c.Task.Dimension())
	}
	d := c.Task.learner()
	if d.make == nil {
		return nil, fmt.Errorf("learner: there is no learner %q, choose one of %q", c.Task.Learner, names())
	}
	return d.make(c)
}
