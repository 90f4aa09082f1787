package testnet

import (
	"fmt"
	"math"

	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/privacy"
	"p2pnode/privacy/accountant"
)

// Method names a way to learn, in reports and in JSON.
type Method string

// The methods compared, in the order of the table.
const (
	Alone     Method = "alone"     // the tuned lone model; nothing leaves the device
	Broadcast Method = "broadcast" // models go to neighbours, with noise in each of them
	Private   Method = "private"   // one private sum of all people, with noise in it once
	Together  Method = "together"  // that sum without noise, to measure the cost of privacy
)

// Open is broadcast without noise or budget. The demonstration leaves it out; the
// papers' experiments compare with it.
const Open Method = "open"

// Result is what a run of the testnet measured.
type Result struct {
	Data     string                // the data set's name
	LeftOut  int                   // people of the data set with too few records
	Noted    []learner.ColumnTally // cells of the data set that were not taken unchanged
	Misfits  []Misfit              // as in [Dataset]
	Task     string                // the task's name
	Measure  learner.Measure       // what an error is
	Driver   string                // what carried the messages
	Budget   privacy.Budget        // of every record; Broadcast and Private may each use all of it
	Seed     uint64                // the first seed
	Seconds  float64               // wall time of the whole run
	Rounds   []Round               // one for each seed
	Complete bool                  // false when it was interrupted
	Changed  []string              // how a rehearsal differs from what the task says
	Dealt    int                   // people to whom a rehearsal dealt the lines of a file out; 0: a column says whose they are
	// Broadcasts says that a rehearsal is of nodes that broadcast. The private sums were
	// then only worked out, to show what they would give in place of the broadcasts.
	Broadcasts bool
	Edits      []datadir.Edit // of the task's file, for a private sum in place of broadcasts; nil: there is no file
	Of         int            // people of the data set that those of a rehearsal were drawn from
	All        *Result        // a simulated private sum of these, or of many of them; nil: there is none
	Phones     int            // how many of the nodes, the last ones, were phones
	Asked      int            // number of nodes that ran elsewhere; 0: none
	Missed     []MissedOne    // those of Asked that are left out
}

// Round is one seed: a split of everyone's records, a graph, and a trial of each
// method. An interrupted round has fewer trials.
type Round struct {
	Seed   uint64
	People []Participant
	Trials []Trial
}

// Participant is a person as results name them.
type Participant struct {
	Number int // 1, 2, ...; the same in every seed
	Train  int // number of records to learn from
	Test   int // number of test records
	// Base is the test error of a constant fitted to the person's records, and BaseLogLoss
	// its log loss; 0: not known.
	Base, BaseLogLoss float64
}

// Trial is the result of one method for everyone in one round.
type Trial struct {
	Method    Method
	Errors    []float64 // test error of each person, in the round's order
	LogLosses []float64 // in the same order; nil where models give no probabilities
	AUC       *float64  // area under the curve, mean over people with records of two classes; nil without any
	Majority  int       // people whose model predicts nothing but their most frequent class
	Seconds   float64   // wall time
	Spent     []float64 // share of the budget each has used, in [0, 1]; nil without a budget
	// Messages is the number of copies of models sent, per node: one to each listener
	// for each release; for a private sum it is the contributions.
	Messages float64
	Bytes    float64 // everything sent, per node
	// Expected is how many copies of models should have arrived; for a private sum, how
	// many contributions and results, and in a simulation how many messages of any kind.
	// Delivered is how many arrived and passed all checks.
	Expected, Delivered uint64
	Unfinished          int // nodes that had not used their budget when it ended
	// Newcomers is what the test errors would be if all people knew the result of the
	// private sum and none had contributed to it; nil if there was none.
	Newcomers []float64
	Curve     []CurvePoint
	Load      *Load      // nil without real nodes
	Processes *Footprint // nil unless each node was a process
}

// CurvePoint is a point of the learning curve.
type CurvePoint struct {
	Releases float64 `json:"releases"` // mean per node so far
	Error    float64 `json:"error"`    // mean per person
}

// nodes is the number of nodes of a round.
func (r *Result) nodes() int {
	if len(r.Rounds) == 0 {
		return 0
	}
	return len(r.Rounds[0].People)
}

// trial returns the trial of a method, or nil.
func (r *Round) trial(m Method) *Trial {
	for i := range r.Trials {
		if r.Trials[i].Method == m {
			return &r.Trials[i]
		}
	}
	return nil
}

// Trials returns the trials of a method in all rounds.
func (r *Result) Trials(m Method) []*Trial {
	var all []*Trial
	for i := range r.Rounds {
		if t := r.Rounds[i].trial(m); t != nil {
			all = append(all, t)
		}
	}
	return all
}

// Pairs sets the errors of a method beside those of the lone models, pooled
// over the rounds that have both.
func (r *Result) Pairs(m Method) []Pair { return r.pairs(m, byError) }

func (r *Result) pairs(m Method, of func(*Trial) []float64) []Pair {
	var pairs []Pair
	for i := range r.Rounds {
		alone, with := r.Rounds[i].trial(Alone), r.Rounds[i].trial(m)
		if alone == nil || with == nil || of(alone) == nil || of(with) == nil {
			continue
		}
		for k, p := range r.Rounds[i].People {
			pairs = append(pairs, Pair{Person: p.Number, Train: p.Train, Alone: of(alone)[k], With: of(with)[k]})
		}
	}
	return pairs
}

// What is compared of a trial.
func byError(t *Trial) []float64   { return t.Errors }
func byLogLoss(t *Trial) []float64 { return t.LogLosses }

// delivery is the share of copies of models that arrived, over all trials; 0 if none
// was sent. A node that begins to listen just after a release gets it without being
// expected to, so the share is limited to 1.
func (r *Result) delivery() float64 {
	var expected, delivered uint64
	for i := range r.Rounds {
		for _, t := range r.Rounds[i].Trials {
			expected += t.Expected
			delivered += t.Delivered
		}
	}
	if expected == 0 {
		return 0
	}
	return min(1, float64(delivered)/float64(expected))
}

// unfinished counts the nodes that had not used their budget, over all trials.
func (r *Result) unfinished() int {
	n := 0
	for i := range r.Rounds {
		for _, t := range r.Rounds[i].Trials {
			n += t.Unfinished
		}
	}
	return n
}

// spent is the largest share of the budget that anybody has used under a method.
func (r *Result) spent(m Method) float64 {
	var most float64
	for _, t := range r.Trials(m) {
		for _, s := range t.Spent {
			most = max(most, s)
		}
	}
	return most
}

// spentEpsilon is the epsilon, at the budget's delta, of what has been released
// so far: a share s of the budget is s of its squared GDP parameter.
func (r *Result) spentEpsilon(m Method) (float64, error) {
	if err := r.Budget.Validate(); err != nil {
		return 0, err
	}
	mu := r.Budget.Mu()
	s := r.spent(m)
	if s == 0 {
		return 0, nil
	}
	return accountant.GaussianEpsilon(r.Budget.Delta, mu*math.Sqrt(s)), nil
}

// reportRow is one line of the table.
type reportRow struct {
	Method  Method   `json:"method"`
	Error   float64  `json:"error"`    // mean over people, of the result's measure
	Better  float64  `json:"better"`   // share of people with a smaller error than alone
	Worse   float64  `json:"worse"`    // share with a larger one
	GainP10 float64  `json:"gain_p10"` // 10th percentile of (alone - with) / alone
	LogLoss *float64 `json:"log_loss"` // mean over people; null for numbers
	AUC     *float64 `json:"auc"`      // mean over people; null unless there are two classes
	Epsilon *float64 `json:"epsilon"`  // the guarantee of every record; null where there is none
	Delta   *float64 `json:"delta"`
	// Messages and Bytes are sent per node and round; Seconds is the wall time
	// of a round.
	Messages float64 `json:"messages"`
	Bytes    float64 `json:"bytes"`
	Seconds  float64 `json:"seconds"`
}

// rows returns the table, one row for each method that has results.
func (r *Result) rows() []reportRow {
	rows := []reportRow{}
	for _, m := range []Method{Alone, Open, Broadcast, Private, Together} {
		pairs, trials := r.Pairs(m), r.Trials(m)
		if len(pairs) == 0 {
			continue
		}
		s := Summarise(pairs)
		row := reportRow{Method: m, Error: s.Error, Better: s.Better, Worse: s.Worse, GainP10: s.GainP10}
		row.Epsilon, row.Delta = r.guarantee(m)
		row.LogLoss = meanOver(trials, func(t *Trial) *float64 { return meanOrNil(t.LogLosses) })
		row.AUC = meanOver(trials, func(t *Trial) *float64 { return t.AUC })
		for _, t := range trials {
			row.Messages += t.Messages / float64(len(trials))
			row.Bytes += t.Bytes / float64(len(trials))
			row.Seconds += t.Seconds / float64(len(trials))
		}
		rows = append(rows, row)
	}
	return rows
}

// guarantee is the promise for a record under a method. Alone, nothing leaves the
// device, so it is (0, 0).
func (r *Result) guarantee(m Method) (epsilon, delta *float64) {
	switch m {
	case Alone:
		return new(float64), new(float64)
	case Broadcast, Private:
		b := r.Budget
		return &b.Epsilon, &b.Delta
	}
	return nil, nil
}

// meanOver is the mean over trials, nil if one of them has none.
func meanOver(trials []*Trial, of func(*Trial) *float64) *float64 {
	var sum float64
	for _, t := range trials {
		v := of(t)
		if v == nil {
			return nil
		}
		sum += *v / float64(len(trials))
	}
	return &sum
}

// base is the mean error of constants over the rounds; 0: not known.
func (r *Result) base() float64 {
	return r.meanOf(func(p *Participant) float64 { return p.Base })
}

// baseLogLoss is the same of log losses.
func (r *Result) baseLogLoss() float64 {
	return r.meanOf(func(p *Participant) float64 { return p.BaseLogLoss })
}

func (r *Result) meanOf(of func(*Participant) float64) float64 {
	var sum, n float64
	for i := range r.Rounds {
		for k := range r.Rounds[i].People {
			sum, n = sum+of(&r.Rounds[i].People[k]), n+1
		}
	}
	return sum / max(1, n)
}

// best is the method that a result judges: the private sum or, if no nodes made one, the
// broadcast.
func (r *Result) best() Method {
	if r.Broadcasts || len(r.Trials(Private)) == 0 {
		return Broadcast
	}
	return Private
}

// verdict says whether private learning was worth it.
func (r *Result) verdict() Verdict { return r.verdictOn(r.best()) }

// private lists the private ways to learn that were measured, the private sum first.
func (r *Result) private() (measured []Method) {
	for _, m := range []Method{Private, Broadcast} {
		if len(r.Trials(m)) > 0 {
			measured = append(measured, m)
		}
	}
	return measured
}

// verdicts begin a report: one on each private way to learn, with its name if there are two.
func (r *Result) verdicts() []string {
	ways := r.private()
	if len(ways) < 2 || r.interrupted() {
		return []string{r.verdict().String()}
	}
	var lines []string
	for _, m := range ways {
		lines = append(lines, fmt.Sprintf("%s: %s", r.label(m), r.verdictOn(m)))
	}
	return lines
}

// interrupted reports whether something is missing that was to be measured. Nodes elsewhere are
// measured as they are, and may go on for ever.
func (r *Result) interrupted() bool { return !r.Complete && r.Asked == 0 }

// verdictOn says whether a method was worth it.
func (r *Result) verdictOn(m Method) Verdict {
	if r.interrupted() {
		none := math.NaN()
		return Verdict{Word: noVerdict, Why: "the run was interrupted", Change: learner.Interval{Mean: none, Low: none, High: none}}
	}
	trials, majority, models := r.Trials(m), 0, 0
	for _, t := range trials {
		majority, models = majority+t.Majority, models+len(t.Errors)
	}
	e := r.evidence(m, byError, r.base())
	e.MajorityOnly = majority > 0 && majority == models
	if likely := r.evidence(m, byLogLoss, r.baseLogLoss()); likely.Pairs != nil {
		e.LogLoss = &likely
	}
	return Judge(e)
}

func (r *Result) evidence(m Method, of func(*Trial) []float64, base float64) Evidence {
	free := Open
	if m == Private {
		free = Together
	}
	return Evidence{Pairs: r.pairs(m, of), Free: r.pairs(free, of), Floor: m == Broadcast, OneDraw: m == Private, Base: base, Seed: r.Seed}
}

// newcomers compares the errors of people who contributed nothing to a private sum with
// those of their lone models.
func (r *Result) newcomers() []Pair {
	pairs := r.Pairs(Private)
	var errs []float64
	for _, t := range r.Trials(Private) {
		errs = append(errs, t.Newcomers...)
	}
	if len(errs) != len(pairs) {
		return nil
	}
	for i := range pairs {
		pairs[i].With = errs[i]
	}
	return pairs
}

// resamples of the bootstrap, as every report uses.
const resamples = 10_000

// reduction is the mean error that a method saves compared with the lone models, with
// its bootstrap interval.
func (r *Result) reduction(m Method) learner.Interval {
	return Bootstrap(r.Pairs(m), resamples, r.Seed)
}
