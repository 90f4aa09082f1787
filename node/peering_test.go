package node

import (
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"
	"p2pnode/peering"
)

// recordedPeering is all that went into and came out of what decides about a node's
// neighbours. It is read when the node has stopped.
type recordedPeering struct {
	trace          []peering.Event
	outs           []peering.Output
	declared, lost atomic.Bool // such an input came
}

func (r *recordedPeering) note(now time.Duration, in peering.Input, out peering.Output) {
	switch in.(type) {
	case peering.Declared:
		r.declared.Store(true)
	case peering.Lost:
		r.lost.Store(true)
	}
	r.trace, r.outs = append(r.trace, peering.Event{Now: now, Input: in}), append(r.outs, out)
}

// What happened to nodes on a real network, fed into fresh machines, leads to the same
// outputs and the same state to the bit (DESIGN: peering is a function of its inputs).
func TestReplayOfRealPeering(t *testing.T) {
	t.Parallel()
	task := lineTask()
	count, degree := 5, 2
	if testing.Short() {
		count, degree = 4, 3 // nobody is declined, and has to wait before it asks again
	}
	task.Graph.Rule, task.Graph.Gamma, task.Graph.Degree = "released", 1, degree
	task.Release.Epsilon = 8
	nodes, stops := make([]*Node, count), make([]func(), count)
	traces := make([]recordedPeering, count)
	machines, configs := make([]*peering.Neighbourhood, count), make([]peering.Config, count)
	seeded := func(seed uint64) func() (rand.Source, error) {
		return func() (rand.Source, error) { seed++; return rand.NewPCG(seed, 3), nil }
	}
	var bootstrap []string
	for i := range nodes {
		// All have the same records, and little noise: no two look so unlike that they do
		// not belong together.
		records := lineRecords(rand.New(rand.NewPCG(53, 54)), 30)
		nodes[i] = testNode(t, task, records, func(c *datadir.Config) { c.Bootstrap = bootstrap })
		nodes[i].observePeering = traces[i].note
		nodes[i].source = seeded(uint64(100 * i))
		stops[i] = start(t, nodes[i])
		if i == 0 {
			bootstrap = waitForAddrs(t, nodes[0])
		}
	}
	require.Eventually(t, "all have neighbours, have released and have said what they are compared by", func() bool {
		for i, n := range nodes {
			if s := status(t, n); s.Listening < 2 || s.Round < 2 || !traces[i].declared.Load() {
				return false
			}
			machines[i], configs[i] = n.session.hood.machine, n.session.hood.config
		}
		return true
	})
	if _, err := nodes[0].Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	require.Eventually(t, "its neighbours know", func() bool { return status(t, nodes[0]).Neighbours == 0 })
	stops[0]()
	stops[1]()
	require.Eventually(t, "somebody has lost a neighbour", func() bool {
		for i := range traces {
			if traces[i].lost.Load() {
				return true
			}
		}
		return false
	})
	for _, stop := range stops[2:] {
		stop()
	}
	kinds := make(map[string]bool)
	for i := range nodes {
		again := seeded(uint64(100 * i))
		configs[i].Choices, _ = again()
		configs[i].View, _ = again()
		fresh := peering.New(configs[i])
		outs := peering.Replay(fresh, traces[i].trace)
		for k := range outs {
			if !reflect.DeepEqual(outs[k], traces[i].outs[k]) {
				t.Fatalf("node %d, input %d (%T): %+v, and it was %+v", i, k, traces[i].trace[k].Input, outs[k], traces[i].outs[k])
			}
		}
		if !reflect.DeepEqual(fresh, machines[i]) {
			t.Errorf("node %d ends in another state", i)
		}
		for _, e := range traces[i].trace {
			kinds[reflect.TypeOf(e.Input).Name()] = true
		}
	}
	for _, kind := range []string{"Seen", "Asked", "Answered", "Lost", "Declared", "Leave", "Tick"} {
		if !kinds[kind] {
			t.Errorf("nobody got the input %s: the test is idle", kind)
		}
	}
}
