package attack

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// rounds returns the attacks on learners in rounds under virtual time, each by a third
// of every neighbourhood.
func rounds() []Scenario {
	var list []Scenario
	for _, w := range waysInRounds {
		list = append(list, Scenario{
			Name: "rounds-" + w.name, About: w.about + ", as a third of every neighbourhood, in simulated rounds",
			Run: func(ctx context.Context, o Options) ([]Bar, error) { return roundsUnder(ctx, &o, w) },
		})
	}
	return append(list,
		Scenario{Name: "rounds-sole", About: "is the only neighbour left to a simulated node, and says that all is over", Run: soleNeighbour},
		Scenario{Name: "rounds-led", About: "has led a simulated node 30 rounds ahead in an earlier run", Run: ledAway},
	)
}

// wayInRounds is how liars behave. It returns what a liar sends after an input; that
// must follow the rules of the task, or it would be refused.
type wayInRounds struct {
	name, about string
	behave      func(l *roundsLiar, now time.Duration) []learner.Message
}

var waysInRounds = []wayInRounds{
	{"silent", "says nothing", func(*roundsLiar, time.Duration) []learner.Message { return nil }},
	{"last", "announces the last round", func(l *roundsLiar, _ time.Duration) []learner.Message { return l.say(1 << 40) }},
	{"climb", "announces three rounds more than it hears, all the time", func(l *roundsLiar, _ time.Duration) []learner.Message {
		return l.say(l.heard + 3)
	}},
	{"both", "is silent, or announces the last round", func(l *roundsLiar, _ time.Duration) []learner.Message {
		if l.who%2 == 0 {
			return nil
		}
		return l.say(1 << 40)
	}},
	{"flicker", "takes part in every other round, and is silent in between", func(l *roundsLiar, _ time.Duration) []learner.Message {
		if l.heard%2 == 0 {
			return nil
		}
		return append(l.say(l.heard), l.acknowledge()...)
	}},
	{"mute", "says its models and acknowledges none", func(l *roundsLiar, _ time.Duration) []learner.Message { return l.say(l.heard) }},
	{"random", "takes part in a round, falls silent or runs ahead, by chance", func(l *roundsLiar, _ time.Duration) []learner.Message {
		switch l.chance.IntN(8) {
		case 0, 1:
			return append(l.say(l.heard), l.acknowledge()...)
		case 2:
			return l.say(l.heard + l.chance.Uint64N(4))
		}
		return nil
	}},
}

// roundsLiar takes the place of an agent of a learner in rounds.
type roundsLiar struct {
	learner.Agent // for its state, which never changes
	who           int
	self          learner.ID
	behave        func(*roundsLiar, time.Duration) []learner.Message
	chance        *rand.Rand
	length        int
	heard, said   uint64                // the newest rounds
	unanswered    map[learner.ID]uint64 // rounds not acknowledged yet, by peer
}

func newRoundsLiar(a learner.Agent, who, length int, w wayInRounds) *roundsLiar {
	return &roundsLiar{
		Agent: a, who: who, self: sim.Name(who), behave: w.behave, chance: rand.New(rand.NewPCG(18, uint64(who))),
		length: length, unanswered: map[learner.ID]uint64{},
	}
}

// say returns a model of that round, if the round is later than all before.
func (l *roundsLiar) say(round uint64) []learner.Message {
	if round <= l.said {
		return nil
	}
	l.said = round
	return []learner.Message{{From: l.self, Kind: learner.KindModel, Round: round, Degree: 1, Real: make([]float64, l.length)}}
}

func (l *roundsLiar) acknowledge() (list []learner.Message) {
	for peer, round := range l.unanswered {
		list = append(list, learner.Message{From: l.self, To: peer, Kind: learner.KindAck, Round: round, Real: []float64{0}})
	}
	slices.SortFunc(list, func(a, b learner.Message) int { return slices.Compare([]byte(a.To), []byte(b.To)) })
	clear(l.unanswered)
	return list
}

func (l *roundsLiar) output(now time.Duration) learner.Output {
	return learner.Output{Send: l.behave(l, now), Next: learner.Never}
}

// Neighbours implements [learner.Agent], as the methods below do.
func (l *roundsLiar) Neighbours(now time.Duration, _ []learner.Edge) learner.Output {
	return l.output(now)
}

// Receive listens.
func (l *roundsLiar) Receive(now time.Duration, m learner.Message) (learner.Output, error) {
	if m.Kind == learner.KindModel && m.Round < 1<<39 {
		l.heard = max(l.heard, m.Round)
		l.unanswered[m.From] = m.Round
	}
	return l.output(now), nil
}

// Tick is never called.
func (l *roundsLiar) Tick(now time.Duration) learner.Output { return l.output(now) }

// roundsPlan is a network of honest agents and liars.
type roundsPlan struct {
	honest, liars int
	edges         [][]learner.Edge // the honest agents come first
}

// mixed makes honest agents on a random graph, each with half as many liars among its
// neighbours as honest ones.
func mixed(honest, degree, liars int, seed uint64) roundsPlan {
	p := roundsPlan{honest, liars, sim.RandomGraph(honest, degree, seed)}
	p.edges = append(p.edges, make([][]learner.Edge, liars)...)
	r := rand.New(rand.NewPCG(seed, 6))
	for i := range honest {
		for _, k := range r.Perm(liars)[:len(p.edges[i])/2] {
			p.join(i, honest+k)
		}
	}
	return p
}

func (p *roundsPlan) join(a, b int) {
	p.edges[a] = append(p.edges[a], learner.Edge{Peer: sim.Name(b), Weight: 1, Live: true})
	p.edges[b] = append(p.edges[b], learner.Edge{Peer: sim.Name(a), Weight: 1, Live: true})
}

// config is a run in rounds with a deadline of ten seconds, 500 times a message's
// delay.
func (p *roundsPlan) config(seed uint64) (sim.Config, error) {
	task := learner.Linear()
	task.Features = task.Features[:3]
	task.Learner, task.Diffusion.Noise = "diffusion", "iid"
	task.Graph = learner.Graph{Rule: "random", Degree: 4}
	task.Rounds = learner.Rounds{Seconds: 10, Step: 0.3}
	policy, err := task.Design(privacy.Design{Noise: privacy.Unprotected}).Policy()
	if err != nil {
		return sim.Config{}, err
	}
	c := sim.Config{Task: task, Seed: seed, WakeMean: time.Second, Latency: 20 * time.Millisecond, Every: 100 * time.Millisecond}
	for i := range p.edges {
		records := []learner.Record{{Seq: 1, X: []float64{0.1, 0.2, 0.3}, Y: 1}, {Seq: 2, X: []float64{-0.1, 0.2, -0.3}, Y: -1}}
		c.Participants = append(c.Participants, sim.Participant{ID: sim.Name(i), Records: records, Edges: p.edges[i], Policy: policy})
	}
	return c, nil
}

// lie makes all agents from the first liar on lie.
func (p *roundsPlan) lie(c *sim.Config, w wayInRounds) {
	length := c.Task.Dimension()
	c.Wrap = func(i int, a learner.Agent) learner.Agent {
		if i < p.honest {
			return a
		}
		return newRoundsLiar(a, i, length, w)
	}
}

// middle returns the median round of the honest agents, and how far the first of them
// is ahead of it.
func (p *roundsPlan) middle(states []learner.State) (median, ahead float64) {
	var list []uint64
	for _, s := range states[:p.honest] {
		list = append(list, s.Round)
	}
	slices.Sort(list)
	median = float64(list[(len(list)-1)/2])
	return median, float64(list[len(list)-1]) - median
}

// walked returns how many rounds the median advanced until the end, and the most that
// one honest agent was ahead of it.
func (p *roundsPlan) walked(c sim.Config) (rounds, ahead float64, err error) {
	c.Sample = func(_ time.Duration, states []learner.State) {
		median, a := p.middle(states)
		rounds, ahead = median, max(ahead, a)
	}
	_, err = sim.Run(c)
	return rounds, ahead, err
}

// roundsUnder measures bar 6 on a full graph and on a sparse one, and returns the worst
// of both and of all seeds.
func roundsUnder(ctx context.Context, o *Options, w wayInRounds) ([]Bar, error) {
	var ahead, slower float64
	for seed := range uint64(o.several(1, 5)) {
		for _, p := range []roundsPlan{mixed(9, 8, 4, 100+seed), mixed(24, 6, 12, 200+seed)} {
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			c, err := p.config(300 + seed)
			if err != nil {
				return nil, err
			}
			c.Until = time.Duration(o.several(30, 120)) * time.Second
			honest := roundsPlan{honest: p.honest, edges: sim.RandomGraph(p.honest, len(p.edges[0])*2/3, 100+seed)}
			calm, err := honest.config(300 + seed)
			if err != nil {
				return nil, err
			}
			calm.Until = c.Until
			before, _, err := honest.walked(calm)
			if err != nil {
				return nil, err
			}
			p.lie(&c, w)
			during, most, err := p.walked(c)
			if err != nil {
				return nil, err
			}
			ahead, slower = max(ahead, most), max(slower, before/max(1, during))
		}
	}
	return []Bar{
		AtMost(fmt.Sprintf("6 rounds: ahead of the median (%s)", w.name), ahead, 2, "rounds"),
		AtMost(fmt.Sprintf("6 rounds: slower (%s)", w.name), slower, 3, "times"),
	}, nil
}

// soleNeighbour disconnects the honest neighbours of one agent for a while, so that it
// only hears a liar. When they are back, the agent must go on with them.
func soleNeighbour(_ context.Context, _ Options) ([]Bar, error) {
	p := roundsPlan{honest: 10, liars: 1, edges: append(sim.RandomGraph(10, 4, 1), nil)}
	p.join(0, 10)
	c, err := p.config(1)
	if err != nil {
		return nil, err
	}
	c.Until = 2 * time.Minute
	for i := 1; i < p.honest; i++ {
		if slices.ContainsFunc(p.edges[0], func(e learner.Edge) bool { return e.Peer == sim.Name(i) }) {
			c.Away = append(c.Away, sim.Away{Who: i, From: 10 * time.Second, To: time.Minute})
		}
	}
	p.lie(&c, waysInRounds[1])
	var ahead, apart float64
	c.Sample = func(_ time.Duration, states []learner.State) {
		median, _ := p.middle(states)
		ahead, apart = max(ahead, float64(states[0].Round)-median), max(median-float64(states[0].Round), float64(states[0].Round)-median)
	}
	if _, err := sim.Run(c); err != nil {
		return nil, err
	}
	return []Bar{
		AtMost("6 rounds: ahead of the median (a sole neighbour that lies)", ahead, 2, "rounds"),
		AtMost("6 rounds: from the median a minute after it (a sole neighbour that lies)", apart, 2, "rounds"),
	}, nil
}

// ledAway starts one agent 30 rounds ahead of the others.
func ledAway(_ context.Context, _ Options) ([]Bar, error) {
	p := roundsPlan{honest: 10, edges: sim.RandomGraph(10, 4, 2)}
	c, err := p.config(2)
	if err != nil {
		return nil, err
	}
	const led = 30
	c.Until, c.Task.Rounds.Count = time.Minute, 2*led
	c.Participants[0].Start = &learner.State{Round: led, Model: make([]float64, c.Task.Dimension())}
	r, err := sim.Run(c)
	if err != nil {
		return nil, err
	}
	last, _ := p.middle(r.States)
	return []Bar{
		atLeast("6 rounds: of the others at the end (one led ahead in an earlier run)", last, 2*led, "rounds"),
		atLeast("6 rounds: of its own at the end (one led ahead in an earlier run)", float64(r.States[0].Round), 2*led, "rounds"),
		AtMost("6 rounds: its releases (one led ahead in an earlier run)", float64(r.Releases[0]), led, "releases"),
	}, nil
}
