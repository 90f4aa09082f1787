package movielens

import (
	"cmp"
	"math"
	"slices"
)

// userMeans is each user's mean rating.
func userMeans(list []rating) []float64 {
	sum, n := make([]float64, users), make([]float64, users)
	for _, r := range list {
		sum[r.user] += r.stars
		n[r.user]++
	}
	for u := range sum {
		sum[u] /= max(1, n[u])
	}
	return sum
}

// nearest joins everyone with the degree others whose ratings have the largest cosine
// with theirs; an edge holds both ways. It looks at raw ratings, so such a graph tells
// about them.
func nearest(list []rating, degree int) [][]int {
	vectors := make([][]float64, users)
	for u := range vectors {
		vectors[u] = make([]float64, movies)
	}
	lengths := make([]float64, users)
	for _, r := range list {
		vectors[r.user][r.movie] = r.stars
		lengths[r.user] += r.stars * r.stars
	}
	products := make([][]float64, users)
	for u := range products {
		products[u] = make([]float64, users)
	}
	for _, r := range list { // only what was rated counts
		for v, other := range vectors {
			if s := other[r.movie]; s != 0 {
				products[r.user][v] += r.stars * s
			}
		}
	}
	joined := make([][]int, users)
	for u := range users {
		cosine := func(v int) float64 { return products[u][v] / math.Sqrt(lengths[u]*lengths[v]) }
		var others []int
		for v := range users {
			if v != u {
				others = append(others, v)
			}
		}
		slices.SortStableFunc(others, func(v, w int) int { return cmp.Compare(cosine(w), cosine(v)) })
		for _, v := range others[:degree] {
			joined[u], joined[v] = append(joined[u], v), append(joined[v], u)
		}
	}
	for u := range joined {
		slices.Sort(joined[u])
		joined[u] = slices.Compact(joined[u])
	}
	return joined
}
