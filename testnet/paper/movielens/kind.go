package movielens

import (
	"cmp"
	"fmt"

	"p2pnode/learner"
	"p2pnode/privacy/accountant"
)

// kind is a way to know the movies.
type kind struct {
	name string
	// reg is the regularisation of the factors; 0: no factors, genres and decades.
	reg   float64
	start float64 // of the factors
	// donors are the only ones whose ratings make the factors, and they are not among
	// the people who learn.
	donors bool
	raw    bool // factors are of ratings as they are, not less each user's mean
	lone   bool // measured alone only
	// analysed: by an analysis of ratings with genres and decades.
	analysed bool
	mu       float64 // of the task; 0 is 0.9
	// pull and pullConstant are the usual ones of the personal fit, for features as
	// they are; see [learner.Local].
	pull, pullConstant float64
	fixed              bool // as they are: leave-one-out is too kind to features that know the records
	// alone multiplies pull for who is alone; 0 is 1. The origin deserves less of it
	// than what neighbours know.
	alone float64
}

var (
	leaky      = kind{name: "factors of all ratings (they leak)", reg: 0.17, start: 1, mu: 0.3, pull: 4, pullConstant: 3, alone: 0.6, fixed: true}
	donated    = kind{name: "factors from 189 donors", reg: 0.2, start: 1, donors: true, pull: 10, pullConstant: 3, alone: 0.3}
	analysed   = kind{name: "genres and factors, analysed from 189 donors", donors: true, analysed: true, lone: true}
	metadata   = kind{name: "genres and decades", pull: 10, pullConstant: 3}
	paperAlone = kind{name: "factors as in the readings", reg: belletReg, start: belletStart, raw: true, lone: true, pull: 100, pullConstant: 1}
)

func kinds() []kind { return []kind{leaky, donated, analysed, metadata, paperAlone} }

// leaks says that the features tell about the ratings of those who learn.
func (k kind) leaks() bool { return (k.reg > 0 || k.analysed) && !k.donors }

// task is learning with factors and a constant 1, as they are at most this long.
func (k *kind) task(bound float64) *learner.Task {
	t := k.base()
	t.Features = numbered(rank)
	t.Constant = 1 / bound
	shorten(t, bound)
	return t
}

func numbered(n int) []learner.Feature {
	list := make([]learner.Feature, n)
	for i := range list {
		list[i] = learner.Feature{Name: fmt.Sprintf("f%d", i+1), Kind: "number", Min: -1, Max: 1}
	}
	return list
}

// shorten makes a task for features as they are one for features divided by the bound
// on their length, as a task has features of norm 1: models are longer by the bound.
func shorten(t *learner.Task, bound float64) {
	t.Mu *= bound * bound
	t.Lambda /= bound * bound
	t.Clip /= bound
	t.Radius *= bound
	t.Local.Eta /= bound * bound
	t.Local.EtaConstant /= bound * bound
}

// analysisTask is learning with p features of an analysis, which are at most this
// long. The pull to what is expected is the variance of a rating, which makes the lone
// fit the posterior mean under what the analysis knows of people.
func (k *kind) analysisTask(p int, bound, variance float64) *learner.Task {
	t := k.base()
	t.Features = numbered(p)
	t.Target = learner.Target{Name: "difference", Min: -4, Max: 4}
	t.Local.Eta = variance
	shorten(t, bound)
	return t
}

// genres is learning from public metadata.
func (k *kind) genres() *learner.Task {
	t, movies := k.base(), learner.Movies()
	t.Features, t.Normalise = movies.Features, true
	t.Constant = 1
	return t
}

func (k *kind) base() *learner.Task {
	return &learner.Task{
		Name: k.name, Learner: "personal", Loss: "squared",
		Target: learner.Target{Name: "rating", Min: 1, Max: 5, Center: centre},
		Mu:     cmp.Or(k.mu, 0.9), Lambda: 1, Clip: 2, ConfidenceAt: 600, Radius: 5, CohortSize: 1 << 20,
		Graph: learner.Graph{Rule: "random", Degree: 10},
		Local: learner.Local{Eta: k.pull, EtaConstant: k.pullConstant, Kappa: 1, Fixed: k.fixed},
		Release: learner.Release{
			Epsilon: 1, Delta: 1e-6, Releases: 128, MaxEpsilon: 10, MaxDelta: 0.01, MaxReleases: 1000,
			WakeSeconds: 60, MinWake: 0.05,
		},
	}
}

// tuned is the task with the constants for a guarantee. All constants here were found
// once, by leaving a fifth of the training ratings of split 1 out; for factors of all
// ratings a twentieth of splits 1 and 2, as how much these know hangs on how many
// ratings there are (reg lies between 0.15 and 0.18, which were tried), and for their
// mu a tenth of split 1. None was chosen on a test rating. Less is clipped away and less is
// learned from a noisier gradient.
func (k kind) tuned(t *learner.Task, g guarantee, quick bool) *learner.Task {
	tuned := *t
	if g.epsilon > 0 {
		mu, _ := accountant.GaussianMu(g.epsilon, g.delta)
		if mu < 0.2 {
			tuned.Clip /= 2
		}
		if mu < 0.05 {
			tuned.Mu /= 3
		}
	}
	if quick {
		tuned.Release.Releases /= 4
		tuned.Mu *= 3
	}
	return &tuned
}

// tunedAlone is the task with the constants for who is alone, found in the same way.
func (k kind) tunedAlone(t *learner.Task) *learner.Task {
	tuned := *t
	if k.alone > 0 {
		tuned.Local.Eta *= k.alone
	}
	return &tuned
}
