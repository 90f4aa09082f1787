package sim

import (
	"errors"
	"math/rand/v2"
	"time"

	"p2pnode/learner/graph"
	"p2pnode/peering"
)

// Discovery lets the participants find their neighbours while they learn, by package
// peering: the code that runs on a device, at its pace, on the clock of the
// simulation. [Participant.Edges] are not looked at.
//
// A request and its answer take a delay of [Config.Latency] each. With probability
// [Config.Loss] one of the two is lost; then the request fails after ten seconds, as on a
// device, and so it does when its other end is away.
type Discovery struct {
	Limits graph.Limits // of the views; zero: [graph.LimitsFor] the task's degree
	// Contacts is how many others, drawn at random, a participant is told of when it
	// begins, and every ten seconds until it knows enough, > 0: what a rendezvous does.
	// They need not be there.
	Contacts int
	// Speak, if set, may change what a participant says, its calls and its reply, after
	// each step of what decides about its neighbours: so it can lie.
	Speak func(participant int, out *peering.Output)
}

// How often a participant looks at neighbours that give no cause, how old its edges
// become, and how long a request may take: as on a device of normal power.
const (
	lookEvery   = 5 * time.Second
	renewEvery  = time.Minute
	callTimeout = 10 * time.Second
	tellEvery   = 10 * time.Second
)

// finder is how a participant finds its neighbours.
type finder struct {
	*peering.Neighbourhood
	own     graph.End     // what is public of it
	next    time.Duration // of its next tick
	chance  *rand.Rand    // delays and losses of what it says, and whom it is told of
	holders []int         // who has an edge to it
	away    bool
	missed  []int         // who answered while it was away
	told    time.Duration // when it was told of others
	lives   uint64
}

func (s *simulation) startDiscovery() error {
	if s.Discovery.Contacts < 1 || len(s.Participants) < 2 {
		return errors.New("sim: Discovery needs two participants, and Contacts above 0")
	}
	s.finders = make([]finder, len(s.Participants))
	for i, p := range s.Participants {
		f := &s.finders[i]
		f.own = graph.End{Vector: p.Profile}
		f.chance = rand.New(s.searching(i, 0))
		f.away = s.actors[i].away
		s.begin(i, nil)
		s.arm(i, time.Duration(f.chance.Float64()*float64(time.Second))) // devices do not start at one time
	}
	for _, w := range s.Away {
		if w.From > 0 {
			s.agenda.add(talk{at: w.From, kind: goesAway, who: w.Who})
		}
		s.agenda.add(talk{at: w.To, kind: comesBack, who: w.Who, restart: w.Restart})
	}
	return nil
}

// searching is a source of what participant i draws for its search.
func (s *simulation) searching(i int, k uint64) rand.Source {
	return rand.NewPCG(s.Seed^1<<62^uint64(i)<<20, k)
}

// begin makes what decides about the neighbours of a participant, with the edges it has
// stored.
func (s *simulation) begin(i int, edges []peering.Edge) {
	f := &s.finders[i]
	f.lives++
	f.Neighbourhood = peering.New(peering.Config{
		Self: s.Participants[i].ID, Graph: s.Task.Graph, Limits: s.Discovery.Limits, Look: lookEvery, Renew: renewEvery,
		Choices: s.searching(i, 2*f.lives), View: s.searching(i, 2*f.lives+1), Edges: edges,
	})
	f.Step(s.now, peering.Declared{End: f.own})
}

// arm sets the time of a participant's next tick.
func (s *simulation) arm(i int, at time.Duration) {
	if f := &s.finders[i]; f.next != at || f.next == 0 {
		f.next = at
		s.agenda.add(talk{at: at, kind: tick, who: i})
	}
}

// step lets what decides about a participant's neighbours take an input in, and carries
// out what follows.
func (s *simulation) step(i int, in peering.Input) (peering.Output, error) {
	out := s.finders[i].Step(s.now, in)
	if s.Discovery.Speak != nil {
		s.Discovery.Speak(i, &out)
	}
	s.arm(i, max(out.Next, s.now))
	for _, c := range out.Calls {
		s.call(i, c)
	}
	return out, s.join(i, out)
}

// introduce tells a participant of some others if it is time.
func (s *simulation) introduce(i int) error {
	f := &s.finders[i]
	if f.told > 0 && (s.now < f.told+tellEvery || f.Enough()) {
		return nil
	}
	f.told = s.now
	for range s.Discovery.Contacts {
		j := f.chance.IntN(len(s.Participants))
		if _, err := s.step(i, peering.Seen{Peer: graph.Entry{Peer: s.Participants[j].ID}}); err != nil {
			return err
		}
	}
	return nil
}

// published takes note of a participant's newest estimate, which the others hear of
// no sooner than a message can take. Nothing but the shard of i may be touched.
func (h *shard) published(i int32, now time.Duration) {
	if h.s.Discovery == nil {
		return
	}
	if e := h.s.actors[i].State().Estimate; e != nil && e.Round > h.s.finders[i].own.Round {
		h.estimates = append(h.estimates, talk{
			at: now + max(1, h.s.Latency/2), kind: declares, who: int(i), end: graph.End{Round: e.Round, Vector: e.Vector, Std: e.Std},
		})
	}
}

// collectEstimates enters what was published in a window.
func (s *simulation) collectEstimates() {
	for k := range s.shards {
		h := &s.shards[k]
		for _, t := range h.estimates {
			s.agenda.add(t)
		}
		h.estimates = h.estimates[:0]
	}
}
