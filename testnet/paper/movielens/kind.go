package movielens

import (
	"cmp"
	"fmt"

	"p2pnode/learner"
	"p2pnode/privacy/accountant"
)

// kind is one source of knowledge about the movies.
type kind struct {
	name string
	// reg is the regularisation of the factors; 0: no factors, but genres and decades.
	reg   float64
	start float64 // of the factors
	// donors means that the factors come only from donors' ratings, and donors are not
	// among the people who learn.
	donors bool
	raw    bool // factors of the ratings themselves, not minus each user's mean
	lone   bool // only measured alone
	// analysed means that features come from an analysis of ratings with genres and
	// decades.
	analysed bool
	mu       float64 // of the task; 0 is 0.9
	// pull and pullConstant are the usual ones of the personal fit, for features before
	// they are scaled; see [learner.Local].
	pull, pullConstant float64
	fixed              bool // taken as they are: leave-one-out is too optimistic for features that know the records
	// alone multiplies pull for people without neighbours; 0 is 1. The origin deserves
	// less pull than what neighbours know.
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

// leaks reports whether the features tell about the ratings of the people who learn.
func (k kind) leaks() bool { return (k.reg > 0 || k.analysed) && !k.donors }

// task is learning with factors, which are at most this long, and a constant 1.
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

// shorten changes a task for unscaled features into one for features divided by the
// bound on their length, because a task's features have norm 1. Models become longer by
// the bound.
func shorten(t *learner.Task, bound float64) {
	t.Mu *= bound * bound
	t.Lambda /= bound * bound
	t.Clip /= bound
	t.Radius *= bound
	t.Local.Eta /= bound * bound
	t.Local.EtaConstant /= bound * bound
}

// analysisTask is learning with p features of an analysis, which are at most this long.
// The pull toward the expected model is the variance of a rating, which makes the lone
// fit the posterior mean under what the analysis knows about people.
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

// tuned returns the task with the constants for a guarantee. All constants here were
// found once, by leaving out a fifth of the training ratings of split 1. For factors of
// all ratings it was a twentieth of splits 1 and 2, because how much these know depends
// on the number of ratings (reg lies between 0.15 and 0.18, which were tried), and for
// their mu a tenth of split 1. None was chosen on a test rating. With a noisier
// gradient, less is clipped away and the steps are smaller.
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

// tunedAlone returns the task with the constants for people without neighbours, found
// in the same way.
func (k kind) tunedAlone(t *learner.Task) *learner.Task {
	tuned := *t
	if k.alone > 0 {
		tuned.Local.Eta *= k.alone
	}
	return &tuned
}
