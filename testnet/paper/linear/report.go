package linear

import (
	"fmt"

	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// report makes the report of what is done.
func (s sizes) report(done paper.Done) (*paper.Report, error) {
	r := &paper.Report{Notes: notes}
	for _, p := range s.dimensions {
		for _, m := range methods() {
			if err := s.addRow(r, done, m, s.agents, p); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range s.large {
		for _, m := range methods() {
			if m.key == readingsKey || m.key == togetherKey {
				continue
			}
			if err := s.addRow(r, done, m, 1000, p); err != nil {
				return nil, err
			}
		}
	}
	r.Verdict, r.Summary = s.verdict(done), summary(r.Rows)
	for _, section := range []page.Section{
		s.figure1Section(done), s.dimensionSection(done), s.tradeOffSection(done), s.sizeSection(done), s.warmSection(done), s.localSection(done), s.allocationSection(done),
	} {
		if len(section.Charts)+len(section.Tables) > 0 {
			r.Sections = append(r.Sections, section)
		}
	}
	return r, nil
}

func (s sizes) addRow(r *paper.Report, done paper.Done, m method, n, p int) error {
	row, ok, err := s.row(done, m, n, p)
	if ok {
		r.Rows = append(r.Rows, row)
	}
	return err
}

// summary is the main result. It is for 25 features, as in the paper, if these were
// computed.
func summary(rows []paper.Row) string {
	for _, p := range []int{25, 20} {
		for _, r := range rows {
			if !r.Valid || r.Alone == nil || r.Setting != fmt.Sprintf("p=%d, n=100: Gaussian, with silent fit", p) || *r.Epsilon != epsilons[0] {
				continue
			}
			text := fmt.Sprintf("With %d features, at epsilon %.4g and delta exp(-5), the personal models are right in %.1f%% of the tests, the tuned lone models in %.1f%%.",
				p, *r.Epsilon, 100**r.Accuracy, 100**r.Alone)
			if published, there := publishedAccuracy[p]; there {
				text += fmt.Sprintf(" The paper has %.1f%%, without that privacy, and %.1f%% alone.", 100*published[fmt.Sprint(*r.Epsilon)], 100*published[local])
			}
			return text
		}
	}
	return ""
}

var notes = []string{
	"Alone is fitted by each person to her own records: with lambda = 1/m as in the paper, and tuned. Together without privacy is equation 4 through the agents, with the mean loss and the best mu. Laplace and Gaussian are what is private: the shared models that the agents send, and, with silent fit, what an owner predicts with.",
	"The problem: 100 people with 10 to 100 records each, features uniform in [-1, 1]^p and labels by the side of a target model, one in twenty turned round, in the tests too. The first two coordinates of a target model are N(0, 1/2) and the others 0. In full R^p no two targets would be alike and the paper's graph would have no edges.",
	"The similarity graph is public, as in the paper. It comes from the target models: the two numbers that it is made of would be enough to predict without any data. Nothing here uses them but the weights.",
	"The paper's private curves agree best with a reading in which L_i is the sum of the records' losses and the noise is that for their mean. It is far from private at the epsilon it states; true_epsilon is what replacing one record in [-1, 1]^p of a person with 100 records can really cost. Equation 6 to the letter, with one update, its best number, is not private either: its L0 = 1 bounds gradients of raw features in the wrong norm.",
	"Valid rows run through the product's agents, accountant and noise in the simulator: per-record gradients clipped, exact composition, and a silent fit of each person's own model around what she has heard, which is never sent.",
	"Constants were chosen on the seeds 1001 to 1003, without spending budget, and the numbers of records are public. Published accuracies are those of the paper's figures.",
	"The paper's 0.05 for a private warm start is spent on the updates: see there what it gives.",
}
