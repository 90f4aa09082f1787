package attack

import (
	"context"
	"fmt"
	"time"

	"p2pnode/testnet/sim"
)

// sybils lets ten times as many hostile identities as honest ones try to take over the
// graph, under virtual time: 10,000 in 64 parts of the network, and as many each in a
// part of its own.
func sybils() Scenario {
	return Scenario{
		Name:  "sybils",
		About: "ten hostile identities for each honest one offer each other in every exchange, ask for edges, and claim to be everybody's like",
		Run:   runSybils,
	}
}

// Numbers of the honest nodes' addresses, in parts of the network as long as those of
// an internet provider, and of the crowd.
const (
	homes    = 600
	fewHoles = 64
	anywhere = 100_000
)

func runSybils(ctx context.Context, o Options) ([]Bar, error) {
	var bars []Bar
	for _, rule := range []string{"random", "profile", "released"} {
		for _, nets := range []int{fewHoles, anywhere} {
			if err := ctx.Err(); err != nil {
				return bars, err
			}
			if o.Quick && nets == fewHoles {
				continue // this half is easier to withstand
			}
			bars = append(bars, besiege(o, rule, nets)...)
		}
	}
	return bars, nil
}

// besiege runs one siege. Each share is the smallest during the attack.
func besiege(o Options, rule string, nets int) []Bar {
	s := sim.NewSiege(rule, o.several(100, 1000), 11)
	if o.Quick {
		s.Attack, s.Rate = 4*time.Minute, 0.5
	}
	s.HonestNets, s.HostileNets = homes, nets
	least := sim.Besieged{Edges: 1, Weight: 1, View: 1}
	recovered := -time.Second
	s.Look = func(b sim.Besieged) {
		if left := b.At - s.Form - s.Attack; left >= 0 {
			if recovered < 0 && b.Short <= 0.05 {
				recovered = left
			}
			return
		}
		least.Edges, least.Weight, least.View = min(least.Edges, b.Edges), min(least.Weight, b.Weight), min(least.View, b.View)
	}
	s.Run()
	name := fmt.Sprintf("%s, %d nets", rule, nets)
	if nets == anywhere {
		name = rule + ", any net"
	}
	o.Say(fmt.Sprintf("%s: 95 %% of the nodes have all their neighbours %v after the crowd has left, or less", name, recovered.Round(time.Second)))
	return []Bar{
		atLeast("4 eclipse: edges, "+name, least.Edges, 0.5, ""),
		atLeast("4 eclipse: weight, "+name, least.Weight, 0.3, ""),
		atLeast("4 eclipse: view, "+name, least.View, 0.25, ""),
	}
}
