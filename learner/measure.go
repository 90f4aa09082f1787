package learner

import (
	"iter"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Measure is what the error of a model is: a function of its mean loss over records,
// see [Score]. Every report names it so.
type Measure string

// The measures. A task has the first if its target is a number and the third if it is
// one of several classes; papers tell the same by the others.
const (
	RMSE       Measure = "RMSE"        // root mean squared error, in the units of the target
	MSE        Measure = "MSE"         // its square
	ErrorShare Measure = "error share" // share of records whose class is predicted wrong
	Accuracy   Measure = "accuracy"    // share of records whose class is predicted right
)

// Measure is what [Task.Error] returns.
func (t *Task) Measure() Measure {
	if t.Classifies() {
		return ErrorShare
	}
	return RMSE
}

// Of is the measure of a mean loss.
func (m Measure) Of(loss float64) float64 {
	switch m {
	case RMSE:
		return math.Sqrt(loss)
	case Accuracy:
		return 1 - loss
	}
	return loss
}

// Loss is the mean loss of which the measure is e.
func (m Measure) Loss(e float64) float64 {
	switch m {
	case RMSE:
		return e * e
	case Accuracy:
		return 1 - e
	}
	return e
}

// Score is how well a model predicts records that it was not fitted to. It is a
// function of raw data: for the owner's eyes only.
type Score struct {
	Measure Measure
	Error   float64 // the measure of the mean loss; NaN without records
	// Losses are one for each record: the squared error in the units of the target, or
	// the probability that the class is predicted wrong, which is 1 - 1/k of a model
	// undecided between k classes with the right one among them.
	Losses []float64
	// LogLoss is the mean of -log of the probability that the model gave to the class
	// seen; NaN where the loss knows none; see [Task.HasProbabilities].
	LogLoss float64
	// AUC is the area under the receiver's operating curve of two classes: the
	// probability that a record of class +1 scores higher than one of class -1. NaN
	// unless there are two classes and records of both.
	AUC float64

	classes []int // predicted, of each record; -1: undecided. nil: numbers
}

// ScoreOf is the score of losses, without log loss and area.
func ScoreOf(m Measure, losses []float64) Score {
	return Score{Measure: m, Error: m.Of(meanOf(losses)), Losses: losses, LogLoss: math.NaN(), AUC: math.NaN()}
}

// Score measures the model theta on records.
func (t *Task) Score(theta []float64, records iter.Seq[Record]) Score {
	return t.scored(t.scores(theta, records))
}

// ScoreConstant measures what needs no features, the base that a model must beat: it
// predicts the mean of the training records' targets, or the class that most of them
// have, with a probability of (n + 1) / (m + k) for each of the k classes that n of m
// have. Without training records that is the middle of the range, or no decision.
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
// [Score].
func (t *Task) Error(theta []float64, records []Record) float64 {
	return t.Measure().Of(meanOf(t.losses(t.scores(theta, slices.Values(records)))))
}

// scores has K scores for each record, and its label.
func (t *Task) scores(theta []float64, records iter.Seq[Record]) (z, y []float64) {
	own := make([]float64, t.loss().scores())
	for r := range records {
		scoresOf(own, theta, r.X)
		z, y = append(z, own...), append(y, r.Y)
	}
	return z, y
}

// constantScores are those of the constant: a number, or log odds.
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
		counts[t.class(y)]++
	}
	for k := range counts {
		counts[k] = math.Log(counts[k] + 1)
	}
	if len(z) == 1 {
		return []float64{counts[1] - counts[0]}
	}
	return counts
}

// class is the number of a record's class, of -1 and +1 that of +1 being 1.
func (t *Task) class(y float64) int {
	if y < 0 {
		return 0
	}
	return int(y)
}

// scored measures predictions of records from their scores.
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
		s.LogLoss = sum / float64(len(y))
	}
	return s
}

// losses are those of [Score].
func (t *Task) losses(z, y []float64) []float64 {
	k := t.loss().scores()
	losses := make([]float64, len(y))
	for i, y := range y {
		if own := block(z, i, k); t.Classifies() {
			losses[i] = wrong(own, t.class(y))
		} else {
			d := t.inRange(own[0]) - t.Target.Center - y
			losses[i] = d * d
		}
	}
	return losses
}

// wrong is the probability of predicting another class.
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

// decided is the class that the scores predict; -1: several are as likely.
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

// area is [Score.AUC]: the Mann-Whitney statistic, a tie counting one half.
func area(z, y []float64) float64 {
	order := make([]int, len(z))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case z[a] < z[b]:
			return -1
		case z[a] > z[b]:
			return 1
		}
		return 0
	})
	var below, above, won float64 // negatives and positives so far, pairs in the right order
	for from := 0; from < len(order); {
		var up, down float64 // of this score
		to := from
		for ; to < len(order) && z[order[to]] == z[order[from]]; to++ {
			if y[order[to]] > 0 {
				up++
			} else {
				down++
			}
		}
		won += up * (below + down/2)
		below, above, from = below+down, above+up, to
	}
	return won / (below * above) // 0/0 without one of the classes
}

// SameClasses reports whether two models predict the same class for every record: of
// a model and the constant, that it predicts nothing but the majority class. It is
// false for numbers and without records.
func (s Score) SameClasses(other Score) bool {
	return len(s.classes) > 0 && slices.Equal(s.classes, other.classes)
}

// meanOf is NaN of no values.
func meanOf(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
