package learner

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// believing scores a constant that gives +1 the probability p, on n records of which the
// first k are of +1.
func believing(t *Task, p float64, n, k int) Score {
	z, y := make([]float64, n), make([]float64, n)
	for i := range y {
		z[i], y[i] = math.Log(p/(1-p)), -1
		if i < k {
			y[i] = 1
		}
	}
	return t.scored(z, y)
}

// Where neither of two models is better, neither is called so more often than the 2.5 %
// of each side of the interval, and a bit for the steps of whole numbers. Of a rare class
// there is mostly no record among a few. Exact: sums of binomial probabilities.
func TestLogLossesAreSeldomFalselySure(t *testing.T) {
	task := plainTask("logistic", 1)
	for _, c := range [][2]float64{{.02, .04}, {.01, .08}, {.001, .04}, {.08, .1}, {.03, .3}, {.3, .5}, {.45, .55}} {
		for _, p := range [][2]float64{c, {c[1], c[0]}} {
			low, high := math.Log((1-p[0])/(1-p[1])), math.Log(p[0]/p[1])
			truth := low / (low - high) // where neither is better
			for _, n := range []int{3, 5, 12, 20, 30, 50, 75, 100, 200, 400} {
				words := map[string]float64{}
				for k := range n + 1 {
					other := believing(task, p[1], n, k)
					words[believing(task, p[0], n, k).LogLossGain(other).Word()] += multinomialProbability(n, k, 0, truth, 0)
				}
				if words[Better] > .03 || words[Worse] > .03 {
					t.Errorf("%v beside %v, truly %.4f, %d records: better in %.4f, worse in %.4f; want .03 at most", p[0], p[1], truth, n, words[Better], words[Worse])
				}
			}
		}
	}
}

// Two hundred records, eight of them of the rare class, which no model predicts.
func TestRareClassesAreComparedByLogLosses(t *testing.T) {
	task := plainTask("logistic", 1)
	z := func(rare, usual float64) Score { // log odds of the rare class, for its records and the others
		s := believing(task, .5, 200, 8)
		for i := range s.z {
			s.z[i] = usual
			if s.y[i] > 0 {
				s.z[i] = rare
			}
		}
		return task.scored(s.z, s.y)
	}
	base := z(-3.2, -3.2)
	for _, c := range []struct {
		name        string
		with, alone Score
		base        Score
		want        string
		byLogLoss   bool
	}{
		{"knows the rare ones", z(-0.1, -4), z(-3, -3), base, Better, true},
		{"the other way round", z(-3, -3), z(-0.1, -4), base, Worse, true},
		{"less than a hundredth", z(-3.19, -3.2025), z(-3.2, -3.2), z(-3.3, -3), CannotTell, false},
		{"a better constant", z(-3.2, -3.2), z(-8, -1), base, CannotTell, false},
		{"errors say it", z(0.1, -4), z(-3, -3), base, Better, false},
		{"errors say the contrary", z(-0.5, -4), z(0.1, -0.5), base, Worse, false},
		{"better than a constant", z(0.1, -4), z(0.1, -2), base, CannotTell, false},
		{"alike", base, base, base, CannotTell, false},
	} {
		f := c.with.Against(c.alone, c.base)
		if f.Word != c.want || f.ByLogLoss != c.byLogLoss {
			t.Errorf("%s: %q, by log loss: %v, gain %+v of %v; want %q, %v", c.name, f.Word, f.ByLogLoss, f.LogLossGain, c.alone.LogLoss, c.want, c.byLogLoss)
		}
	}
}

// What there is not is left out: of two records, of numbers, of scores without odds.
func TestNoLogLossesToCompare(t *testing.T) {
	task := plainTask("logistic", 1)
	hinge, squared := plainTask("hinge", 1), plainTask("squared", 1)
	for _, s := range []Score{believing(task, .1, 2, 1), believing(hinge, .1, 9, 1), believing(squared, .1, 9, 1), ScoreOf(ErrorShare, []float64{0, 1, 1})} {
		if f := s.Against(s, s); f.LogLossGain != nil || f.Word != CannotTell || f.ByLogLoss {
			t.Errorf("%+v; want nothing of log losses", f)
		}
	}
}

// Labels that no feature says anything of: a model that others helped to fit is called
// neither better nor worse more often than the 2.5 % of each side of an interval, though
// the others see the rare class less often, so that it believes less in it. With 200
// owners the standard deviation is .011; 4 of them make a false failure rarer than 1e-3.
func TestNothingLearnedIsSeldomCalledBetter(t *testing.T) {
	const owners = 200
	most := int(owners * (.025 + 4*math.Sqrt(.025*.975/owners)))
	for _, c := range []struct {
		loss          string
		rates, others []float64 // of the classes but the last
		records       int
	}{
		{"logistic", []float64{.96}, []float64{.99}, 60},
		{"logistic", []float64{.96}, []float64{.96}, 150},
		{"multinomial", []float64{.05, .1}, []float64{.01, .1}, 60},
	} {
		r := rand.New(rand.NewPCG(11, uint64(c.records)))
		task := plainTask(c.loss, 4)
		task.Constant = 1
		prior := FitPersonal(task, unlearnable(r, task, c.others, 500), make([]float64, task.Dimension())).Theta
		var better, worse, said int
		for range owners {
			train, held := unlearnable(r, task, c.rates, c.records*4/5), slices.Values(unlearnable(r, task, c.rates, c.records/5))
			m := FitPersonal(task, train, prior)
			f := task.Score(m.Theta, held).Against(task.Score(m.Alone, held), task.ScoreConstant(slices.Values(train), held))
			switch f.LogLossGain.Word() {
			case Better:
				better++
			case Worse:
				worse++
			}
			if f.Word == Better {
				said++
			}
		}
		t.Logf("%s, %d records: %d of %d better by log losses, %d worse; %d called better", c.loss, c.records, better, owners, worse, said)
		if max(better, said) > most || worse > most {
			t.Errorf("want %d at most", most)
		}
	}
}

// unlearnable are records whose classes are drawn with the given probabilities, the last
// one's left out, whatever their features are.
func unlearnable(r *rand.Rand, t *Task, rates []float64, n int) []Record {
	records := draw(r, t, make([]float64, t.Dimension()), n, 0)
	for i := range records {
		records[i].X[t.Width()-1] = t.Constant
		k, u := 0, r.Float64()
		for k < len(rates) && u >= rates[k] {
			u -= rates[k]
			k++
		}
		if records[i].Y = float64(k); t.Loss == "logistic" {
			records[i].Y = float64(2*k - 1)
		}
	}
	return records
}
