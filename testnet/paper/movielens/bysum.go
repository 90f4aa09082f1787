package movielens

import (
	"fmt"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet"
	"p2pnode/testnet/paper"
)

// sumGuarantee is the guarantee of the private sum.
var sumGuarantee = guarantee{1, smallDelta}

func (e *experiment) sumKey(i int) string { return metadata.key(e.seeds[i]) + ", by a sum of votes" }

// The names of what a cell of a private sum measures: everyone's errors.
const (
	privateSum = "private"
	freeSum    = "free"
	newcomers  = "newcomers"
)

// catalogue is the catalogue of the movies, with their genres, for the task's key.
func (d *dataset) catalogue(t *learner.Task) (*learner.Catalogue, error) {
	return t.NewCatalogue(func(yield func(learner.Row) bool) {
		for i, m := range d.movies {
			cell := func(column string) (string, bool) {
				if column == "year" {
					return "", false
				}
				return m(column)
			}
			if !yield(learner.Row{Line: i + 1, Cell: cell}) {
				return
			}
		}
	})
}

// bySum lets the people of a split add up what they think of each movie, and measures
// their models based on that.
func (e *experiment) bySum(i int) (paper.Numbers, error) {
	set, err := e.sets[metadata.key(e.seeds[i])]()
	if err != nil {
		return nil, err
	}
	task := metadata.tunedAlone(set.Task)
	catalogue, err := e.data.catalogue(task)
	if err != nil {
		return nil, err
	}
	sum := testnet.PrivateSum{
		Task: task, Catalogue: catalogue, Recipes: []learner.Recipe{{Kind: "items", Share: 1}},
		Budget: privacy.Budget{Epsilon: sumGuarantee.epsilon, Delta: sumGuarantee.delta}, Seed: e.seeds[i],
	}
	var records [][]learner.Record
	for j := range set.People {
		records = append(records, set.People[j].Records)
	}
	private, err := sum.Learn(records)
	if err != nil {
		return nil, err
	}
	sum.Budget = privacy.Budget{}
	free, err := sum.Learn(records)
	if err != nil {
		return nil, err
	}
	measured := testnet.Dataset{Task: task, People: set.People}
	n := paper.Numbers{}
	for name, known := range map[string]func(int) (*learner.Known, error){
		privateSum: private.Known, freeSum: free.Known, newcomers: private.Newcomer,
	} {
		if n[name], err = measured.ErrorsKnowing(known); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// sumRows are the rows of private sums; the note of each is its verdict.
func (e *experiment) sumRows(done paper.Done) []paper.Row {
	var rows []paper.Row
	free, _ := e.sumPairs(freeSum, done)
	for _, of := range []struct {
		name, setting string
		g             guarantee
	}{
		{privateSum, "private sum (a committee of 4, 1 may collude)", sumGuarantee},
		{freeSum, "sum without noise", guarantee{}},
		{newcomers, "newcomers, who added nothing to the private sum", sumGuarantee},
	} {
		pairs, with := e.sumPairs(of.name, done)
		if len(pairs) == 0 {
			continue
		}
		r := row(fmt.Sprintf("%s: %s", metadata.name, of.setting), of.g, with, 0)
		r.Valid = of.g.epsilon > 0
		e.gain(&r, pairs)
		r.Note = testnet.Judge(testnet.Evidence{Pairs: pairs, Free: free, OneDraw: true, Seed: e.seeds[0]}).String()
		rows = append(rows, r)
	}
	return rows
}

// sumPairs is pairs of a private sum.
func (e *experiment) sumPairs(name string, done paper.Done) (pairs []testnet.Pair, with []float64) {
	return e.pairsOf(metadata, done, func(i int) []float64 { return done[e.sumKey(i)][name] })
}
