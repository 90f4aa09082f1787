package movielens

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"p2pnode/privacy/accountant"
)

// reading is one reading of section 5.2 of Bellet et al. 2018, which can be understood
// in several ways. Both readings take factors of the raw ratings, ratings less each
// user's mean, the ten nearest neighbours by the cosine of their ratings, mu = 0.04,
// lambda_i = 1/m_i, a clip of 10 and Laplace noise of scale 2 C/(eps_t m_i) with eps_t
// from their Theorem 1.
type reading struct {
	name string
	// sum means that L_i is the sum of the losses, as in the paper's appendix C, and
	// that the noise is added to the gradient of the sum, clipped in l2. Otherwise both
	// are of the mean, as in (1) and (6), clipped in l1, as Laplace noise needs.
	sum bool
	// Numbers of updates of each agent, without noise and with it. The one that is best
	// on the test ratings of a split counts, as in the paper.
	quiet, updates []int
}

// readings returns the two. Only in the first do a few updates move the models far.
func readings(quick bool) []reading {
	few := []int{5, 8, 12, 20, 35, 50}
	r := []reading{
		{name: "losses summed", sum: true, quiet: few, updates: few},
		{name: "losses averaged", quiet: []int{20, 400}, updates: []int{1, 5, 20}},
	}
	if quick {
		r = r[:1]
	}
	return r
}

// tried are the numbers of updates tried at an epsilon; 0 is without noise.
func (r reading) tried(eps float64) []int {
	if eps == 0 {
		return r.quiet
	}
	return r.updates
}

const (
	belletMu     = 0.04
	belletClip   = 10
	belletDegree = 10
	// Of the factors; not in the paper.
	belletReg   = 0.03
	belletStart = 0.5
)

// bellet is the problem under a reading.
type bellet struct {
	reading
	agents     []belletAgent
	neighbours [][]int
	norm       float64 // the largest l1 norm of a movie's features
}

// belletAgent holds ratings minus the user's mean, and what its updates need.
type belletAgent struct {
	x, testX   [][]float64
	y, testY   []float64
	scale      float64 // factor of the sum of the losses in L_i: 1 or 1/m
	lambda     float64
	confidence float64 // m over the largest m
	alpha      float64
}

func newBellet(d *dataset, s *split, seed uint64, r reading) *bellet {
	training := s.training(d.ratings)
	x := learnFeatures(training, belletReg, belletStart, seed).of
	b := &bellet{reading: r, agents: make([]belletAgent, users), neighbours: nearest(training, belletDegree)}
	for _, v := range x {
		b.norm = max(b.norm, floats.Norm(v, 1))
	}
	means := userMeans(training)
	for i, r := range d.ratings {
		a := &b.agents[r.user]
		if v := r.stars - means[r.user]; s.test[i] {
			a.testX, a.testY = append(a.testX, x[r.movie]), append(a.testY, v)
		} else {
			a.x, a.y = append(a.x, x[r.movie]), append(a.y, v)
		}
	}
	most := 0
	for i := range b.agents {
		most = max(most, len(b.agents[i].x))
	}
	for i := range b.agents {
		b.agents[i].prepare(most, r.sum)
	}
	return b
}

// prepare fills in the constants: alpha_i from the spectral norm of the agent's own
// data, as in the paper.
func (a *belletAgent) prepare(most int, sum bool) {
	m := float64(len(a.x))
	a.lambda, a.confidence, a.scale = 1/m, m/float64(most), 1
	if !sum {
		a.scale = 1 / m
	}
	var eigen mat.EigenSym
	largest := 0.0
	if h, _ := a.normal(); eigen.Factorize(h, false) {
		largest = floats.Max(eigen.Values(nil))
	}
	a.alpha = 1 / (1 + belletMu*a.confidence*(2*a.scale*largest+2*a.lambda))
}

// normal returns the sums of x x' and of y x.
func (a *belletAgent) normal() (*mat.SymDense, *mat.VecDense) {
	h, b := mat.NewSymDense(rank, nil), mat.NewVecDense(rank, nil)
	for j, x := range a.x {
		v := mat.NewVecDense(rank, x)
		h.SymRankOne(h, 1, v)
		b.AddScaledVec(b, a.y[j], v)
	}
	return h, b
}

// local is the minimum of L_i, the paper's purely local model.
func (a *belletAgent) local() []float64 {
	h, b := a.normal()
	for k := range rank {
		h.SetSym(k, k, h.At(k, k)+a.lambda/a.scale)
	}
	theta := make([]float64, rank)
	var factor mat.Cholesky
	if factor.Factorize(h) {
		_ = factor.SolveVecTo(mat.NewVecDense(rank, theta), b) // the matrix is positive definite
	}
	return theta
}

// error is the root mean squared error of theta on the test ratings.
func (a *belletAgent) error(theta []float64) float64 {
	var squares float64
	for j, x := range a.testX {
		d := a.testY[j] - floats.Dot(x, theta)
		squares += d * d
	}
	return math.Sqrt(squares / float64(len(a.testX)))
}

// gradient writes the gradient of the losses in L_i, each clipped.
func (a *belletAgent) gradient(dst, theta []float64, clip, norm float64) {
	clear(dst)
	for j, x := range a.x {
		slope := -2 * (a.y[j] - floats.Dot(x, theta))
		size := math.Abs(slope) * floats.Norm(x, norm)
		if size > clip {
			slope *= clip / size
		}
		floats.AddScaled(dst, slope*a.scale, x)
	}
}

// descend lets every agent make its updates (6) from 0, in random order, with Laplace
// noise for eps over all of them; eps = 0 means no noise. It returns everyone's error
// after each tried number of updates.
func (b *bellet) descend(eps float64, r *rand.Rand) [][]float64 {
	errs := make([][]float64, len(b.tried(eps)))
	for k, updates := range b.tried(eps) {
		models := make([][]float64, len(b.agents))
		var order []int
		for i := range models {
			models[i] = make([]float64, rank)
			for range updates {
				order = append(order, i)
			}
		}
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		perUpdate := accountant.KairouzShare(eps, paperDelta, updates)
		for _, i := range order {
			b.update(models, i, perUpdate, r)
		}
		for i := range models {
			errs[k] = append(errs[k], b.agents[i].error(models[i]))
		}
	}
	return errs
}

func (b *bellet) update(models [][]float64, i int, eps float64, r *rand.Rand) {
	a, own := &b.agents[i], models[i]
	clip, norm := float64(belletClip), 2.0
	if eps == 0 {
		clip = math.Inf(1)
	}
	if !b.sum {
		norm = 1
	}
	var gradient, mean [rank]float64
	a.gradient(gradient[:], own, clip, norm)
	for _, j := range b.neighbours[i] {
		floats.AddScaled(mean[:], 1/float64(len(b.neighbours[i])), models[j])
	}
	for k, t := range own {
		g := gradient[k] + 2*a.lambda*t
		if eps > 0 {
			g += 2 * clip / (eps * float64(len(a.x))) * laplace(r)
		}
		own[k] = (1-a.alpha)*t + a.alpha*(mean[k]-belletMu*a.confidence*g)
	}
}

// laplace draws from the law of scale 1.
func laplace(r *rand.Rand) float64 {
	if r.Uint64()&1 == 0 {
		return -r.ExpFloat64()
	}
	return r.ExpFloat64()
}
