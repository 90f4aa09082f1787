package paper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Job is a run of an experiment.
type Job struct {
	Experiment
	Options
	Dir     string // where its files go; made if needed
	Command string // what runs it again, for the report
	Version string // version of the program, for the report
	Program string // identifies the program that computes the cells
	Up      string // address of the index, relative to the page; "" for none
	Restart bool   // throw away the cells of an earlier run
	Trust   bool   // use cells of another program too, and say so in the notes
	Meter   *Meter // shows the progress; never nil
	// Log is called with a sentence on what happens to the cells of an earlier run.
	Log func(string)
}

// Run computes the cells of a job, as many at once as there are processors, and writes
// its page, its JSON and its CSV. Cells that an earlier run of the same program with
// the same options computed are read from the file NAME.cells. The order in which cells
// run changes nothing. When ctx ends, Run writes the report of the finished cells and
// returns it with the context's error.
func Run(ctx context.Context, j Job) (*Result, error) {
	r, err := j.run(ctx)
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("paper: %s: %w", j.Name, err)
	}
	return r, err
}

func (j *Job) run(ctx context.Context) (*Result, error) {
	plan, err := j.Plan(j.Options)
	if err != nil {
		return nil, err
	}
	if err := plan.validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(j.Dir, 0o755); err != nil {
		return nil, err
	}
	cells, lost, err := openCells(j.path(".cells"), header{j.Name, plan.Identity}, j.wants)
	if err != nil {
		return nil, err
	}
	defer cells.close()
	if lost && !j.Restart {
		j.Log(fmt.Sprintf("the cells of an earlier run are put aside as %s.cells.old: they are of another build of the program, or of other options", j.Name))
	}
	others := j.others(cells.done)
	done, interrupted := j.compute(ctx, plan, cells)
	if interrupted != nil && ctx.Err() == nil {
		return nil, interrupted
	}
	report, err := plan.Report(done)
	if err != nil {
		return nil, fmt.Errorf("make the report: %w", err)
	}
	r := &Result{
		Name: j.Name, Title: j.Title, Command: j.Command, Seed: j.Seed, Seeds: plan.Seeds, Seconds: cells.wall(),
		Version: j.Version, Complete: interrupted == nil, Verdict: report.Verdict, Summary: report.Summary, Rows: report.Rows, Notes: report.Notes,
		about: j.About, up: j.Up, sections: report.Sections,
	}
	if others > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of the %d cells were computed by another build of the program.", others, len(plan.Cells)))
	}
	if err := r.write(j); err != nil {
		return nil, err
	}
	return r, interrupted
}

// wants reports whether a cell of an earlier run is used.
func (j *Job) wants(k kept) bool { return !j.Restart && (j.Trust || k.Program == j.Program) }

// others counts the cells of another program.
func (j *Job) others(cells []kept) (n int) {
	for _, k := range cells {
		if k.Program != j.Program {
			n++
		}
	}
	return n
}

// compute computes the cells that are not kept yet.
func (j *Job) compute(ctx context.Context, plan *Plan, cells *cellFile) (Done, error) {
	have := make(map[string]kept, len(cells.done))
	done := make(Done, len(plan.Cells))
	for _, k := range cells.done {
		have[k.Key] = k
		done[k.Key] = k.Numbers
	}
	var todo []Cell
	for _, c := range plan.Cells {
		if _, ok := have[c.Key]; !ok {
			todo = append(todo, c)
		}
	}
	if len(have) > 0 {
		j.Log(fmt.Sprintf("%d of %d cells are taken up from an earlier run; --restart computes them again", len(have), len(plan.Cells)))
	}
	j.Meter.plan(plan.Cells, have)
	before, start := cells.wall(), time.Now()
	err := compute(ctx, todo, j.Meter, func(k kept) error {
		k.Program = j.Program
		k.Wall = before + time.Since(start).Seconds()
		done[k.Key] = k.Numbers
		return cells.add(k)
	})
	return done, err
}

func (j *Job) path(ending string) string { return filepath.Join(j.Dir, j.Name+ending) }

// validate finds mistakes in the plan itself.
func (p *Plan) validate() error {
	if p.Seeds < 1 {
		return fmt.Errorf("the plan uses %d seeds: it must say how many", p.Seeds)
	}
	seen := make(map[string]bool, len(p.Cells))
	for _, c := range p.Cells {
		switch {
		case c.Key == "" || seen[c.Key]:
			return fmt.Errorf("the plan has two cells with the key %q, or one without", c.Key)
		case !(c.Cost > 0):
			return fmt.Errorf("cell %s costs %g: it must say about how long it takes", c.Key, c.Cost)
		}
		seen[c.Key] = true
	}
	return nil
}
