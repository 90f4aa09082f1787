package movielens

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// made is a small set in the shape of MovieLens-100K: everybody rates a few movies,
// by taste in two dimensions. Users differ by seed.
func made(seed uint64, each int) *dataset {
	r := rand.New(rand.NewPCG(seed, 0))
	taste := func() [2]float64 { return [2]float64{r.NormFloat64(), r.NormFloat64()} }
	of := make([][2]float64, movies)
	for i := range of {
		of[i] = taste()
	}
	d := &dataset{hash: "made up"}
	for u := range users {
		own := taste()
		for _, m := range r.Perm(movies / 10)[:each] {
			stars := math.Round(3.5 + own[0]*of[m][0] + own[1]*of[m][1])
			d.ratings = append(d.ratings, rating{u, m, min(max(stars, 1), 5)})
		}
	}
	for range movies {
		d.movies = append(d.movies, func(column string) (string, bool) {
			switch column {
			case "genres":
				return "Drama|War", true
			case "year":
				return "1994", true
			}
			return "", false
		})
	}
	return d
}

// published100K returns the real data, which is not part of the program.
func published100K(t *testing.T) *dataset {
	t.Helper()
	shared := os.Getenv("P2PNODE_SHARED")
	if shared == "" {
		t.Skip("P2PNODE_SHARED does not name a directory with data/ml-100k")
	}
	d, err := read(shared + "/data/ml-100k")
	if err != nil {
		t.Fatal(err)
	}
	return d
}
