package sim

import (
	"math/rand/v2"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// actor is an agent with its door.
type actor struct {
	learner.Agent
	recorder *learner.Recorder // nil without a trace
	door     door
	masks    rand.Source   // goes on where it is after a restart: no mask comes twice
	next     time.Duration // of its timer
	done     bool          // an agent with a clock that will never release again
	away     bool
	edges    []learner.Edge   // as if nobody were away
	works    bool             // counted in simulation.working
	newest   *learner.Message // its last broadcast, served to who comes late
	cohort   privacy.Cohort   // the first one
}

// AgentSchedule is the source of the wake times of participant i: what a replay
// of its trace must be constructed with.
func AgentSchedule(seed uint64, i int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 2*uint64(i)))
}

// AgentMasks is the source of the masks of participant i in learner polar: what
// a replay of its trace must be constructed with, if it was not restarted.
func AgentMasks(seed uint64, i int) rand.Source {
	return rand.NewPCG(^seed, uint64(i))
}

// AgentNoise is the noise of the door of participant i, which takes all of its
// releases from it in order.
func AgentNoise(seed uint64, i int) *privacy.SeededNoise {
	return privacy.NewSeededNoise(seed + uint64(i)<<32)
}

func newActor(c *Config, i int) (actor, error) {
	p := &c.Participants[i]
	a := actor{edges: p.Edges}
	if c.Discovery != nil {
		a.edges = nil
	}
	a.done = c.Task.Learner == "personal" && (len(p.Records) == 0 || c.Discovery == nil && len(p.Edges) == 0)
	if len(p.Records) > 0 {
		a.cohort = p.Records[0].Cohort
	}
	var err error
	if a.door, err = newDoor(p, AgentNoise(c.Seed, i)); err != nil {
		return actor{}, err
	}
	if c.Task.Learner == "polar" {
		a.masks = AgentMasks(c.Seed, i)
	}
	return a, a.start(c, i, p.Start)
}

// start makes the agent, as its device does when it is switched on.
func (a *actor) start(c *Config, i int, resume *learner.State) error {
	p := &c.Participants[i]
	config := learner.Config{
		Self: p.ID, Task: c.Task, Policy: p.Policy, Made: a.door.made, Resume: resume,
		WakeMean: c.WakeMean.Seconds(), Schedule: AgentSchedule(c.Seed, i), Masks: a.masks,
	}
	agent, err := learner.New(config)
	if err != nil {
		return err
	}
	a.Agent = agent
	if c.Trace {
		a.recorder = &learner.Recorder{Agent: agent}
		a.Agent = a.recorder
	}
	if c.Wrap != nil {
		a.Agent = c.Wrap(i, a.Agent)
	}
	return a.Records(p.Records, nil)
}
