// Package linear is experiment "linear" of testnet paper: the synthetic problem of
// Bellet, Guerraoui, Taziki, Tommasi, "Personalized and Private Peer-to-Peer Machine
// Learning" (AISTATS 2018), section 5.1, figures 1 to 4. Valid methods run through the
// agents of the product; readings of the paper that are not private at the epsilon they
// state run in a separate plain loop ([reading]).
package linear

import (
	"fmt"

	"p2pnode/testnet/paper"
	"p2pnode/testnet/paper/nodes"
)

// Experiment describes the experiment.
func Experiment() paper.Experiment {
	return paper.Experiment{
		Name:  "linear",
		Title: "Linear classification by 100 people with 10 to 100 records each",
		About: "The synthetic problem of Bellet et al. 2018, section 5.1: coordinate descent and ADMM by iterations and by vectors sent (figure 1), " +
			"accuracy by the number of features, of updates and of records (figure 2), local differential privacy and the spread of the budget. " +
			"Beside the paper's numbers stand the readings of it that reproduce them, with what they really guarantee, and what is possible within the same epsilon.",
		UsesReal: true,
		Plan: func(o paper.Options) (*paper.Plan, error) {
			s := sizesOf(o)
			p := &paper.Plan{
				Identity: fmt.Sprintf("linear, seeds %v, quick %v", s.seeds, o.Quick),
				Seeds:    len(s.seeds),
				Cells:    s.cells(),
				Report:   func(done paper.Done) (*paper.Report, error) { return s.report(done) },
			}
			nodes.Add(p, o, s.overNodes())
			return p, nil
		},
	}
}
