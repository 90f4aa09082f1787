package movielens

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/testnet"
	"p2pnode/testnet/sim"
)

// centre is about the mean rating; a public constant.
const centre = 3.53

// people makes the data set of a split: everyone's training ratings, none of them held
// out, and their test ratings.
func (k *kind) people(d *dataset, s *split, seed uint64) (*testnet.Dataset, error) {
	e, err := k.encode(d, s, seed)
	if err != nil {
		return nil, err
	}
	set := &testnet.Dataset{Name: "MovieLens-100K, " + k.name, Task: e.task}
	for u, lines := range byUser(d.ratings) {
		if k.donors && s.donor[u] {
			continue
		}
		p := testnet.Person{Name: strconv.Itoa(u + 1)} // the number in u.data
		for _, i := range lines {
			movie := d.ratings[i].movie
			r := learner.Record{X: e.x[movie], Y: d.ratings[i].stars - centre}
			if e.keys != nil {
				r.Key = e.keys[movie]
			}
			if e.expected != nil {
				r.Y -= e.expected[movie]
			}
			if s.test[i] {
				p.Test = append(p.Test, r)
				continue
			}
			r.Seq = sim.TrainingSeq(len(p.Records))
			p.Records = append(p.Records, r)
		}
		set.People = append(set.People, p)
	}
	return set, nil
}

// encoding says how ratings become records.
type encoding struct {
	task     *learner.Task
	x        [][]float64 // by movie
	keys     []uint64    // by movie, where the task has a key
	expected []float64   // by movie, the part of the stars above the centre that records leave out; nil: none
}

func (k *kind) encode(d *dataset, s *split, seed uint64) (*encoding, error) {
	list := s.training(d.ratings)
	if k.donors {
		list = s.donated(d.ratings)
	}
	switch {
	case k.analysed:
		return k.encodeAnalysis(d, list, seed)
	case k.reg == 0:
		t := k.genres()
		x, keys, err := metadataOf(d, t)
		return &encoding{task: t, x: x, keys: keys}, err
	case !k.raw:
		list = centred(list)
	}
	f := learnFeatures(list, k.reg, k.start, seed)
	x := make([][]float64, movies)
	for i, v := range f.of {
		x[i] = make([]float64, rank+1)
		for j := range v {
			x[i][j] = v[j] / f.bound
		}
		x[i][rank] = 1 / f.bound
	}
	return &encoding{task: k.task(f.bound), x: x}, nil
}

// metadataOf encodes the genres and the decade of each movie, and its key.
func metadataOf(d *dataset, t *learner.Task) (x [][]float64, keys []uint64, err error) {
	x, keys = make([][]float64, movies), make([]uint64, movies)
	for i, m := range d.movies {
		row, err := t.EncodeFeatures(m)
		if err != nil {
			return nil, nil, fmt.Errorf("u.item, movie %d: %w", i+1, err)
		}
		x[i], keys[i] = row.X, row.Key
	}
	return x, keys, nil
}

// encodeAnalysis encodes by an analysis of the listed ratings, with genres and decades
// known. A record's target is the rating minus the average person's, and a model says
// how a person differs from the average.
func (k *kind) encodeAnalysis(d *dataset, list []rating, seed uint64) (*encoding, error) {
	known, _, err := metadataOf(d, k.genres())
	if err != nil {
		return nil, err
	}
	less := make([]rating, len(list))
	for i, r := range list {
		less[i] = rating{r.user, r.movie, r.stars - centre}
	}
	a := analyse(less, known, analysedFactors, rand.New(rand.NewPCG(seed, 1)))
	x, expected := a.features()
	var bound float64
	for _, v := range x {
		bound = max(bound, floats.Norm(v, 2))
	}
	for _, v := range x {
		floats.Scale(1/bound, v)
	}
	return &encoding{task: k.analysisTask(len(x[0]), bound, a.variance), x: x, expected: expected}, nil
}
