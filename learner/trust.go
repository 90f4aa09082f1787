package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Prior is what the neighbours' shared models in a state suggest as a personal model:
// their weighted mean, each [smoothed] and clipped around the middle of all (see [centred]); or the
// agent's own shared model if it has heard none. It is a public function of what was
// released.
func Prior(s State) []float64 {
	if len(s.Heard) == 0 {
		return slices.Clone(s.Model)
	}
	return centred(smoothed(s.Heard))
}

// PriorFor is [Prior] without the neighbours whose models mislead: each model is tested
// by itself on the owner's records, which it has not seen (see [misleads]). It is zero
// if all mislead, and Prior without records. It is a function of the records and must
// not leave the device. With it comes what is known of the noise in it.
func PriorFor(t *Task, train *Rows, s State) ([]float64, Noise) {
	if len(s.Heard) == 0 || train.Len() == 0 {
		return Prior(s), Noise{}
	}
	heard := slices.DeleteFunc(smoothed(s.Heard), func(h Heard) bool { return t.misleads(train, h.Model) })
	if len(heard) == 0 {
		return make([]float64, len(s.Model)), Noise{}
	}
	return centred(heard), t.noiseOf(heard, len(s.Heard))
}

// Noise is what is known of the noise in each number of a model, as standard deviations in
// the units of the model. The zero value is no noise, or none that is known.
type Noise struct{ Least, Most float64 }

// noiseOf is the noise in the weighted mean of models of an agent's neighbours, of whom it
// has heard so many. Each has the median of what they claim: what a liar claims moves it little.
// That is the noise of a model's last release, as agents count what they mix as independent,
// and of the mean it leaves the share that the weights say. But models that are mixed again
// and again have the noise of all earlier releases in common, which no mean of neighbours
// makes smaller: of the variance of each release a network of n keeps an n-th, the part that
// averaging leaves as it is (Xiao, Boyd, Kim, "Distributed average consensus with
// least-mean-square deviation", 2007). Records pull some of it back, by how much is private, so
// it is about the most that there is.
//
// An agent that has heard fewer neighbours than it wants takes them for all others: in small
// networks they are, and elsewhere it takes the noise for more than it is, until it has heard
// more. Otherwise n may be without bound, or no more than what is assumed of networks.
func (t *Task) noiseOf(heard []Heard, neighbours int) Noise {
	var total, squares float64
	rounds := make([]float64, len(heard))
	for i, h := range heard {
		total += h.Weight
		squares += h.Weight * h.Weight
		rounds[i] = float64(h.Round)
	}
	std, own := usualNoise(claimsOf(heard)), squares/(total*total)
	releases := min(median(rounds), float64(t.Release.Releases)) // rounds after these only mix
	size := float64(neighbours + 1)
	if neighbours < t.Graph.Degree {
		most := std * math.Sqrt(own+releases/size)
		return Noise{most, most}
	}
	size = max(size, float64(Expected{}.known().Nodes))
	return Noise{std * math.Sqrt(own), std * math.Sqrt(own+releases/size)}
}

// mostUsual is how many times the usual claim of noise a neighbour's counts as at most.
const mostUsual = 4

// usualNoise is the standard deviation of noise that a neighbour usually claims: the median,
// which liars move little, or 0 without claims. It reorders the claims.
func usualNoise(claims []float64) float64 {
	if len(claims) == 0 {
		return 0
	}
	return median(claims)
}

// believed is the largest standard deviation of noise that an agent takes a neighbour's
// word for, in the noise that it says of its own model: mostUsual times the usual claim,
// and no more than most. Otherwise one liar would tell all who hear it, and they theirs,
// that noise explains any model.
func believed(usual, most float64) float64 { return min(mostUsual*usual, most) }

// weighing is the usual noise by which weights may count, see [precision], if so many of the
// neighbours were heard: without bound, so that all weights stay, where few of few could say
// what is usual, or where most claim that there is none.
func weighing(usual float64, heard, neighbours int) float64 {
	if neighbours < enoughToJudge || heard <= neighbours/2 || usual == 0 {
		return math.Inf(1)
	}
	return usual
}

// precision is the share of its weight with which a model counts for the noise that is
// claimed for it, beyond what is usual: the variance of a usual model over that of this one,
// as in the mean with the least variance. spread is the standard deviation of a usual model,
// with its noise and with what else models differ by. Who claims less noise than usual weighs
// no more than who claims the usual; a third that claims none moves what is usual among the
// others down to the lower third of them.
func precision(claim, usual, spread float64) float64 {
	if claim <= usual {
		return 1
	}
	return 1 / (1 + (claim-usual)/spread*((claim+usual)/spread))
}

// smoothed moves each model toward the mean of what its neighbour said, by one share of the
// way for all. The newest models have learned most, and the means have least noise. So it
// goes from the weighted mean of the newest toward that of the means as far as their
// distance may be noise, by the estimator of James and Stein ("Estimation with quadratic
// loss", 1961) with no negative part (Baranchik 1964): where models still move by more than
// the noise in their mean, it takes the newest. It returns a new list.
func smoothed(heard []Heard) []Heard {
	total := 0.
	for _, h := range heard {
		total += h.Weight
	}
	most := believed(usualNoise(claimsOf(heard)), math.MaxFloat64)
	moved, noise := make([]float64, len(heard[0].Model)), 0.
	for _, h := range heard {
		if len(h.Mean) == len(moved) {
			w := h.Weight / total
			floats.AddScaled(moved, w, h.Model)
			floats.AddScaled(moved, -w, h.Mean)
			noise = math.Hypot(noise, w*min(h.NoiseStd, most))
		}
	}
	noise *= math.Sqrt(max(0, float64(len(moved)-2)))
	newest := 1.
	if length := floats.Norm(moved, 2); length > 0 {
		newest = max(0, 1-(noise/length)*(noise/length))
	}
	heard = slices.Clone(heard)
	for i := range heard {
		if h := &heard[i]; len(h.Mean) == len(moved) && newest < 1 {
			model := slices.Clone(h.Mean)
			floats.Scale(1-newest, model)
			floats.AddScaled(model, newest, h.Model)
			h.Model = model
		}
	}
	return heard
}

// mostNoise is the largest standard deviation that each of the p coordinates of a model in
// the task's ball can have.
func (t *Task) mostNoise(p int) float64 { return t.Radius / math.Sqrt(float64(p)) }

// centred is one step of centered clipping (Karimireddy, He, Jaggi, "Learning from
// history for Byzantine robust optimization", 2021) from the medians of the
// coordinates, with the median distance from there as the radius. Half of the models
// are not moved, and a lying one moves the mean by no more than an honest one. All count
// by their [precision]. The noise in the models is kept, unlike in the shared step: it
// averages out in the mean of all.
func centred(heard []Heard) []float64 {
	middle, distances := middleOf(heard), make([]float64, len(heard))
	for i, h := range heard {
		distances[i] = floats.Distance(h.Model, middle, 2)
	}
	usual, distance := weighing(usualNoise(claimsOf(heard)), len(heard), len(heard)), median(slices.Clone(distances))
	radius := math.Inf(1)
	if maxFaulty(len(heard)) > 0 {
		radius = distance
	}
	weights, spread := make([]float64, len(heard)), distance/math.Sqrt(float64(len(middle)))
	for i, h := range heard {
		weights[i] = h.Weight * precision(h.NoiseStd, usual, spread)
	}
	total := floats.Sum(weights)
	prior, kept := make([]float64, len(middle)), 0.
	for i, h := range heard {
		kept += addClipped(prior, h.Model, weights[i]/total, distances[i], radius)
	}
	floats.AddScaled(prior, kept, middle)
	return prior
}

// claimsOf are the standard deviations of noise that neighbours claim.
func claimsOf(heard []Heard) []float64 {
	list := make([]float64, len(heard))
	for i, h := range heard {
		list[i] = h.NoiseStd
	}
	return list
}

// middleOf returns the median of each coordinate.
func middleOf(heard []Heard) []float64 {
	middle, values := make([]float64, len(heard[0].Model)), make([]float64, len(heard))
	for k := range middle {
		for i := range heard {
			values[i] = heard[i].Model[k]
		}
		slices.Sort(values)
		middle[k] = (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	return middle
}

// surelyMisleads is the 5 % quantile of the standard normal distribution.
const surelyMisleads = -1.645

// misleads reports whether a model's scores go against the labels of records that it
// has not seen: whether their covariance is below zero, by more than chance explains in
// one case of twenty. A record's part of the covariance is how much a step toward the
// model, from where all scores are alike, would change the record's loss. So no record
// has to be left out of the fit first. A model hidden by noise shows little here and is
// kept; a liar that is kept also shows little.
func (t *Task) misleads(train *Rows, model []float64) bool {
	k := t.loss().scores()
	z, of := make([]float64, k), t.labelMoments(train, model)
	var sum, squares float64
	for r := range train.All() {
		scoresOf(z, model, r.X)
		share := 0.
		for j := range z {
			if !of[j].constant() {
				share += (z[j] - of[j].x) * (labelOf(r.Y, j, k) - of[j].y)
			}
		}
		sum, squares = sum+share, squares+share*share
	}
	return sum < surelyMisleads*math.Sqrt(squares)
}

// labelOf returns a label as a number to compare with score j of k. For several classes
// it says whether j is the label.
func labelOf(y float64, j, k int) float64 {
	if k > 1 {
		return indicator(int(y) == j)
	}
	return y
}
