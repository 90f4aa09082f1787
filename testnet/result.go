package testnet

import (
	"math"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/privacy/accountant"
)

// Method names a way to learn, as reports and JSON do.
type Method string

// The methods compared, in the order of the table.
const (
	Alone    Method = "alone"    // the tuned lone model; nothing leaves the device
	Together Method = "together" // without noise or budget: what privacy costs is measured against it
	Private  Method = "private"  // within the budget
)

// Result is what a run of the testnet measured.
type Result struct {
	Data     string                // the data set's name
	LeftOut  int                   // people of the data set with too few records
	Noted    []learner.ColumnTally // its cells that were not taken as they are
	Task     string                // the task's name
	Measure  learner.Measure       // what an error is
	Driver   string                // what carried the messages
	Budget   privacy.Budget        // of every record under Private
	Seed     uint64                // the first
	Seconds  float64               // wall time of everything
	Rounds   []Round               // one for each seed
	Complete bool                  // false when it was interrupted
	Phones   int                   // how many of the nodes, the last ones, were phones
}

// Round is one seed: a split of everybody's records, a graph, and a trial of
// each method. An interrupted round has fewer trials.
type Round struct {
	Seed   uint64
	People []Participant
	Trials []Trial
}

// Participant is a person as results name her.
type Participant struct {
	Number int // 1, 2, ...; the same in every seed
	Train  int // records she learns from
	Test   int // records she is measured on
	// Base is the test error of a constant fitted to her records; 0: not known.
	Base float64
}

// Trial is what one method gave to everybody in one round.
type Trial struct {
	Method     Method
	Errors     []float64 // test error of each person, in the round's order
	LogLoss    *float64  // mean over people; nil where models give no probabilities
	AUC        *float64  // area under the curve, mean over people with records of two classes; nil without any
	Majority   int       // people whose model predicts nothing but their most frequent class
	Seconds    float64   // wall time
	Spent      []float64 // share of the budget each has used, in [0, 1]; nil without a budget
	Messages   float64   // copies of models sent, per node: one to each listener of each release
	Bytes      float64   // everything sent, per node
	Expected   uint64    // copies of models that should have arrived
	Delivered  uint64    // copies that passed the receivers' validator
	Unfinished int       // nodes that had not used their budget when it ended
	Curve      []CurvePoint
	Load       *Load      // nil without real nodes
	Processes  *Footprint // nil unless each node was a process
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
func (r *Result) Pairs(m Method) []Pair {
	var pairs []Pair
	for i := range r.Rounds {
		alone, with := r.Rounds[i].trial(Alone), r.Rounds[i].trial(m)
		if alone == nil || with == nil {
			continue
		}
		for k, p := range r.Rounds[i].People {
			pairs = append(pairs, Pair{Person: p.Number, Train: p.Train, Alone: alone.Errors[k], With: with.Errors[k]})
		}
	}
	return pairs
}

// delivery is the share of copies of models that arrived, over all trials; 0
// when none was sent. A node that begins to listen just after a release still
// gets it, and was not expected to; so it is cut off at 1.
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

// spent is the largest share of her budget that anybody has used.
func (r *Result) spent() float64 {
	var most float64
	for _, t := range r.Trials(Private) {
		for _, s := range t.Spent {
			most = max(most, s)
		}
	}
	return most
}

// spentEpsilon is the epsilon, at the budget's delta, of what has been released
// so far: a share s of the budget is s of its squared GDP parameter.
func (r *Result) spentEpsilon() (float64, error) {
	if err := r.Budget.Validate(); err != nil {
		return 0, err
	}
	mu := r.Budget.Mu()
	s := r.spent()
	if s == 0 {
		return 0, nil
	}
	return accountant.GaussianEpsilon(r.Budget.Delta, mu*math.Sqrt(s)), nil
}

// Row is one line of the table.
type Row struct {
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

// rows is the table, one row for each method that has results.
func (r *Result) rows() []Row {
	rows := []Row{}
	for _, m := range []Method{Alone, Together, Private} {
		pairs, trials := r.Pairs(m), r.Trials(m)
		if len(pairs) == 0 {
			continue
		}
		s := Summarise(pairs)
		row := Row{Method: m, Error: s.Error, Better: s.Better, Worse: s.Worse, GainP10: s.GainP10}
		row.Epsilon, row.Delta = r.guarantee(m)
		row.LogLoss = meanOver(trials, func(t *Trial) *float64 { return t.LogLoss })
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

// guarantee is what a record is promised under a method. Alone, nothing leaves
// the device, so it is (0, 0).
func (r *Result) guarantee(m Method) (epsilon, delta *float64) {
	switch m {
	case Alone:
		return new(float64), new(float64)
	case Private:
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
	var sum, n float64
	for i := range r.Rounds {
		for _, p := range r.Rounds[i].People {
			sum, n = sum+p.Base, n+1
		}
	}
	return sum / max(1, n)
}

// verdict is whether private learning was worth it.
func (r *Result) verdict() Verdict {
	trials, majority, models := r.Trials(Private), 0, 0
	for _, t := range trials {
		majority, models = majority+t.Majority, models+len(t.Errors)
	}
	return Judge(Evidence{
		Pairs: r.Pairs(Private), Free: r.Pairs(Together), Base: r.base(), MajorityOnly: majority > 0 && majority == models, Seed: r.Seed,
	})
}

// resamples of the bootstrap, as every report uses.
const resamples = 10_000

// reduction is the mean error that a method saves against the lone models, with
// its bootstrap interval.
func (r *Result) reduction(m Method) learner.Interval {
	return Bootstrap(r.Pairs(m), resamples, r.Seed)
}
