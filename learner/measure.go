package learner

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Measure names the error of a model: a function of its mean loss over records, see
// [Score]. Every report uses these names.
type Measure string

// The measures. RMSE is for tasks whose target is a number, RMSLE for those that learn its
// logarithm, and ErrorShare for tasks with classes; papers use MSE and Accuracy for the same.
const (
	RMSE       Measure = "RMSE"        // root mean squared error, in the units of the target
	RMSLE      Measure = "RMSLE"       // root mean squared error of the logarithm: .1 is about a tenth of the target
	MSE        Measure = "MSE"         // mean squared error: the square of RMSE
	ErrorShare Measure = "error share" // share of records whose class is predicted wrongly
	Accuracy   Measure = "accuracy"    // share of records whose class is predicted rightly
)

// Measure returns the measure that [Task.Error] uses.
func (t *Task) Measure() Measure {
	switch {
	case t.Classifies():
		return ErrorShare
	case t.Target.Log:
		return RMSLE
	}
	return RMSE
}

// Decimals returns how many decimals an error of this size is written with, and all that
// stands beside it. They are four, but an RMSE is in the units of the target, which may be
// thousands or thousandths: of it five digits are written, and four where it is below 1.
func (m Measure) Decimals(size float64) int {
	const usual, most = 4, 27 // what the narrowest range of a target takes
	if m != RMSE || !(size > 0) || math.IsInf(size, 1) {
		return usual
	}
	power := int(math.Floor(math.Log10(size)))
	if power < 0 {
		power++ // .8 has as many decimals as 1.2
	}
	return min(max(usual-power, 0), most)
}

// Decimals returns how many decimals predictions are written with: for probabilities three,
// and for numbers as many as for an error of the size of the largest, but none below a ten
// thousandth of the target's range. Where the logarithm is learned, small numbers are predicted as
// precisely as large ones, down to the least of the range, or to a ten thousandth where that is 0.
func (t *Task) Decimals(predictions ...float64) int {
	if t.Classifies() {
		return 3
	}
	size := (t.Target.Max - t.Target.Min) / 1e4
	if t.Target.Log {
		size = min(size, cmp.Or(t.Target.Min, 1e-4))
	}
	for _, p := range predictions {
		size = max(size, math.Abs(p))
	}
	return RMSE.Decimals(size)
}

// Of converts a mean loss to the measure.
func (m Measure) Of(loss float64) float64 {
	switch m {
	case RMSE, RMSLE:
		return math.Sqrt(loss)
	case Accuracy:
		return 1 - loss
	}
	return loss
}

// Loss converts a value of the measure to the mean loss.
func (m Measure) Loss(e float64) float64 {
	switch m {
	case RMSE, RMSLE:
		return e * e
	case Accuracy:
		return 1 - e
	}
	return e
}

// Score says how well a model predicts records that it was not fitted to. It is a
// function of raw data: only the owner may see it.
type Score struct {
	Measure Measure
	Error   float64 // the mean loss converted to the measure; NaN without records
	// Losses has one loss for each record: the squared error in the units of the
	// target or of its logarithm, or the probability that the class is predicted wrongly. That is 1 - 1/k
	// if k classes, among them the right one, are equally likely to the model.
	Losses []float64
	// LogLoss is the mean of -log of the probability that the model gave to the true
	// class, or NaN if the loss gives no probabilities; see [Task.HasProbabilities].
	LogLoss float64
	// AUC is the area under the receiver's operating curve for two classes: the
	// probability that a record of class +1 scores higher than one of class -1. It is
	// NaN unless there are two classes and records of both.
	AUC float64

	classes []int // predicted class of each record; -1: undecided. nil: the target is a number
	// Where classes have probabilities, z has each record's scores, which they come from,
	// and y its label; see [Score.LogLossGain].
	z, y []float64
}

// ScoreOf makes a score from losses, without log loss and area.
func ScoreOf(m Measure, losses []float64) Score {
	return Score{Measure: m, Error: m.Of(meanOf(losses)), Losses: losses, LogLoss: math.NaN(), AUC: math.NaN()}
}

// Score measures the model theta on records. It panics if the model has another number of
// parameters than the records need.
func (t *Task) Score(theta []float64, records iter.Seq[Record]) Score {
	return t.scored(t.scores(theta, records))
}

// ScoreConstant scores a prediction that uses no features, which a model must beat. It
// predicts the mean of the training records' targets, or the class that most of them
// have; a class that n of m records have gets a probability of (n + 1) / (m + k), with
// k classes. Without training records it predicts the middle of the range, or no class.
func (t *Task) ScoreConstant(train, records iter.Seq[Record]) Score {
	var labels, z, y []float64
	for r := range train {
		labels = append(labels, r.Y)
	}
	constant := t.constantScores(labels)
	for r := range records {
		z, y = append(z, constant...), append(y, r.Y)
	}
	return t.scored(z, y)
}

// Error is how badly theta predicts the records, in the task's [Measure]; see
// [Task.Score].
func (t *Task) Error(theta []float64, records []Record) float64 {
	return t.Measure().Of(meanOf(t.losses(t.scores(theta, slices.Values(records)))))
}

// scores returns K scores for each record, and its label.
func (t *Task) scores(theta []float64, records iter.Seq[Record]) (z, y []float64) {
	own := make([]float64, t.loss().scores())
	for r := range records {
		if len(theta) != len(own)*len(r.X) {
			panic(fmt.Sprintf("learner: a model of %d parameters, and a record of %d coordinates needs %d", len(theta), len(r.X), len(own)*len(r.X)))
		}
		scoresOf(own, theta, r.X)
		z, y = append(z, own...), append(y, r.Y)
	}
	return z, y
}

// constantScores are the scores of the constant prediction: a number, or log odds.
func (t *Task) constantScores(labels []float64) []float64 {
	z := make([]float64, t.loss().scores())
	if !t.Classifies() {
		for _, y := range labels {
			z[0] += y / float64(len(labels))
		}
		return z
	}
	counts := make([]float64, max(2, len(z)))
	for _, y := range labels {
		counts[classOf(y)]++
	}
	for k := range counts {
		counts[k] = math.Log(counts[k] + 1)
	}
	if len(z) == 1 {
		return []float64{counts[1] - counts[0]}
	}
	return counts
}

// classOf is the number of a record's class; for the labels -1 and +1 it is 0 and 1.
func classOf(y float64) int {
	if y < 0 {
		return 0
	}
	return int(y)
}

// scored scores predictions from their scores and labels.
func (t *Task) scored(z, y []float64) Score {
	s := ScoreOf(t.Measure(), t.losses(z, y))
	if !t.Classifies() {
		return s
	}
	l := t.loss()
	k := l.scores()
	for i := range y {
		s.classes = append(s.classes, decided(block(z, i, k)))
	}
	if k == 1 {
		s.AUC = area(z, y)
	}
	if t.HasProbabilities() {
		var sum float64
		for i, y := range y {
			sum += l.value(block(z, i, k), y)
		}
		s.LogLoss, s.z, s.y = sum/float64(len(y)), z, y
	}
	return s
}

// losses returns the losses of [Score].
func (t *Task) losses(z, y []float64) []float64 {
	k, center := t.loss().scores(), t.Target.Coded(t.Target.Center)
	losses := make([]float64, len(y))
	for i, y := range y {
		if own := block(z, i, k); t.Classifies() {
			losses[i] = wrong(own, classOf(y))
		} else {
			d := t.Target.inRange(own[0]) - center - y
			losses[i] = d * d
		}
	}
	return losses
}

// wrong is the probability that another class than the given one is predicted.
func wrong(z []float64, class int) float64 {
	if len(z) == 1 {
		return (1 - sign(z[0])*float64(2*class-1)) / 2
	}
	largest := floats.Max(z)
	if z[class] < largest {
		return 1
	}
	return 1 - 1/float64(floats.Count(func(v float64) bool { return v == largest }, z))
}

// logProbabilities writes the logarithms of the classes' probabilities.
func logProbabilities(dst, z []float64) {
	if len(z) == 1 {
		dst[0], dst[1] = -logistic{}.value(z[0], -1), -logistic{}.value(z[0], 1)
		return
	}
	copy(dst, z)
	floats.AddConst(-floats.LogSumExp(z), dst)
}

// decided is the class that the scores predict, or -1 if several are equally likely.
func decided(z []float64) int {
	if len(z) == 1 {
		z = []float64{0, z[0]}
	}
	k := floats.MaxIdx(z)
	if floats.Count(func(v float64) bool { return v == z[k] }, z) > 1 {
		return -1
	}
	return k
}

// area is [Score.AUC]: the Mann-Whitney statistic, in which a tie counts one half. Scores
// that are not numbers are below all others, and ties.
func area(z, y []float64) float64 {
	order := make([]int, len(z))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(z[a], z[b]) })
	var below, above, won float64 // negatives and positives so far, pairs in the right order
	for from := 0; from < len(order); {
		var up, down float64 // records with this score
		to := from
		for ; to < len(order) && cmp.Compare(z[order[to]], z[order[from]]) == 0; to++ {
			if y[order[to]] > 0 {
				up++
			} else {
				down++
			}
		}
		won += up * (below + down/2)
		below, above, from = below+down, above+up, to
	}
	return won / (below * above) // 0/0 if a class is missing
}

// SameClasses reports whether two models predict the same class for every record.
// Compared with the constant prediction it tells whether a model predicts only the
// majority class. It is false for numbers and without records.
func (s Score) SameClasses(other Score) bool {
	return len(s.classes) > 0 && slices.Equal(s.classes, other.classes)
}

// meanOf is the mean of the values, and NaN without values.
func meanOf(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
