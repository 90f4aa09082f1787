package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
	"p2pnode/peering"
)

// Siege is a network of honest nodes that find their neighbours by package peering, and a
// crowd of hostile identities that one attacker leads. There are no agents: who is whose
// neighbour follows from what is public, which is given.
//
// The crowd knows everybody, and what everybody has published. Each identity offers
// others of the crowd in every exchange, asks honest nodes for edges, accepts every request, and
// claims to be compared by whatever makes it most similar to the one it talks to: by the
// other's own vector, without noise.
type Siege struct {
	Graph   learner.Graph
	Honest  int
	Hostile int
	// Ends says what the i-th honest node is compared by after its k-th release, k from 1.
	Ends     func(i, k int) graph.End
	Releases int           // of each honest node
	Wake     time.Duration // the mean time between them
	// HonestNets and HostileNets are the parts of the network in which the nodes are,
	// drawn at random; 0: nobody knows in which.
	HonestNets, HostileNets int
	// Form is how long the honest nodes are alone. Then the crowd is there for Attack, and
	// leaves. For Recover the honest nodes are alone again.
	Form, Attack, Recover time.Duration
	Rate                  float64 // exchanges, and as many requests for an edge, that the crowd begins with each honest node in a second
	Seed                  uint64
	// Look is told how the siege goes, once in Every.
	Every time.Duration
	Look  func(Besieged)
}

// Besieged says what of honest nodes is honest, as shares from 0 to 1, in the mean over the
// nodes.
type Besieged struct {
	At     time.Duration
	Edges  float64
	Weight float64 // of all edges
	View   float64 // of the peers that a node knows
	Short  float64 // of the nodes: those with fewer honest neighbours than they want
}

const (
	siegeDelay    = 50 * time.Millisecond
	siegeContacts = 5
)

type siege struct {
	Siege
	random *rand.Rand
	nodes  []besieged
	index  map[learner.ID]int // of honest nodes
	nets   []string           // of the crowd
	events events
	now    time.Duration
}

// besieged is an honest node.
type besieged struct {
	*peering.Neighbourhood
	id   learner.ID
	net  string
	own  graph.End
	made int           // releases
	next time.Duration // of its next tick
	told time.Duration // when a rendezvous told it of others
}

// Run lets the siege take place. The same seed gives the same run.
func (c Siege) Run() {
	s := &siege{Siege: c, random: rand.New(rand.NewPCG(c.Seed, 31)), index: make(map[learner.ID]int, c.Honest)}
	s.nodes = make([]besieged, c.Honest)
	for i := range s.nodes {
		id := Name(i)
		s.index[id] = i
		s.nodes[i] = besieged{id: id, net: s.net("h", c.HonestNets), next: -1}
		s.nodes[i].Neighbourhood = peering.New(peering.Config{
			Self: id, Graph: c.Graph, Look: lookEvery, Renew: renewEvery,
			Choices: rand.NewPCG(c.Seed^1<<61^uint64(i)<<20, 1), View: rand.NewPCG(c.Seed^1<<61^uint64(i)<<20, 2),
		})
		start := time.Duration(s.random.Float64() * float64(time.Second))
		s.at(start, func() { s.step(i, peering.Tick{}) })
		s.at(start, func() { s.release(i) })
	}
	for range c.Hostile {
		s.nets = append(s.nets, s.net("s", c.HostileNets))
	}
	if c.Hostile > 0 {
		for i := range s.nodes {
			s.at(c.Form+time.Duration(s.random.ExpFloat64()/c.Rate*float64(time.Second)), func() { s.assault(i) })
		}
		s.at(c.Form+c.Attack, s.withdraw)
	}
	for t := c.Every; t <= c.Form+c.Attack+c.Recover; t += c.Every {
		s.at(t-1, s.look)
	}
	for s.events.Len() > 0 {
		e := s.events.next()
		if s.now = e.at; s.now > c.Form+c.Attack+c.Recover {
			break
		}
		e.do()
	}
}

// net draws the part of the network in which a node is.
func (s *siege) net(kind string, of int) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprint(kind, s.random.IntN(of))
}

func (s *siege) at(t time.Duration, do func()) { s.events.add(t, do) }

// there reports whether the crowd is there.
func (s *siege) there() bool {
	return s.Hostile > 0 && s.now >= s.Form && s.now < s.Form+s.Attack
}

func crowdName(i int) learner.ID { return learner.ID(fmt.Sprintf("s%06d", i)) }

// entry is what an identity of the crowd claims to one honest node.
func (s *siege) entry(k, to int) graph.Entry {
	e := graph.Entry{Peer: crowdName(k), Net: s.nets[k]}
	if own := s.nodes[to].own; own.Vector != nil {
		e.End = graph.End{Round: own.Round, Vector: own.Vector}
	}
	return e
}

// crowd are entries of the crowd that suit an honest node.
func (s *siege) crowd(to int) []graph.Entry {
	out := make([]graph.Entry, graph.LimitsFor(s.Graph.Degree).Exchange-1)
	for i := range out {
		out[i] = s.entry(s.random.IntN(s.Hostile), to)
	}
	return out
}

// release lets an honest node make a release.
func (s *siege) release(i int) {
	n := &s.nodes[i]
	if n.made == s.Releases {
		return
	}
	n.made++
	n.own = s.Ends(i, n.made)
	s.at(s.now+time.Duration(s.random.ExpFloat64()*float64(s.Wake)), func() { s.release(i) })
	s.step(i, peering.Declared{End: n.own})
}

// step lets an honest node take an input in.
func (s *siege) step(i int, in peering.Input) peering.Output {
	n := &s.nodes[i]
	out := n.Step(s.now, in)
	if next := max(out.Next, s.now); next != n.next {
		n.next = next
		s.at(next, func() { s.tick(i, next) })
	}
	for _, c := range out.Calls {
		s.call(i, c)
	}
	return out
}

// tick lets an honest node look, after a rendezvous has told it of others if it knows too
// few: of honest and hostile ones alike.
func (s *siege) tick(i int, due time.Duration) {
	n := &s.nodes[i]
	if n.next != due {
		return
	}
	n.next = -1
	if n.told == 0 || s.now >= n.told+tellEvery && !n.Enough() {
		n.told = s.now
		for range siegeContacts {
			k := s.random.IntN(s.Honest)
			e := graph.Entry{Peer: s.nodes[k].id, Net: s.nodes[k].net}
			if s.there() && s.random.IntN(s.Honest+s.Hostile) >= s.Honest {
				k = s.random.IntN(s.Hostile)
				e = graph.Entry{Peer: crowdName(k), Net: s.nets[k]}
			}
			s.step(i, peering.Seen{Peer: e})
		}
	}
	s.step(i, peering.Tick{})
}

// call carries a request of an honest node and the answer to it.
func (s *siege) call(i int, c peering.Call) {
	to, honest := s.index[c.To.Peer]
	_, linked := s.nodes[i].Edge(c.To.Peer)
	answer := func(r peering.Reply, failed bool) func() {
		return func() {
			s.step(i, peering.Answered{From: c.To.Peer, Reply: r, Failed: failed, Dialled: !linked})
		}
	}
	if honest {
		s.at(s.now+siegeDelay, func() {
			q := c.Request
			q.Own.Net = s.nodes[i].net
			r := *s.step(to, peering.Asked{Request: q}).Reply
			r.Own.Net = s.nodes[to].net
			s.at(s.now+siegeDelay, answer(r, false))
		})
		return
	}
	var k int
	if _, err := fmt.Sscanf(string(c.To.Peer), "s%d", &k); err != nil || !s.there() {
		s.at(s.now+callTimeout, answer(peering.Reply{}, true))
		return
	}
	r := peering.Reply{Own: s.entry(k, i)}
	switch c.Kind {
	case peering.Exchange:
		r.Known = s.crowd(i)
	case peering.Ask:
		r.Answer, r.Turn = peering.Accepted, c.Turn+1
	}
	s.at(s.now+2*siegeDelay, answer(r, false))
}

// assault lets the crowd begin an exchange with an honest node and ask it for an edge.
func (s *siege) assault(i int) {
	if !s.there() {
		return
	}
	s.at(s.now+time.Duration(s.random.ExpFloat64()/s.Rate*float64(time.Second)), func() { s.assault(i) })
	k := s.random.IntN(s.Hostile)
	s.step(i, peering.Asked{Request: peering.Request{Kind: peering.Exchange, Own: s.entry(k, i), Known: s.crowd(i)}})
	if _, linked := s.nodes[i].Edge(crowdName(k)); !linked {
		s.step(i, peering.Asked{Request: peering.Request{Kind: peering.Ask, Own: s.entry(k, i)}})
	}
}

// withdraw lets the crowd leave.
func (s *siege) withdraw() {
	for i := range s.nodes {
		for _, e := range s.nodes[i].Edges() {
			if _, honest := s.index[e.Peer]; !honest {
				s.step(i, peering.Lost{Peer: e.Peer})
			}
		}
	}
}

// look measures what of the honest nodes is honest.
func (s *siege) look() {
	b := Besieged{At: s.now}
	n := float64(len(s.nodes))
	for i := range s.nodes {
		var all, honest, weight, honestWeight float64
		for _, e := range s.nodes[i].Edges() {
			_, is := s.index[e.Peer]
			if !is && !s.there() {
				continue // its other end is gone
			}
			all++
			weight += e.Weight
			if is {
				honest++
				honestWeight += e.Weight
			}
		}
		b.Edges += honest / max(1, all) / n
		if weight > 0 {
			b.Weight += honestWeight / weight / n
		}
		if honest < float64(s.Graph.Degree) {
			b.Short += 1 / n
		}
		known, good := s.nodes[i].Known(), 0.0
		for _, id := range known {
			if _, is := s.index[id]; is {
				good++
			}
		}
		b.View += good / float64(max(1, len(known))) / n
	}
	s.Look(b)
}
