package learner

import (
	"fmt"
	"math"
	"slices"

	"p2pnode/privacy"
)

// doubter collects the doubtful values of a valid task.
type doubter struct {
	*Task
	expected Expected
	doubts   []*Fault
}

func (d *doubter) doubt(sure bool, key, format string, args ...any) {
	if !sure {
		d.doubts = append(d.doubts, &Fault{key, fmt.Sprintf(format, args...)})
	}
}

// Doubts lists the values that a valid task may have but probably should not, in a
// network as expected. The expected numbers of nodes and records are used only where
// they are known.
func (t *Task) Doubts(e Expected) []*Fault {
	d := doubter{Task: t, expected: e}
	d.ranges()
	d.target()
	d.clip()
	d.budget()
	d.size()
	d.sums()
	d.noise()
	return d.doubts
}

// widest is the width above which a range is called wide.
const widest = 1e5

func (d *doubter) ranges() {
	for i := range d.Features {
		f := &d.Features[i]
		if f.Kind == "number" {
			d.doubt(f.Log || f.Max-f.Min <= widest, fmt.Sprintf("features[%d].max", i),
				"makes a range of %.4g: where most of the data lies in a small part of it, all numbers look alike, and the noise hides the difference. "+
					"Narrow it to usual values, those outside count as its ends; or set log = true", f.Max-f.Min)
		}
	}
}

func (d *doubter) target() {
	t := &d.Target
	if d.Classifies() {
		return
	}
	of := ""
	if t.Log {
		of = " of its logarithm"
	}
	d.doubt(d.unit() <= 0.75*t.width(), "target.center", "is %v, near an end of the range from %v to %v: errors%s are up to %.4g, and the noise grows with them. "+
		"If that is what is usual, leave it so, or take a narrower range", t.Center, t.Min, t.Max, of, d.unit())
}

func (d *doubter) clip() {
	most, usual := d.GradientBound(), d.lossKind().usual.slope*d.unit()
	switch {
	case d.releasesVectors() && !d.staysConvex(usual): // these learners need a large clip
	case d.Clip > most*(1+1e-3):
		d.doubt(false, "clip", "is %v, and no record's gradient is longer than %.4g: the noise is larger than it need be. Write %.4g or less", d.Clip, most, most)
	case d.Clip > 2*usual:
		d.doubt(false, "clip", "is %v, and a usual record's gradient is at most %.4g: the noise is for gradients that hardly occur. Leave it out for %.3g", d.Clip, usual, clipShare*usual)
	default:
		d.doubt(d.Clip >= usual/100, "clip", "is %v, and a usual record's gradient is up to %.4g: all are shortened to nearly nothing. Leave it out for %.3g", d.Clip, usual, clipShare*usual)
	}
	if d.InRounds() && len(d.Servers()) == 0 {
		d.doubt(d.Rounds.Step <= d.LongestStep()*(1+1e-2), "rounds.step", "is %v: beyond %.4g a step may lead away from the minimum. Leave it out", d.Rounds.Step, d.LongestStep())
	}
}

// mostEpsilon is the epsilon above which a budget is called weak: a guess that was 50 %
// likely can become 95 % likely.
const mostEpsilon = 3

func (d *doubter) budget() {
	r := &d.Release
	d.doubt(r.Epsilon <= mostEpsilon, "release.epsilon", "is %v: who thought something of a record 50 %% likely can come to think it %.4g %% likely. A budget of %v or less protects",
		r.Epsilon, 100/(1+math.Exp(-r.Epsilon)), mostEpsilon)
	records := d.expected.known().Records
	d.doubt(r.Delta <= 1/(100*records), "release.delta", "is %v: exceptions to epsilon for one record in %.3g, of nodes with %v. Keep it below %.1g",
		r.Delta, 1/r.Delta, records, 1/(100*records))
	d.doubt(r.WakeSeconds >= 1, "release.wake_seconds", "is %v: a node would send many times a second, and its batteries and its neighbours' do not last", r.WakeSeconds)
}

func (d *doubter) size() {
	e := d.expected
	all := float64(max(1, e.Nodes)) * e.Records
	d.doubt(e.Records == 0 || e.Nodes == 0 || float64(d.Dimension()) <= all, "features", "make %d weights, more than the %v records of all nodes together: nothing can be told of most of them", d.Dimension(), all)
	d.doubt(e.Records == 0 || e.Nodes > 0 && float64(d.Dimension()) > all || float64(d.Dimension()) <= e.Records, "features",
		"make %d weights, more than the %v records of a node: alone it can tell little of them, and has to believe the others", d.Dimension(), e.Records)
	d.doubt(e.Nodes == 0 || d.Silent() || d.Graph.Degree < e.Nodes, "graph.degree", "is %d, and a node has %d others to choose from. Write %d", d.Graph.Degree, e.Nodes-1, max(1, e.Nodes-1))
	d.doubt(e.Records == 0 || d.Silent() || float64(d.Cohort()) >= e.Records, "cohort_size", "is %d, and a node has %v records: those of a second cohort wait until the first has spent its budget", d.Cohort(), e.Records)
}

// shortest is the time in seconds for contributions below which a sum is for a test: devices
// ask only every 15 s, and a restart takes as long.
const shortest = 60

// few is the number of nodes below which a sum may easily have next to nobody in it; of two it
// has all there can be. long is the time in seconds in which a device that is there at all comes.
const (
	few  = 20
	long = 7 * 24 * 3600
)

func (d *doubter) sums() {
	s, e := &d.Sums, d.expected
	if len(s.Recipes) == 0 {
		return
	}
	d.doubt(!d.Silent() || s.Share() > 1-1e-9, "sums.recipes", "take %.3g of each record's budget, and with learner \"sums\" nothing uses the rest. Leave the shares out, or let them add up to 1", s.Share())
	most := (len(s.Committee) - 1) / 3
	d.doubt(s.Colluding >= most, "sums.colluding", "is %d, and a committee of %d allows %d: you are protected against fewer members than you could be", s.Colluding, len(s.Committee), most)
	d.doubt(s.CloseSeconds >= shortest, "sums.close_seconds", "is %v: a device that is away for so long is in no sum, and neither is one that hears of it late. Less than a minute suits a test on one machine; write a day, 86400.0, or for few devices a week, 604800.0", s.CloseSeconds)
	d.doubt(e.Nodes <= 2 || e.Nodes >= few || s.CloseSeconds < shortest || s.CloseSeconds >= long || !d.drowns(2), "sums.close_seconds",
		"is %v: of %d nodes two may be all that come in that time, and pay for a sum that is mostly noise. No key says how many must come, so give them time: %.1f is a week",
		s.CloseSeconds, e.Nodes, float64(long))
	d.doubt(e.Nodes <= s.Contributors, "sums.contributors", "is %d: of the %d nodes that are expected the others are left out", s.Contributors, e.Nodes)
	d.doubt(e.Records <= float64(s.Records), "sums.records", "is %d: of the %v records of a node the others wait for later epochs", s.Records, e.Records)
}

// muchNoise is the share of noise from which a sum says little: of the records of five
// hospitals, at .04, it took most of what the sum could give.
const muchNoise = 0.02

// drowns reports whether a sum of so many of the expected nodes is mostly noise.
func (d *doubter) drowns(nodes int) bool {
	return slices.ContainsFunc(d.Sums.Recipes, func(r Recipe) bool {
		share, err := d.summedShare(r, Expected{nodes, d.expected.known().Records})
		return err == nil && share > muchNoise
	})
}

// noise compares the noise of all releases, and that of private sums, with the most that
// all records can move the model or the sum.
func (d *doubter) noise() {
	e := d.expected.known()
	for _, r := range d.Sums.Recipes {
		if share, err := d.summedShare(r, e); err == nil { // otherwise it needs a catalogue
			d.doubt(share <= 1, "sums.recipes", "add up in %q what %d nodes with %v records each can say, which drowns in at least %.2g times as much noise. "+
				"It takes more records, more nodes or fewer columns", r.Kind, e.Nodes, e.Records, share)
		}
	}
	if share, err := d.noiseShare(d.expected); err == nil {
		d.doubt(share <= 1, "release.epsilon", "is %v: what %d nodes with %v records each can say at most drowns in %.2g times as much noise. "+
			"It takes more records, more nodes, fewer columns, or a private sum", d.Release.Epsilon, e.Nodes, e.Records, share)
	}
}

// noiseShare is the length of the noise in the nodes' mean model, divided by the most that
// their records can move it; the step cancels out. Above 1 the noise is longer. It is 0
// for learners that release no sums of gradients.
func (t *Task) noiseShare(e Expected) (float64, error) {
	if t.Silent() || t.Obfuscated() || t.releasesVectors() {
		return 0, nil
	}
	noise, err := t.meanNoise(e.known())
	if err != nil {
		return 0, err
	}
	return noise / (float64(t.Release.Releases) * t.Clip), nil
}

// meanNoise is the length of the noise in the nodes' mean model after all releases, for
// steps of 1.
func (t *Task) meanNoise(e Expected) (float64, error) {
	policy, err := privacy.Design{
		Budget:   privacy.Budget{Epsilon: t.Release.Epsilon, Delta: t.Release.Delta},
		Releases: t.Release.Releases, Dimension: t.Dimension(), Clip: t.Clip, Apart: t.Sums.Share(),
	}.Policy()
	if err != nil {
		return 0, err
	}
	m, ok := policy.Next(0)
	if !ok {
		return 0, fmt.Errorf("learner: the budget buys no releases")
	}
	return m.NoiseStd() / e.Records * math.Sqrt(float64(t.Release.Releases*t.Dimension())/float64(e.Nodes)), nil
}

// summedShare is noiseShare for a private sum: the length of the noise in the sum, as if
// one round had the recipe's whole budget, divided by the longest sum that the records can
// make. t of the S members of the committee might have added no noise of theirs, so there
// is sqrt(S/(S-t)) times what is needed.
func (t *Task) summedShare(r Recipe, e Expected) (float64, error) {
	s, err := t.Summing(r, nil)
	if err != nil {
		return 0, err
	}
	scale, err := s.Scale(privacy.Budget{Epsilon: t.Release.Epsilon, Delta: t.Release.Delta})
	if err != nil {
		return 0, err
	}
	members := float64(len(t.Sums.Committee))
	noise := scale * math.Sqrt(members/(members-float64(t.Sums.Colluding))*float64(s.Dimension())/float64(s.Rounds()))
	return noise / (float64(e.Nodes) * e.Records * s.Distance() / 2), nil
}
