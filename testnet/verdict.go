package testnet

import (
	"fmt"
	"math"

	"p2pnode/learner"
)

// The words of a verdict.
const (
	WorthIt    = "worth it"
	NotWorthIt = "not worth it"
	noVerdict  = "no verdict"
)

// Evidence is what a verdict on learning together is made of.
type Evidence struct {
	Pairs []Pair  // as it was done, within the budget
	Free  []Pair  // the same people without privacy; nil: not measured
	Base  float64 // mean error of a constant on the same records; 0: not known
	// Floor says that Free is the same broadcasts without noise. Their steps were chosen for
	// the noise, so sharing in another way may give much more.
	Floor bool
	// OneDraw says that Free is the same private sum without its noise, of which all people
	// share the draws.
	OneDraw bool
	// MajorityOnly says that no model learned together predicts anything but the most
	// frequent class of its person.
	MajorityOnly bool
	// LogLoss is the evidence on the same people by log losses; nil: not known.
	LogLoss   *Evidence
	ofLogLoss bool   // the evidence is of log losses
	Seed      uint64 // of the bootstrap
}

// Verdict is whether learning together is worth it.
type Verdict struct {
	Word   string           // WorthIt, NotWorthIt or learner.CannotTell; noVerdict of an interrupted run
	Better int              // people with a smaller error than alone, in the mean of their pairs
	Worse  int              // people with a larger one; equal is neither
	People int              // all of them
	Change learner.Interval // of the mean error, as a share of that alone: below zero is better; NaN of fewer than two people
	Why    string           // "" if the numbers say it
	// ByLogLoss says that the probabilities of classes were judged: all other fields are
	// of log losses in place of errors.
	ByLogLoss bool
}

// Of a verdict.
const (
	// worthwhile is the share of the error alone below which a gain is none.
	worthwhile = 0.01
	// visible is the smallest share that counts: below it a gain may be sure and is still
	// nothing that anybody would notice.
	visible = 0.0002
	// rareShare is the share of records below which the classes of all of them are rare.
	rareShare = 0.2
	// many people are enough for an interval to be narrow.
	many = 10
)

// Judge says whether it is worth it: yes if the interval of the change lies below zero
// and a constant is not as good; no if it lies above, or if it leaves no room for a gain
// of a hundredth; else one cannot tell. Where a class is rare a constant predicts classes
// as well as anything, and what is learned is how likely they are: then it is also worth
// it if the log losses say so, and fall by [learner.LeastFall] or more. An owner is told
// of her own records by the same rule: [learner.Score.Against]. Of a private sum one also cannot
// tell if its gain is smaller than a hundredth, and the sum without noise has none.
func Judge(e Evidence) Verdict {
	v := e.judge()
	if e.LogLoss == nil || !e.baseDoes() {
		return v
	}
	likely := *e.LogLoss
	likely.ofLogLoss = true
	by := likely.judge()
	by.ByLogLoss = true
	if by.Word == WorthIt && by.Change.Mean < -learner.LeastFall {
		by.Why = "the probabilities are better, the classes are not better than a constant's"
		return by
	}
	if loss := Summarise(e.LogLoss.Pairs).Error; v.Why == e.whyBase() && loss > 0 && e.LogLoss.Base >= (1+worthwhile)*loss {
		v.Why = fmt.Sprintf("by classes alone %s; its log loss is %.0f %% larger", v.Why, 100*(e.LogLoss.Base/loss-1))
	}
	if e.MajorityOnly && by.People > 1 {
		v.Why += ", and look at the log loss: " + by.change()
		if e.LogLoss.baseDoes() {
			v.Why += ", by which " + by.Why
		}
		if e.hidden(v) && by.Word != learner.CannotTell { // no gain, or too small a one
			v.Word = NotWorthIt
		}
	}
	return v
}

// hidden reports whether only the majority class was predicted, and so few records are of other
// classes that predicting these would hardly show in errors, in which nothing is sure.
func (e *Evidence) hidden(v Verdict) bool {
	return e.MajorityOnly && e.Base > 0 && e.Base < rareShare && v.Change.Low <= 0 && v.Change.High >= 0
}

// lucky reports whether a private sum has a small gain only with noise. Noise teaches nothing, but
// all people share its draws, so what one happens to save looks sure: the interval is over people,
// and knows nothing of other draws.
func (e *Evidence) lucky(v Verdict) bool {
	return e.OneDraw && !e.baseDoes() && v.Change.High < 0 && v.Change.Mean < -visible && v.Change.Low > -worthwhile &&
		verdictOf(e.Free, e.Seed).Change.Mean >= -visible
}

func (e *Evidence) judge() Verdict {
	v := verdictOf(e.Pairs, e.Seed)
	switch {
	case e.lucky(v):
		v.Word = learner.CannotTell
	case v.Change.High < 0 && v.Change.Mean < -visible && !e.baseDoes():
		v.Word = WorthIt
	case e.hidden(v):
		v.Word = learner.CannotTell
	case v.Change.High < 0, v.Change.Low > -worthwhile:
		v.Word = NotWorthIt
	default:
		v.Word = learner.CannotTell
	}
	v.Why = e.why(v)
	return v
}

// verdictOf is one without a word.
func verdictOf(pairs []Pair, seed uint64) Verdict {
	people, total := byPerson(pairs)
	v := Verdict{People: len(people)}
	for _, p := range people {
		switch {
		case p.sum > 0:
			v.Better++
		case p.sum < 0:
			v.Worse++
		}
	}
	alone := total.sum
	for _, p := range pairs {
		alone += p.With
	}
	alone /= float64(len(pairs))
	saved := Bootstrap(pairs, resamples, seed)
	v.Change = learner.Interval{Mean: saved.Mean / alone, Low: saved.Low / alone, High: saved.High / alone}.Negative()
	return v
}

// baseDoes reports whether a constant is as good as what was learned together.
func (e *Evidence) baseDoes() bool {
	return e.MajorityOnly || e.Base > 0 && Summarise(e.Pairs).Error >= e.Base
}

// why is the reason that the numbers of the verdict do not show.
func (e *Evidence) why(v Verdict) string {
	free := verdictOf(e.Free, e.Seed)
	drowned := free.Change.High < 0 && free.Change.High < v.Change.Mean
	little := v.Word == NotWorthIt && free.People > 0 && free.Change.Low > -worthwhile
	switch {
	case v.People == 0:
		return "private learning was not measured"
	case v.People == 1:
		return "of one person there is no interval"
	case math.IsNaN(v.Change.Mean):
		return "there is no error to save"
	case e.hidden(v):
		return fmt.Sprintf("only the majority class was predicted, as a constant would: the others, %.2g %% of all records, are too rare to be learned from so few, so errors cannot tell", 100*e.Base)
	case e.MajorityOnly:
		return "only the majority class was predicted, as a constant would"
	case e.baseDoes():
		return e.whyBase()
	case e.lucky(v):
		return "without noise there is no gain, so this one may be the luck of the noise that was drawn"
	case v.Word == WorthIt && v.Change.Low > -worthwhile:
		return "a small gain, but a sure one"
	case v.Word == WorthIt:
		return ""
	case drowned && e.Floor:
		return "the noise drowned what broadcasts give: without it " + free.numbers()
	case little && e.Floor:
		return "broadcasts without noise gain as little, " + free.change()
	case drowned:
		return "the noise drowned what sharing gives: without privacy " + free.numbers()
	case little:
		return "without privacy there is as little to gain, " + free.change()
	case v.Word == NotWorthIt && v.Change.Low > 0:
		return "learning alone is better"
	case v.Word == NotWorthIt && v.Change.High < 0:
		return "the gain is sure, and too small to notice"
	case v.Word == NotWorthIt:
		return fmt.Sprintf("if there is a gain, it is below %.0f %%", 100*worthwhile)
	case v.People < many:
		return fmt.Sprintf("%d people are too few", v.People)
	}
	return "the interval holds zero; more people, records or seeds make it narrower"
}

// whyBase says how much better a constant is than what was learned together.
func (e *Evidence) whyBase() string {
	less := 1 - e.Base/Summarise(e.Pairs).Error
	if less < worthwhile {
		return "a constant does as well"
	}
	of := "error"
	if e.ofLogLoss {
		of = "log loss"
	}
	return fmt.Sprintf("a constant is better: its %s is %.0f %% smaller", of, 100*less)
}

// String is the first line of a report.
func (v Verdict) String() string {
	text := v.Word + ": " + v.numbers()
	if v.People < 2 {
		return v.Word + ": " + v.Why
	}
	if v.Why != "" {
		text += "; " + v.Why
	}
	return text
}

// numbers are how many people are better, and by how much all are.
func (v Verdict) numbers() string {
	text := fmt.Sprintf("%d of %d nodes better, ", v.Better, v.People)
	if v.Better+v.Worse < v.People {
		text += fmt.Sprintf("%d worse, ", v.Worse)
	}
	return text + v.change()
}

// known is the change, nil if it is none of numbers.
func (v Verdict) known() *learner.Interval {
	if c := v.Change; !math.IsNaN(c.Low) && !math.IsInf(c.Low, 0) {
		return &c
	}
	return nil
}

func (v Verdict) change() string {
	c := v.Change
	if math.IsNaN(c.Mean) || math.IsInf(c.Mean, 0) {
		return "no error alone, so no share of it"
	}
	decimals := 1 // two where one would show nothing
	if c.High-c.Low < 0.01 {
		decimals = 2
	}
	of := "error"
	if v.ByLogLoss {
		of = "log loss"
	}
	return fmt.Sprintf("mean %s %+.*f %% [%+.*f, %+.*f]", of, decimals, 100*c.Mean, decimals, 100*c.Low, decimals, 100*c.High)
}
