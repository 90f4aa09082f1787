package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// actor is an agent with its door.
type actor struct {
	learner.Agent
	listener learner.Listener // the same agent, if it pulls
	next     time.Duration    // of its timer
	armed    bool             // the timer has not rung since it was set
	done     bool             // an agent with a clock that will never release again
	away     bool
	works    bool // counted in shard.working

	newest  *learner.Message // its last broadcast, served to who comes late
	said    int32            // likewise the version, if agents pull
	changes int32            // comings and goings in its inbox
	inbox   []arrival
	ties    []tie // one for each of edges
	sorted  bool  // ties by peer

	door     door
	edges    []learner.Edge // as if nobody were away
	schedule rand.Rand      // of its wakes, from pcg
	pcg      rand.PCG
	masks    rand.PCG          // like schedule it goes on after a restart: no mask comes twice
	cohort   privacy.Cohort    // the first one
	recorder *learner.Recorder // nil without a trace
}

// tie is what the simulation knows of an edge: the other end, -1 if there is no
// such participant, whether it is away, and if agents pull the version of it that the
// agent holds, with the newest round it took, and the way from there.
type tie struct {
	round, way uint64
	peer, held int32
	away       bool
}

// AgentSchedule is the source of the wake times of participant i: what a replay
// of its trace must be constructed with, if it was not restarted.
func AgentSchedule(seed uint64, i int) *rand.Rand {
	return rand.New(schedulePCG(seed, i))
}

func schedulePCG(seed uint64, i int) *rand.PCG {
	return rand.NewPCG(seed, 2*uint64(i))
}

// AgentMasks is the source of the masks of participant i: what
// a replay of its trace must be constructed with, if it was not restarted.
func AgentMasks(seed uint64, i int) *rand.PCG {
	return rand.NewPCG(^seed, uint64(i))
}

// AgentNoise is the noise of the door of participant i, which takes all of its
// releases from it in order.
func AgentNoise(seed uint64, i int) *privacy.SeededNoise {
	return privacy.NewSeededNoise(seed + uint64(i)<<32)
}

func (s *simulation) newActor(i int32) error {
	p, a := &s.Participants[i], &s.actors[i]
	a.said, a.next = nothing, learner.Never
	a.done = s.clocked && (len(p.Records) == 0 || s.Discovery == nil && len(p.Edges) == 0)
	if len(p.Records) > 0 {
		a.cohort = p.Records[0].Cohort
	}
	var err error
	if a.door, err = newDoor(p, s.Seed, int(i)); err != nil {
		return err
	}
	a.pcg = *schedulePCG(s.Seed, int(i))
	a.schedule = *rand.New(&a.pcg)
	a.masks = *AgentMasks(s.Seed, int(i))
	return s.start(i, p.Start)
}

// start makes the agent, as its device does when it is switched on.
func (s *simulation) start(i int32, resume *learner.State) error {
	p, a, h := &s.Participants[i], &s.actors[i], s.home(i)
	c := learner.Config{
		Self: p.ID, Task: s.Task, Policy: p.Policy, Made: a.door.made, Resume: resume,
		WakeMean: s.WakeMean.Seconds(), Schedule: &a.schedule, Masks: &a.masks,
	}
	if s.Wrap == nil {
		c.Workspace = &h.workspace
	}
	agent, err := learner.New(c)
	if err != nil {
		return err
	}
	a.Agent = agent
	if s.pull {
		var listens bool
		if a.listener, listens = agent.(learner.Listener); !listens {
			return fmt.Errorf("learner %q has a clock, and its agents are no learner.Listener", s.Task.Learner)
		}
	}
	if s.Trace {
		a.recorder = &learner.Recorder{Agent: agent}
		a.Agent = a.recorder
	}
	if s.Wrap != nil {
		a.Agent = s.Wrap(int(i), a.Agent)
	}
	return a.Records(p.Records, nil)
}

// setEdges gives an agent's actor its edges.
func (s *simulation) setEdges(i int32, edges []learner.Edge) {
	a := &s.actors[i]
	ties := s.newTies(len(edges))
	for k, e := range edges {
		peer, known := s.index[e.Peer]
		if !known {
			ties[k] = tie{peer: -1, held: nothing}
			continue
		}
		ties[k] = tie{way: s.way(peer, i), peer: peer, held: nothing, away: s.actors[peer].away}
	}
	a.edges, a.ties = edges, ties
	a.sorted = slices.IsSortedFunc(ties, func(a, b tie) int { return int(a.peer) - int(b.peer) })
}

// newTies takes ties from the block for all, or makes them when that is used up.
func (s *simulation) newTies(n int) []tie {
	if n > len(s.ties) {
		return make([]tie, n)
	}
	ties := s.ties[:n:n]
	s.ties = s.ties[n:]
	return ties
}

// connect gives all their edges, in one block of memory.
func (s *simulation) connect() {
	edges := 0
	for i := range s.Participants {
		edges += len(s.Participants[i].Edges)
	}
	s.ties = inLargePages(make([]tie, edges))
	for i := range s.Participants {
		s.setEdges(int32(i), s.Participants[i].Edges)
	}
}

// tie is the position of the edge to a peer.
func (a *actor) tie(peer int32) (int, bool) {
	if a.sorted && len(a.ties) > 16 {
		return slices.BinarySearchFunc(a.ties, peer, func(t tie, peer int32) int { return int(t.peer) - int(peer) })
	}
	for k := range a.ties {
		if a.ties[k].peer == peer {
			return k, true
		}
	}
	return -1, false
}
