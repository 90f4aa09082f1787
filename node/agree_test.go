package node

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// wireless is two nodes whose requests for their one edge go by hand, in any order,
// and get lost, while what is public of them changes and they are killed.
type wireless struct {
	t      *testing.T
	random *rand.Rand
	nodes  [2]*Node
	ends   [2]*neighbourhood
	asked  [2]*gossip.EdgeRequest // under way from each end, and
	reply  [2]*gossip.EdgeReply   // answered already
	lossy  bool
	round  uint64
}

func newWireless(t *testing.T, rule string, seed uint64, lossy bool) *wireless {
	t.Helper()
	task := lineTask()
	task.Graph = learner.Graph{Rule: rule, Degree: 2, Gamma: 1}
	if rule == "profile" {
		task.Graph.Profile = task.Dimension()
	}
	w := &wireless{t: t, random: rand.New(rand.NewPCG(seed, 1)), lossy: lossy}
	for i := range w.ends {
		w.nodes[i] = testNode(t, task, nil, func(c *Config) { c.Profile = make([]float64, task.Graph.Profile) })
		w.ends[i] = attachedSession(t, w.nodes[i]).hood
	}
	return w
}

func (w *wireless) id(i int) peer.ID { return w.nodes[i].self }

func (w *wireless) link(i int) *link { return w.ends[i].links[w.id(1-i)] }

// ask begins a request, as a node does that asks one at a time.
func (w *wireless) ask(i int) {
	if w.asked[i] != nil {
		return
	}
	q, err := w.ends[i].request(errand{to: peer.AddrInfo{ID: w.id(1 - i)}, kind: gossip.EdgeAsk})
	if err != nil {
		w.t.Fatal(err)
	}
	w.asked[i] = &q
}

// deliver brings the request of end i to the other one, or the answer back.
func (w *wireless) deliver(i int) {
	q, r := w.asked[i], w.reply[i]
	switch {
	case q == nil:
	case r == nil:
		if l := w.link(1 - i); l != nil && w.random.IntN(4) > 0 {
			l.renewed = time.Time{} // some time has passed
		}
		r := w.ends[1-i].answer(w.t.Context(), w.id(i), *q)
		w.reply[i] = &r
	default:
		w.asked[i], w.reply[i] = nil, nil
		w.ends[i].outcome(w.id(1-i), *q, *r)
	}
}

// lose drops what is under way for end i.
func (w *wireless) lose(i int) {
	if w.asked[i] != nil && w.lossy {
		w.asked[i], w.reply[i] = nil, nil
		w.ends[i].unanswered(errand{to: peer.AddrInfo{ID: w.id(1 - i)}, kind: gossip.EdgeAsk})
	}
}

// kill restarts a node from its disk.
func (w *wireless) kill(i int) {
	if !w.lossy {
		return
	}
	w.asked[i], w.reply[i] = nil, nil
	edges, err := w.nodes[i].store.Edges()
	if err != nil {
		w.t.Fatal(err)
	}
	clear(w.ends[i].links)
	if err := w.ends[i].recall(edges); err != nil {
		w.t.Fatal(err)
	}
	if l := w.link(i); l != nil {
		l.doubt = true // a restarted node asks at once
	}
}

// publish changes what is public of a node, not so much that the two part.
func (w *wireless) publish(i int) {
	w.round++
	v := []float64{1 + w.random.Float64(), w.random.Float64(), w.random.Float64()}
	w.ends[i].declare(graph.End{Round: w.round, Vector: v, Std: 0.01})
}

func (w *wireless) step() {
	i := w.random.IntN(2)
	switch w.random.IntN(12) {
	case 0, 1, 2:
		w.ask(i)
	case 3, 4:
		w.publish(i)
	case 5:
		w.lose(i)
	case 6:
		w.kill(i)
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
			w.link(i).renewed = time.Time{}
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
		edges, err := w.nodes[i].store.Edges()
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range edges {
			stored[i] = e.Weight
		}
	}
	if held[0] != held[1] || held != stored {
		w.t.Fatalf("%s: the ends hold %v, and %v on disk", when, held, stored)
	}
}

// However requests cross, repeat and are refused for being early, and whatever is
// published meanwhile, both ends come to the same weight, to the bit and on both
// disks: without loss once all is delivered, with loss and kills once whoever got no
// answer has asked again.
func TestEndsAgreeHoweverRequestsCross(t *testing.T) {
	for _, rule := range []string{"profile", "released"} {
		for _, lossy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/lossy=%v", rule, lossy), func(t *testing.T) {
				t.Parallel()
				w := newWireless(t, rule, 7, lossy)
				weights := make(map[float64]bool)
				for k := range 60 {
					for range w.random.IntN(12) {
						w.step()
					}
					w.settle()
					w.agreed(fmt.Sprintf("settled %d times", k+1))
					if l := w.link(0); l != nil {
						weights[l.weight] = true
					}
				}
				if len(weights) < 10 {
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
	old := gossip.EdgeRequest{Kind: gossip.EdgeDrop, Turn: w.link(0).turn}
	w.link(1).renewed = time.Time{}
	agree()
	w.ends[1].answer(t.Context(), w.id(0), old)
	if w.link(1) == nil {
		t.Error("a farewell from before the last agreement ends the edge")
	}
	old.Turn++
	w.ends[1].answer(t.Context(), w.id(0), old)
	if w.link(1) != nil {
		t.Error("a farewell does not end the edge")
	}
}
