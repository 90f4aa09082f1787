package testnet

import (
	"encoding/json"
	"io"

	"p2pnode/learner"
	"p2pnode/node/datadir"
)

// report is the JSON form of a result: the standard output with --json, and the
// beginning of results.json.
type report struct {
	Nodes    int             `json:"nodes"`
	Seconds  float64         `json:"seconds"`
	Seed     uint64          `json:"seed"`
	Delivery float64         `json:"delivery"`
	Rows     []reportRow     `json:"rows"`
	Seeds    int             `json:"seeds"`
	Data     string          `json:"data"`
	Task     string          `json:"task"`
	Measure  learner.Measure `json:"measure"`
	Base     *float64        `json:"base"`          // mean error of a constant; null where it is not known
	BaseLog  *float64        `json:"base_log_loss"` // the same of log losses
	verdictReport
	Judged    Method            `json:"judged"`   // the method that verdict, change, by_log_loss and private_reduction are of; "" if no private one was measured
	Verdicts  []methodVerdict   `json:"verdicts"` // on each private method that was measured
	Driver    string            `json:"driver"`
	Complete  bool              `json:"complete"`          // false: interrupted, so there is no verdict
	Private   *learner.Interval `json:"private_reduction"` // of the mean error, in its own unit; null when private learning was not measured
	Load      *Load             `json:"load"`              // of the trial that took the most memory; null without real nodes
	Phones    int               `json:"phones"`            // the last ones of the nodes; 0 unless there was weather
	Processes *Footprint        `json:"processes"`         // of the mean daemon; null unless each node was a process
	Newcomers *newcomersReport  `json:"newcomers"`         // null when no private sum was made
	// Cells counts, for each column, the cells that were not taken unchanged; null for
	// made-up people.
	Cells   []learner.ColumnTally `json:"cells"`
	Misfits []Misfit              `json:"misfits,omitempty"` // people of whom the task does not foresee a column in most records
	Changed []string              `json:"changed,omitempty"` // what a rehearsal does otherwise than the task says
	Dealt   int                   `json:"dealt,omitempty"`   // people to whom a rehearsal dealt lines out that no column says the owner of: the verdicts are of these
	Missed  []MissedOne           `json:"missed,omitempty"`  // nodes elsewhere that are left out
	Sum     *sumReport            `json:"sum,omitempty"`     // of a rehearsal of nodes that broadcast
	All     *allReport            `json:"all,omitempty"`     // of a rehearsal of some of the people of a file
}

// newcomersReport is what a private sum gives to people who contributed nothing to it.
type newcomersReport struct {
	Error   float64 `json:"error"`
	Better  float64 `json:"better"`
	Worse   float64 `json:"worse"`
	GainP10 float64 `json:"gain_p10"`
}

// verdictReport is a verdict on a way to learn.
type verdictReport struct {
	Verdict   string            `json:"verdict"`               // "worth it", "not worth it", "cannot tell" or "no verdict", and why
	Change    *learner.Interval `json:"change"`                // of the mean error in this way, as a share of that alone; null when it was not measured
	ByLogLoss bool              `json:"by_log_loss,omitempty"` // the verdict and its change are of log losses
}

func (v Verdict) report() verdictReport {
	return verdictReport{Verdict: v.String(), Change: v.known(), ByLogLoss: v.ByLogLoss}
}

// methodVerdict is the verdict on a private way to learn.
type methodVerdict struct {
	Method Method `json:"method"`
	verdictReport
}

// sumReport is what a private sum would give in place of the broadcasts that were rehearsed.
type sumReport struct {
	verdictReport
	Advice string         `json:"advice,omitempty"` // what follows from both verdicts
	Edits  []datadir.Edit `json:"edits,omitempty"`  // of the task's file, if it is to make such a sum
}

// allReport is what a private sum, which is simulated, would give all people of a file, or more
// of them than were rehearsed.
type allReport struct {
	Nodes int `json:"nodes"`
	verdictReport
}

// allReport is nil if no sum of all people was worked out.
func (r *Result) allReport() *allReport {
	if r.All == nil {
		return nil
	}
	return &allReport{r.All.nodes(), r.All.verdictOn(Private).report()}
}

// sumReport is nil if no sum was worked out beside broadcasts, or if there is no verdict on these.
func (r *Result) sumReport(broadcast Verdict) *sumReport {
	if !r.Broadcasts || len(r.Trials(Private)) == 0 || r.interrupted() {
		return nil
	}
	out := &sumReport{verdictReport: r.verdictOn(Private).report()}
	out.Advice, out.Edits = r.advice(broadcast)
	return out
}

func (r *Result) report() report {
	out := report{
		Nodes: r.nodes(), Seconds: r.Seconds, Seed: r.Seed, Delivery: r.delivery(), Rows: r.rows(),
		Seeds: len(r.Rounds), Data: r.Data, Task: r.Task, Measure: r.Measure, Driver: r.Driver, Complete: r.Complete,
		Load:   r.load(),
		Phones: r.Phones, Processes: r.footprint(), Cells: r.Noted, Misfits: r.Misfits, Changed: r.Changed, Dealt: r.Dealt, Missed: r.Missed,
	}
	if base := r.base(); base > 0 {
		out.Base = &base
	}
	if base := r.baseLogLoss(); base > 0 {
		out.BaseLog = &base
	}
	if pairs := r.newcomers(); len(pairs) > 0 {
		s := Summarise(pairs)
		out.Newcomers = &newcomersReport{Error: s.Error, Better: s.Better, Worse: s.Worse, GainP10: s.GainP10}
	}
	verdict := r.verdict()
	out.verdictReport, out.Verdicts = verdict.report(), []methodVerdict{}
	if len(r.Trials(r.best())) > 0 {
		out.Judged = r.best()
	}
	for _, m := range r.private() {
		out.Verdicts = append(out.Verdicts, methodVerdict{m, r.verdictOn(m).report()})
	}
	if verdict.People > 1 {
		saved := r.reduction(r.best())
		out.Private = &saved
	}
	out.Sum, out.All = r.sumReport(verdict), r.allReport()
	return out
}

// WriteJSON writes the result as one JSON object.
func (r *Result) WriteJSON(w io.Writer) error {
	return json.NewEncoder(w).Encode(r.report())
}

// rawResult is results.json: the report and the numbers it was computed from.
type rawResult struct {
	report
	People []rawPerson `json:"people"`
	Trials []rawTrial  `json:"trials"`
}

// rawPerson is one person in one seed, under a number instead of a name.
type rawPerson struct {
	Person int                `json:"person"`
	Seed   uint64             `json:"seed"`
	Train  int                `json:"train"`
	Test   int                `json:"test"`
	Base   float64            `json:"base"` // error of a constant; 0: not known
	Errors map[Method]float64 `json:"errors"`
	Logs   map[Method]float64 `json:"log_losses,omitempty"`
	Spent  map[Method]float64 `json:"spent"` // share of the budget used, of the methods that use it
}

// rawTrial is one method in one seed.
type rawTrial struct {
	Method     Method       `json:"method"`
	Seed       uint64       `json:"seed"`
	Seconds    float64      `json:"seconds"`
	Expected   uint64       `json:"expected"` // copies of models
	Delivered  uint64       `json:"delivered"`
	Unfinished int          `json:"unfinished"` // nodes that had not used their budget
	Curve      []CurvePoint `json:"curve"`
	Load       *Load        `json:"load"` // null without real nodes
}

// writeRaw writes the result with the numbers of every person as one JSON object. It
// contains losses on raw data, and is for the experimenter, who owns all the data.
func (r *Result) writeRaw(w io.Writer) error {
	raw := rawResult{report: r.report(), People: []rawPerson{}, Trials: []rawTrial{}}
	for i := range r.Rounds {
		round := &r.Rounds[i]
		for k, p := range round.People {
			person := rawPerson{Person: p.Number, Seed: round.Seed, Train: p.Train, Test: p.Test, Base: p.Base,
				Errors: make(map[Method]float64), Logs: make(map[Method]float64), Spent: make(map[Method]float64)}
			for _, t := range round.Trials {
				person.Errors[t.Method] = t.Errors[k]
				if t.LogLosses != nil {
					person.Logs[t.Method] = t.LogLosses[k]
				}
				if t.Spent != nil {
					person.Spent[t.Method] = t.Spent[k]
				}
			}
			raw.People = append(raw.People, person)
		}
		for _, t := range round.Trials {
			raw.Trials = append(raw.Trials, rawTrial{
				Method: t.Method, Seed: round.Seed, Seconds: t.Seconds, Expected: t.Expected,
				Delivered: t.Delivered, Unfinished: t.Unfinished, Curve: append([]CurvePoint{}, t.Curve...), Load: t.Load,
			})
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(raw)
}
