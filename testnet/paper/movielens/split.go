package movielens

import (
	_ "embed"
	"math/rand/v2"
)

// split says which ratings are for the test and which people are donors.
type split struct {
	test  []bool // by rating
	donor []bool // by user
}

// drawn holds five splits that were drawn once at random, a fifth of each person's
// ratings and a fifth of the people, so that everyone's numbers are for the same
// splits: for each, a bit for every line of u.data and one for every user. They contain
// positions of lines, no ratings.
//
//go:embed splits.bin
var drawn []byte

const (
	fixedSplits = 5
	testBytes   = (ratings + 7) / 8
	donorBytes  = (users + 7) / 8
)

// splitOf returns the split of a seed: 1 to 5 are the fixed ones, others are drawn in
// the same way.
func splitOf(d *dataset, seed uint64) split {
	if seed < 1 || seed > fixedSplits {
		return draw(d, seed)
	}
	from := drawn[(seed-1)*(testBytes+donorBytes):]
	return split{test: bits(from, ratings), donor: bits(from[testBytes:], users)}
}

func bits(b []byte, n int) []bool {
	list := make([]bool, n)
	for i := range list {
		list[i] = b[i/8]>>(i%8)&1 == 1
	}
	return list
}

// share is the fraction of ratings to test on and of people who are donors.
const share = 0.2

func draw(d *dataset, seed uint64) split {
	r := rand.New(rand.NewPCG(seed, 0))
	s := split{test: make([]bool, len(d.ratings)), donor: make([]bool, users)}
	for _, lines := range byUser(d.ratings) {
		for _, k := range r.Perm(len(lines))[:fifth(len(lines))] {
			s.test[lines[k]] = true
		}
	}
	for _, u := range r.Perm(users)[:fifth(users)] {
		s.donor[u] = true
	}
	return s
}

// fifth is share n, rounded.
func fifth(n int) int { return int(share*float64(n) + 0.5) }

// byUser lists the numbers of each user's ratings.
func byUser(list []rating) [][]int {
	lines := make([][]int, users)
	for i, r := range list {
		lines[r.user] = append(lines[r.user], i)
	}
	return lines
}
