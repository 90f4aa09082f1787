package attack

import (
	"context"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"p2pnode/learner"
)

// lies returns the attacks on what is learned, under virtual time: for each learner,
// liars of every kind among 100 people of the synthetic problem, in graphs that know
// who is similar.
func lies() []Scenario {
	var kinds []string
	for _, k := range kindsOfLies {
		kinds = append(kinds, k.name)
	}
	var list []Scenario
	for _, name := range []string{"personal", "propagation", "diffusion", "km"} {
		list = append(list, Scenario{
			Name:  "lies-" + name,
			Slow:  name != "personal",
			About: "says models that are none, as a tenth and three tenths of simulated people of learner " + name + ": " + strings.Join(kinds, ", "),
			Run:   func(ctx context.Context, o Options) ([]Bar, error) { return liesUnder(ctx, &o, name) },
		})
	}
	return list
}

// The limits of bar 5: the share of the gain without liars that must be left if one in
// ten lies, and the harm that three in ten may do. The harm is the upper end of the 95
// % interval of the mean difference from the error alone.
const (
	someLiars, leastLeft = 0.1, 0.6
	manyLiars, mostHarm  = 0.3, 0.002
)

// Every kind of liar is met on firstSeeds. Where those leave open whether the mean harm is
// below its limit, it is met on allSeeds, and judged by them.
const firstSeeds, allSeeds = 5, 25

// liesUnder measures bar 5 for a learner, without noise and at (1, 1e-6).
func liesUnder(ctx context.Context, o *Options, name string) ([]Bar, error) {
	var bars []Bar
	for _, open := range []bool{true, false} {
		l := lesson{learner: name, open: open, people: 100}
		rooms, err := l.classrooms(nil, o.several(1, firstSeeds))
		if err != nil {
			return nil, err
		}
		var calm honestErrors
		for _, n := range rooms {
			calm.alone, calm.plain = append(calm.alone, n.alone...), append(calm.plain, n.plain...)
		}
		o.Say(fmt.Sprintf("%s: error %.4f alone, %.4f without liars", l.name(), stat.Mean(calm.alone, nil), stat.Mean(calm.plain, nil)))
		for _, kind := range kindsOfLies {
			if o.Quick && !kind.quick {
				continue
			}
			got, undecided, err := l.underLiars(ctx, rooms[:o.several(1, firstSeeds)], kind)
			if err == nil && undecided && !o.Quick {
				o.Say(fmt.Sprintf("%s, %s: more people", l.name(), kind.name))
				if rooms, err = l.classrooms(rooms, allSeeds); err == nil {
					got, _, err = l.underLiars(ctx, rooms, kind)
				}
			}
			if err != nil {
				return nil, err
			}
			bars = append(bars, got...)
		}
	}
	return bars, nil
}

// lesson is how a network learns.
type lesson struct {
	learner string
	open    bool // without noise; else at (1, 1e-6)
	people  int
}

func (l *lesson) name() string {
	if l.open {
		return l.learner + " without noise"
	}
	return l.learner + " at (1, 1e-6)"
}

// task is the synthetic problem with the learner.
func (l *lesson) task() *learner.Task {
	t := learner.Linear()
	t.Learner = l.learner
	switch l.learner {
	case "propagation":
		t.Mu = 0.5
		t.Propagation = learner.Propagation{Ridge: 0.03, Tolerance: 1e-4}
		t.Release.Releases, t.Release.MaxReleases = 1, 1
	case "diffusion":
		t.Diffusion.Noise, t.Rounds = "iid", learner.Rounds{Seconds: 10, Step: 1}
	case "km":
		t.KM, t.Rounds = learner.KM{Operator: "proximal", Relaxation: 1}, learner.Rounds{Seconds: 10, Step: 1}
	}
	return t
}

// classrooms adds those of further seeds to rooms until there are n.
func (l *lesson) classrooms(rooms []*classroom, n int) ([]*classroom, error) {
	for len(rooms) < n {
		room, err := l.classroom(uint64(len(rooms) + 1))
		if err != nil {
			return rooms, err
		}
		rooms = append(rooms, room)
	}
	return rooms, nil
}

// underLiars measures one kind of liar, and reports whether the people are too few to say
// whether it does more harm than it may.
func (l *lesson) underLiars(ctx context.Context, rooms []*classroom, kind kindOfLie) (bars []Bar, undecided bool, err error) {
	some, err := pooled(ctx, rooms, kind, someLiars)
	if err != nil {
		return nil, false, err
	}
	many, err := pooled(ctx, rooms, kind, manyLiars)
	if err != nil {
		return nil, false, err
	}
	about := fmt.Sprintf("%s, %s", l.name(), kind.name)
	lower, upper := many.harm()
	return []Bar{
		atLeast("5 models: gain left with 10 % liars, "+about, some.left(), leastLeft, ""),
		AtMost("5 models: harm against alone with 30 % liars, "+about, upper, mostHarm, ""),
	}, lower <= mostHarm && mostHarm < upper, nil
}

// honestErrors are the errors of the honest people, all lists in the same order.
type honestErrors struct{ alone, plain, with []float64 }

// left is the share of the gain without liars that is left with them.
func (e *honestErrors) left() float64 {
	alone := stat.Mean(e.alone, nil)
	return (alone - stat.Mean(e.with, nil)) / (alone - stat.Mean(e.plain, nil))
}

// harm is the 95 % interval of the mean harm.
func (e *honestErrors) harm() (lower, upper float64) {
	harm := floats.SubTo(make([]float64, len(e.with)), e.with, e.alone)
	mean, std := stat.MeanStdDev(harm, nil)
	half := 1.96 * std / math.Sqrt(float64(len(harm)))
	return mean - half, mean + half
}

// pooled returns the honest people of all seeds, with this share of liars of a kind.
func pooled(ctx context.Context, rooms []*classroom, kind kindOfLie, share float64) (e honestErrors, err error) {
	for _, n := range rooms {
		if ctx.Err() != nil {
			return e, context.Cause(ctx)
		}
		states, err := n.learn(&kind, share)
		if err != nil {
			return e, err
		}
		with, liars := n.fitted(states), n.liars(share)
		for i := range with {
			if !liars[i] {
				e.alone, e.plain, e.with = append(e.alone, n.alone[i]), append(e.plain, n.plain[i]), append(e.with, with[i])
			}
		}
	}
	return e, nil
}
