// Package crowd is experiment "crowd" of testnet paper: what a million people with ten
// records each learn from each other, through the agents of the product under virtual
// time, and what it takes to run them.
package crowd

import (
	"fmt"

	"p2pnode/testnet/paper"
)

// People are how many there are unless said otherwise.
const (
	People      = 1_000_000
	quickPeople = 2000
	fewest      = 100
	most        = 10_000_000
)

// Experiment describes the experiment.
func Experiment() paper.Experiment {
	return paper.Experiment{
		Name:  "crowd",
		Title: "A crowd of people with ten records each",
		About: fmt.Sprintf("The linear classification problem of Bellet et al. 2018, section 5.1, for a crowd: each person has a target model of her own, "+
			"%d records of %d features, and %d neighbours whose target models are alike. How often models err is measured on fresh records of the first %s people, "+
			"by the number of wakes of each: alone, together without privacy, and within a budget of epsilon 1 and delta 1e-6. --people says how many there are.",
			records, features, neighbours, grouped(sampled)),
		UsesPeople: true,
		Apart:      "It takes 11 GB of memory and half an hour of two processors",
		Plan: func(o paper.Options) (*paper.Plan, error) {
			s, err := sizesOf(o)
			if err != nil {
				return nil, err
			}
			return s.plan(), nil
		},
	}
}

func (s sizes) plan() *paper.Plan {
	return &paper.Plan{
		Identity: fmt.Sprintf("crowd, people %d, measured %d, seeds %v", s.people, s.sample, s.seeds),
		Seeds:    len(s.seeds), Cells: s.cells(), Report: s.report,
	}
}

// sizes say how much to compute.
type sizes struct {
	people, sample int
	seeds          []uint64
}

// sampled is how many people are measured: their errors differ by some .06, so that the
// interval of the mean is below .001.
const sampled = 16_000

func sizesOf(o paper.Options) (sizes, error) {
	s := sizes{people: People, sample: sampled}
	if o.Quick {
		s = sizes{people: quickPeople, sample: 100}
	}
	if o.People != 0 {
		s.people = o.People
	}
	if s.people < fewest || s.people > most {
		return s, fmt.Errorf("%d people: choose from %d to %d with --people", s.people, fewest, most)
	}
	s.sample = min(s.sample, s.people)
	for k := range max(1, o.Seeds) {
		s.seeds = append(s.seeds, o.Seed+uint64(k))
	}
	return s, nil
}
