package schemes

import (
	"p2pnode/learner"
	"p2pnode/testnet/sim"
)

// broadcasts returns an agent whose models are given to keep with their rounds.
func broadcasts(a learner.Agent, keep func(round uint64, model []float64)) learner.Agent {
	return sim.Through(a, func(out learner.Output) learner.Output {
		for i := range out.Send {
			if m := &out.Send[i]; m.Kind == learner.KindModel {
				keep(m.Round, m.Real)
			}
		}
		return out
	})
}
