package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// Weather is churn as phones have it: they leave in bursts, as when many board a
// train or go to sleep. Bursts come at exponential times of mean every. In each a
// random share of up to half of the n participants leaves within a time of spread,
// each for an exponential time of mean down. The same seed gives the same times.
func Weather(n int, every, spread, down, until time.Duration, seed uint64) []Away {
	r := rand.New(rand.NewPCG(seed, 13))
	wait := func(mean time.Duration) time.Duration { return time.Duration(float64(mean) * r.ExpFloat64()) }
	back := make([]time.Duration, n)
	var list []Away
	for burst := 1 + wait(every); burst < until; burst += wait(every) {
		share := r.Float64() / 2
		for i := range n {
			if r.Float64() >= share {
				continue
			}
			from := burst + time.Duration(float64(spread)*r.Float64())
			if from <= back[i] || from >= until {
				continue // has not come back yet
			}
			back[i] = from + 1 + wait(down)
			list = append(list, Away{Who: i, From: from, To: back[i]})
		}
	}
	slices.SortStableFunc(list, func(a, b Away) int { return cmp.Compare(a.Who, b.Who) })
	return list
}
