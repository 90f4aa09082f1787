package peering

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// wireless is two nodes whose requests for their one edge go by hand, in any order,
// and get lost, while what is public of them changes and they are killed.
type wireless struct {
	t      *testing.T
	random *rand.Rand
	graph  learner.Graph
	ends   [2]*Neighbourhood
	disks  [2]map[learner.ID]Edge
	asked  [2]*Request // under way from each end, and
	reply  [2]*Reply   // answered already
	lossy  bool
	round  uint64
	clock  time.Duration
	lives  uint64
}

func newWireless(t *testing.T, rule string, seed uint64, lossy bool) *wireless {
	w := &wireless{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), lossy: lossy,
		graph: learner.Graph{Rule: rule, Degree: 2, Gamma: 1},
	}
	for i := range w.ends {
		w.disks[i] = map[learner.ID]Edge{}
		w.kill(i)
	}
	return w
}

func (w *wireless) id(i int) learner.ID { return stranger(i) }

func (w *wireless) link(i int) *link { return w.ends[i].link(w.id(1 - i)) }

// step lets an end take an input in and writes its disk.
func (w *wireless) step(i int, in Input) Output {
	out := w.ends[i].Step(w.clock, in)
	for _, d := range out.Drops {
		delete(w.disks[i], d.Peer)
	}
	for _, e := range out.Keeps {
		w.disks[i][e.Peer] = e
	}
	return out
}

// ask begins a request, as a node does that asks one at a time.
func (w *wireless) ask(i int) {
	if w.asked[i] != nil {
		return
	}
	c := &call{Call: Call{graph.Entry{Peer: w.id(1 - i)}, Request{Kind: Ask}}}
	w.ends[i].request(c)
	w.asked[i] = &c.Request
}

// hope begins a request for a new edge.
func (w *wireless) hope(i int) {
	to := graph.Entry{Peer: w.id(1 - i)}
	c := &call{Call: Call{to, Request{Kind: Ask}}, pending: graph.Link{Peer: to.Peer, Up: true}}
	w.ends[i].request(c)
	w.asked[i] = &c.Request
}

// deliver brings the request of end i to the other one, or the answer back.
func (w *wireless) deliver(i int) {
	q, r := w.asked[i], w.reply[i]
	switch {
	case q == nil:
	case r == nil:
		if l := w.link(1 - i); l != nil && w.random.IntN(4) > 0 {
			l.renewed = longAgo // some time has passed
		}
		w.reply[i] = w.step(1-i, Asked{*q}).Reply
	default:
		w.asked[i], w.reply[i] = nil, nil
		w.step(i, Answered{From: w.id(1 - i), Reply: *r})
	}
}

// lose drops what is under way for end i.
func (w *wireless) lose(i int) {
	if w.asked[i] != nil && w.lossy {
		w.asked[i], w.reply[i] = nil, nil
		w.step(i, Answered{From: w.id(1 - i), Failed: true})
	}
}

// kill restarts a node from its disk.
func (w *wireless) kill(i int) {
	w.lives++
	c := config(w.graph, w.lives)
	c.Self = w.id(i)
	for _, e := range w.disks[i] {
		c.Edges = append(c.Edges, e)
	}
	var public graph.End
	if w.ends[i] != nil {
		public = w.ends[i].own
	}
	w.asked[i], w.reply[i] = nil, nil
	w.ends[i] = New(c)
	w.step(i, Declared{public})
	if l := w.link(i); l != nil {
		l.doubt = true // a restarted node asks at once
	}
}

// publish changes what is public of a node, not so much that the two part.
func (w *wireless) publish(i int) {
	w.round++
	v := []float64{1 + w.random.Float64(), w.random.Float64(), w.random.Float64()}
	w.step(i, Declared{graph.End{Round: w.round, Vector: v, Std: 0.01}})
}

func (w *wireless) act() {
	i := w.random.IntN(2)
	switch w.random.IntN(12) {
	case 0, 1, 2:
		w.ask(i)
	case 3, 4:
		w.publish(i)
	case 5:
		w.lose(i)
	case 6:
		if w.lossy {
			w.kill(i)
		}
	default:
		w.deliver(i)
	}
}

// settle delivers what is under way; an end that does not know what came of its last
// request asks again.
func (w *wireless) settle() {
	for i := range 2 {
		for w.asked[i] != nil {
			w.deliver(i)
		}
	}
	for i := range 2 {
		for range 20 {
			if l := w.link(i); l == nil || !l.doubt {
				break
			}
			w.link(i).renewed = longAgo
			w.ask(i)
			w.deliver(i)
			w.deliver(i)
		}
	}
}

// agreed fails unless both ends hold the same, in memory and on disk.
func (w *wireless) agreed(when string) {
	w.t.Helper()
	var held, stored [2]float64
	for i := range 2 {
		if l := w.link(i); l != nil {
			held[i] = l.weight
		}
		stored[i] = w.disks[i][w.id(1-i)].Weight
	}
	if held[0] != held[1] || held != stored {
		w.t.Fatalf("%s: the ends hold %v, and %v on disk", when, held, stored)
	}
}

// However requests cross, repeat and are refused for being early, and whatever is
// published meanwhile, both ends come to the same weight, to the bit and on both
// disks: without loss once all is delivered, with loss and kills once each that got no
// answer has asked again.
func TestEndsAgreeHoweverRequestsCross(t *testing.T) {
	for _, rule := range []string{"profile", "released"} {
		for _, lossy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/lossy=%v", rule, lossy), func(t *testing.T) {
				w := newWireless(t, rule, 7, lossy)
				weights := make(map[float64]bool)
				for k := range 600 {
					for range w.random.IntN(12) {
						w.act()
					}
					w.settle()
					w.agreed(fmt.Sprintf("settled %d times", k+1))
					if l := w.link(0); l != nil {
						weights[l.weight] = true
					}
				}
				if len(weights) < 100 {
					t.Errorf("only %d weights were agreed on: the test is idle", len(weights))
				}
			})
		}
	}
}

// An edge that was given up stays so, unless the two have agreed on it again since
// the farewell was said.
func TestFarewellsOfThePastAreIgnored(t *testing.T) {
	w := newWireless(t, "released", 1, false)
	agree := func() {
		w.ask(0)
		w.deliver(0)
		w.deliver(0)
	}
	agree()
	old := Request{Kind: Farewell, Own: graph.Entry{Peer: w.id(0)}, Turn: w.link(0).turn}
	w.link(1).renewed = longAgo
	agree()
	w.step(1, Asked{old})
	if w.link(1) == nil {
		t.Error("a farewell from before the last agreement ends the edge")
	}
	old.Turn++
	w.step(1, Asked{old})
	if w.link(1) != nil {
		t.Error("a farewell does not end the edge")
	}
}

// Of each edge at least one end knows that it asked, or nobody would give it up for a
// better one: also when the two asked at the same time, and when the answer was lost.
func TestSomebodyHasAskedForEachEdge(t *testing.T) {
	for name, come := range map[string]func(w *wireless){
		"one asked":  func(w *wireless) { w.hope(0); w.settle() },
		"both asked": func(w *wireless) { w.hope(0); w.hope(1); w.settle() },
		"both asked, and both were answered before either heard": func(w *wireless) {
			w.hope(0)
			w.hope(1)
			w.deliver(0)
			w.deliver(1)
			w.settle()
		},
		"both asked, and one was answered before the other was asked": func(w *wireless) {
			w.hope(0)
			w.hope(1)
			w.deliver(0)
			w.deliver(0)
			w.settle()
		},
		"the answer was lost": func(w *wireless) {
			w.hope(0)
			w.deliver(0)
			w.lose(0)
			w.ask(1)
			w.settle()
		},
	} {
		w := newWireless(t, "released", 3, true)
		come(w)
		for i := range 2 {
			if l := w.link(i); l == nil {
				t.Fatalf("%s: there is no edge", name)
			}
		}
		if w.link(0).invited && w.link(1).invited {
			t.Errorf("%s: each end believes that the other one did", name)
		}
	}
}
