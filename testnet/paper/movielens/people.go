package movielens

import (
	"fmt"
	"strconv"

	"p2pnode/learner"
	"p2pnode/testnet"
)

// centre is about the mean rating; a public constant.
const centre = 3.53

// people makes the data set of a split: everybody's training ratings, none of them
// held out, and her test ratings.
func (k *kind) people(d *dataset, s *split, seed uint64) (*testnet.Dataset, error) {
	t, x, err := k.encode(d, s, seed)
	if err != nil {
		return nil, err
	}
	set := &testnet.Dataset{Name: "MovieLens-100K, " + k.name, Task: t}
	for u, lines := range byUser(d.ratings) {
		if k.donors && s.donor[u] {
			continue
		}
		p := testnet.Person{Name: strconv.Itoa(u + 1)} // the number in u.data
		for _, i := range lines {
			r := learner.Record{X: x[d.ratings[i].movie], Y: d.ratings[i].stars - centre}
			if s.test[i] {
				p.Test = append(p.Test, r)
				continue
			}
			r.Seq = afterHeldOut(p.Records)
			p.Records = append(p.Records, r)
		}
		set.People = append(set.People, p)
	}
	return set, nil
}

// afterHeldOut is the arrival number of a record after these that is not held out.
func afterHeldOut(records []learner.Record) learner.Seq {
	next := learner.Seq(1)
	if n := len(records); n > 0 {
		next = records[n-1].Seq + 1
	}
	for next.HeldOut() {
		next++
	}
	return next
}

// encode returns the task and each movie's encoded features.
func (k *kind) encode(d *dataset, s *split, seed uint64) (*learner.Task, [][]float64, error) {
	x := make([][]float64, movies)
	if k.reg == 0 {
		t := k.genres()
		for i, m := range d.movies {
			var err error
			if x[i], err = t.EncodeFeatures(m); err != nil {
				return nil, nil, fmt.Errorf("movielens: u.item, movie %d: %w", i+1, err)
			}
		}
		return t, x, nil
	}
	list := s.training(d.ratings)
	if k.donors {
		list = s.donated(d.ratings)
	}
	if !k.raw {
		list = centred(list)
	}
	f := learnFeatures(list, k.reg, seed)
	for i, v := range f.of {
		x[i] = make([]float64, rank+1)
		for j := range v {
			x[i][j] = v[j] / f.bound
		}
		x[i][rank] = 1 / f.bound
	}
	return k.task(f.bound), x, nil
}
