package sim

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"p2pnode/learner"
)

func checkSymmetric(t *testing.T, edges [][]learner.Edge) {
	t.Helper()
	weight := map[[2]learner.ID]float64{}
	for i, list := range edges {
		for k, e := range list {
			if e.Peer == Name(i) || !e.Live || (k > 0 && list[k-1].Peer >= e.Peer) {
				t.Fatalf("agent %d: edge %+v to itself, dead or out of order", i, e)
			}
			weight[[2]learner.ID{Name(i), e.Peer}] = e.Weight
		}
	}
	for ends, w := range weight {
		if weight[[2]learner.ID{ends[1], ends[0]}] != w {
			t.Fatalf("edge %v is not symmetric", ends)
		}
	}
}

func connected(edges [][]learner.Edge) bool {
	index := map[learner.ID]int{}
	for i := range edges {
		index[Name(i)] = i
	}
	seen := map[int]bool{0: true}
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		for _, e := range edges[queue[0]] {
			if j := index[e.Peer]; !seen[j] {
				seen[j] = true
				queue = append(queue, j)
			}
		}
	}
	return len(seen) == len(edges)
}

// Neighbours on the circle are as far apart as they should be, also across the angle 0, and
// hardly anybody lacks one. Tolerance: five standard errors of a standard deviation of
// 10,000 differences, of which those at one person depend on each other, so twice that.
func TestAlikeGraph(t *testing.T) {
	const n, degree, spread = 2000, 10, 0.3
	angles := make([]float64, n)
	r := rand.New(rand.NewPCG(3, 0))
	for i := range angles {
		angles[i] = 2 * math.Pi * r.Float64()
	}
	edges := AlikeGraph(angles, degree, spread, 7)
	checkSymmetric(t, edges)
	if !connected(edges) {
		t.Error("not connected")
	}
	total, across, square := 0, 0, 0.
	for i, list := range edges {
		total += len(list)
		if len(list) > degree {
			t.Errorf("agent %d has %d edges, want at most %d", i, len(list), degree)
		}
		for _, e := range list {
			apart := angles[i] - angles[Number(e.Peer)]
			if math.Abs(apart) > math.Pi {
				across++
			}
			square += math.Pow(math.Remainder(apart, 2*math.Pi), 2)
		}
	}
	if sd := math.Sqrt(square / float64(total)); math.Abs(sd/spread-1) > 0.07 {
		t.Errorf("neighbours are %.3f apart in the root of the mean square, want %v", sd, spread)
	}
	if total < n*degree*98/100 || across == 0 {
		t.Errorf("%d edges, %d of them across the angle 0", total, across)
	}
	if !reflect.DeepEqual(edges, AlikeGraph(angles, degree, spread, 7)) {
		t.Error("the same seed gives another graph")
	}
}

func TestRandomGraph(t *testing.T) {
	for _, c := range []struct{ n, degree int }{{2, 10}, {3, 2}, {11, 10}, {50, 4}, {610, 10}} {
		edges := RandomGraph(c.n, c.degree, 7)
		checkSymmetric(t, edges)
		if !connected(edges) {
			t.Errorf("n %d, degree %d: not connected", c.n, c.degree)
		}
		var total int
		for i, list := range edges {
			total += len(list)
			if len(list) > max(2, c.degree) {
				t.Errorf("n %d: agent %d has %d edges, want at most %d", c.n, i, len(list), c.degree)
			}
		}
		if want := float64(min(c.degree, c.n-1)); float64(total)/float64(c.n) < 0.9*want {
			t.Errorf("n %d: mean degree %.2f, want about %v", c.n, float64(total)/float64(c.n), want)
		}
		if !reflect.DeepEqual(edges, RandomGraph(c.n, c.degree, 7)) {
			t.Error("the same seed gives another graph")
		}
	}
	if reflect.DeepEqual(RandomGraph(50, 4, 1), RandomGraph(50, 4, 2)) {
		t.Error("another seed gives the same graph")
	}
}

func TestProfileGraph(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	profiles := make([][]float64, 200)
	for i := range profiles {
		profiles[i] = []float64{r.NormFloat64(), r.NormFloat64()}
	}
	const degree, gamma = 8, 0.1
	edges := ProfileGraph(profiles, degree, gamma)
	checkSymmetric(t, edges)
	for i, list := range edges {
		if len(list) < degree {
			t.Errorf("agent %d has %d edges, want at least %d", i, len(list), degree)
		}
		for _, e := range list {
			j := slices.IndexFunc(profiles, func(p []float64) bool {
				return e.Weight == learner.ProfileWeight(profiles[i], p, gamma)
			})
			if j < 0 || e.Weight < 0.01 {
				t.Errorf("agent %d: weight %v is nobody's similarity", i, e.Weight)
			}
		}
	}
	everybody := ProfileGraph(profiles, len(profiles), gamma)
	for i, list := range everybody {
		similar := 0
		for j := range profiles {
			if j != i && learner.ProfileWeight(profiles[i], profiles[j], gamma) > 0 {
				similar++
			}
		}
		if len(list) != similar {
			t.Errorf("agent %d has %d edges, %d are similar", i, len(list), similar)
		}
	}
}

// An agent asks in proportion to similarity. One agent stands in the middle of
// 2,000 that are as it is and 2,000 that are half as similar; of the 1,000 it
// asks about two thirds should be the nearer ones (a little less, for they are
// used up). The standard error is below 1.5%, the tolerance above five of them.
func TestProfileGraphAsksInProportion(t *testing.T) {
	angle := math.Acos(1 + 0.1*math.Log(0.5)) // similarity one half
	profiles := [][]float64{{1, 0}}
	for k := range 4000 {
		a := angle * float64(k%2)
		profiles = append(profiles, []float64{math.Cos(a), math.Sin(a)})
	}
	asks := askProfile(profiles, 0, 1000, 0.1, rand.New(rand.NewPCG(3, 3)))
	near := 0
	for _, c := range asks {
		if c.weight > 0.75 {
			near++
		}
	}
	if share := float64(near) / float64(len(asks)); math.Abs(share-0.65) > 0.08 {
		t.Errorf("%.3f of those asked are the nearer ones, want about 0.65", share)
	}
}

func TestRingStarFull(t *testing.T) {
	for _, n := range []int{2, 3, 7} {
		for name, c := range map[string]struct {
			edges          [][]learner.Edge
			first, another int // degrees
		}{
			"ring": {Ring(n), min(2, n-1), min(2, n-1)},
			"star": {Star(n), n - 1, 1},
			"full": {Full(n), n - 1, n - 1},
		} {
			checkSymmetric(t, c.edges)
			if !connected(c.edges) || len(c.edges[0]) != c.first || len(c.edges[n-1]) != c.another {
				t.Errorf("%s of %d: degrees %d and %d, want %d and %d", name, n, len(c.edges[0]), len(c.edges[n-1]), c.first, c.another)
			}
		}
	}
}

func TestWeightsAreTheEdges(t *testing.T) {
	edges := RandomGraph(9, 4, 2)
	edges[0][0].Weight = 0.5
	w := Weights(edges)
	for i := range w {
		n := 0
		for j := range w[i] {
			if w[i][j] != 0 {
				k := slices.IndexFunc(edges[i], func(e learner.Edge) bool { return e.Peer == Name(j) })
				if k < 0 || edges[i][k].Weight != w[i][j] {
					t.Errorf("W[%d][%d] = %v is no edge", i, j, w[i][j])
				}
				n++
			}
		}
		if n != len(edges[i]) {
			t.Errorf("agent %d has %d edges, the matrix %d", i, len(edges[i]), n)
		}
	}
}
