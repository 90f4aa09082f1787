package learner_test

import (
	"fmt"
	"log"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// A task in Go, records of an owner, and her models: alone, and around what a neighbour sent.
func Example() {
	// What everybody agrees on. All keys but these three get the values that docs/tasks.md
	// says, and nodes that say the same get the same task.
	task := (&learner.Task{
		Name: "heating",
		Features: []learner.Feature{
			{Name: "outside", Kind: "number", Min: -20, Max: 40},
			{Name: "home", Kind: "set", Values: []string{"flat", "house"}},
		},
		Target: learner.Target{Name: "kwh", Min: 0, Max: 100},
	}).Complete(learner.Keys{"name": true, "features": true, "target": true}, learner.Expected{})
	if err := task.Validate(); err != nil {
		log.Fatal(err)
	}

	// Cells come as text. Encode leaves Seq and Cohort to whoever stores the record: Seq
	// counts arrivals from 1, and every fifth is held out of training; the records of a cohort
	// share one budget. Within a node the store sets both.
	var hers []learner.Record
	for _, row := range []map[string]string{
		{"outside": "-5", "home": "house", "kwh": "62"},
		{"outside": "4", "home": "house", "kwh": "59"},
		{"outside": "10", "home": "house", "kwh": "48"},
	} {
		r, err := task.Encode(func(name string) (string, bool) { cell, ok := row[name]; return cell, ok })
		if err != nil {
			log.Fatal(err)
		}
		r.Seq, r.Cohort = learner.Seq(len(hers)+1), 1
		hers = append(hers, r)
	}

	// EncodeExample takes numbers: here the temperature, then a 1 for each value that is so.
	var neighbours []learner.Record
	for i := range 60 {
		outside, house := float64(i%30-10), float64(i/30)
		r, err := task.EncodeExample([]float64{outside, 1 - house, house}, 50-outside+10*house)
		if err != nil {
			log.Fatal(err)
		}
		r.Seq, r.Cohort = learner.Seq(i+1), privacy.Cohort(1)
		neighbours = append(neighbours, r)
	}

	// Without a neighbour the prior is zero. What nodes send each other is not such a fit, but
	// a shared model with noise, which an Agent makes.
	none := make([]float64, task.Dimension())
	theirs := learner.FitPersonal(task, neighbours, none).Theta
	alone := learner.FitPersonal(task, hers, none).Theta
	among := learner.FitAmong(task, hers, learner.State{
		Model: none,
		Heard: []learner.Heard{{Peer: "neighbour", Weight: 1, Round: 1, Model: theirs}},
	}).Theta

	asked := map[string]string{"outside": "25", "home": "house"}
	x, err := task.EncodeFeatures(func(name string) (string, bool) { cell, ok := asked[name]; return cell, ok })
	if err != nil {
		log.Fatal(err)
	}
	// It takes 35 kWh, by the rule that made the neighbour's records.
	fmt.Printf("alone %.0f kWh, with the neighbour %.0f kWh\n", task.Predict(alone, x.X), task.Predict(among, x.X))
	// Output:
	// alone 50 kWh, with the neighbour 38 kWh
}
