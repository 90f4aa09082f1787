package tabular

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"

	"p2pnode/node/datadir"
	"p2pnode/privacy"
	"p2pnode/testnet"
	"p2pnode/testnet/paper"
	"p2pnode/testnet/paper/nodes"
)

// CSV is the experiment on any user's own file.
func CSV() paper.Experiment {
	return paper.Experiment{
		Name:  "csv",
		Title: "Your own data",
		About: "What learning together would bring the nodes of a file: alone against together against together within a privacy budget, " +
			"each record predicted once by models that were not fitted to it (five folds).",
		Data:     "a CSV with a header, a column that says whose record a line is (\"node\", or --node-column), and the column to predict (the last, or --target)",
		UsesCSV:  true,
		UsesReal: true,
		Plan:     planCSV,
	}
}

const (
	folds      = 5
	quickNodes = 100 // the most nodes with Options.Quick
)

// table is a user's file with what was found out about it.
type table struct {
	coding  *coding
	owners  *owners
	node    string // the column
	task    string // the task of public ranges, or ""
	leftOut []string
	more    int // nodes that Options.Quick leaves out
	hash    string
	bad     int    // lines that cannot be read and are left out
	badLine string // one of them, and why
}

// skip counts lines that are left out.
func (t *table) skip(bad *testnet.BadLines) {
	t.bad += bad.Count
	t.badLine = cmp.Or(t.badLine, fmt.Sprintf("line %d: %s", bad.First[0].Line, bad.First[0].Reason))
}

func planCSV(o paper.Options) (*paper.Plan, error) {
	budget := privacy.Budget{Epsilon: o.CSV.Epsilon, Delta: o.CSV.Delta}
	switch {
	case o.CSV.Kind != "" && o.CSV.Kind != kindNumber && o.CSV.Kind != kindClasses:
		return nil, fmt.Errorf("--kind %s: choose %s or %s", o.CSV.Kind, kindNumber, kindClasses)
	case !(budget.Epsilon > 0) || math.IsInf(budget.Epsilon, 0):
		return nil, fmt.Errorf("--epsilon %g: must be above 0", budget.Epsilon)
	case !(budget.Delta > 0 && budget.Delta < 1):
		return nil, fmt.Errorf("--delta %g: must be above 0 and below 1", budget.Delta)
	}
	t, err := readTable(o)
	if err != nil {
		return nil, err
	}
	if _, err := t.coding.automatic(len(t.owners.list), 1, budget, paceWithin(budget)); err != nil {
		return nil, err // before anything runs
	}
	e := csvRun{table: t, budget: budget, seed: o.Seed, repeats: max(1, o.Seeds)}
	p := &paper.Plan{
		Identity: fmt.Sprintf("csv %s node %q target %q kind %q eps %g delta %g seed %d seeds %d quick %v",
			t.hash, t.node, t.coding.target.name, o.CSV.Kind, budget.Epsilon, budget.Delta, o.Seed, e.repeats, o.Quick),
		Seeds:  e.repeats,
		Report: e.report,
	}
	for _, part := range e.parts() {
		p.Cells = append(p.Cells, paper.Cell{Key: part.key(), Cost: 1, Run: func(context.Context) (paper.Numbers, error) { return e.run(part) }})
	}
	nodes.Add(p, o, e.overNodes())
	return p, nil
}

func readTable(o paper.Options) (*table, error) {
	if s, err := os.Stat(o.Data); err == nil && s.IsDir() {
		return nil, fmt.Errorf("--data %s: this is a directory: name the file in it", o.Data)
	}
	f, err := os.Open(o.Data)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	defer f.Close()
	t := &table{node: cmp.Or(o.CSV.Node, testnet.NodeColumn), task: o.CSV.Task}
	var skipped func(*testnet.BadLines)
	if o.CSV.SkipBad {
		skipped = t.skip
	}
	hash := sha256.New()
	sheet, err := testnet.ReadSheet(io.TeeReader(f, hash), o.Data, skipped)
	if err != nil {
		return nil, err
	}
	if len(sheet.Rows) == 0 {
		return nil, fmt.Errorf("tabular: %s has a header and no records", o.Data)
	}
	at, err := sheet.Column(t.node)
	if err != nil {
		return nil, fmt.Errorf("%w; --node-column names the one that says whose record a line is, and of a file that has none testnet rehearse deals the lines out to people", err)
	}
	if o.CSV.Target == t.node {
		return nil, fmt.Errorf("--target %s: this column says whose record a line is: predict another, or name another with --node-column", t.node)
	}
	if o.CSV.Task == "" {
		err = t.infer(sheet, o.CSV)
	} else {
		err = t.declared(sheet, o.CSV, hash)
	}
	if err != nil {
		return nil, err
	}
	if t.owners, err = t.coding.people(at, skipped); err != nil {
		return nil, err
	}
	if o.Quick {
		all := t.owners.list
		t.owners.list = all[:min(quickNodes, len(all))]
		t.more = len(all) - len(t.owners.list)
	}
	t.hash = hex.EncodeToString(hash.Sum(nil))
	return t, nil
}

// infer takes everything from the data.
func (t *table) infer(s *testnet.Sheet, o paper.CSV) error {
	name := o.Target
	for i := len(s.Columns) - 1; name == "" && i >= 0; i-- {
		if s.Columns[i] != t.node {
			name = s.Columns[i]
		}
	}
	c := &coding{sheet: s}
	var err error
	if c.target, err = findTarget(s, name, o.Kind); err != nil {
		return err
	}
	c.columns, t.leftOut, err = findColumns(s, t.node, name)
	t.coding = c
	return err
}

// declared takes everything from a task, as its nodes would.
func (t *table) declared(s *testnet.Sheet, o paper.CSV, hash io.Writer) error {
	task, err := datadir.LoadTask(o.Task)
	switch {
	case err != nil:
		return fmt.Errorf("--task: %w", err)
	case o.Target != "" && o.Target != task.Target.Name:
		return fmt.Errorf("--target %s: the task predicts %q; leave one of them out", o.Target, task.Target.Name)
	case o.Kind != "":
		return fmt.Errorf("--kind %s: the task says what its target is; leave one of them out", o.Kind)
	}
	if t.coding, err = declare(s, task); err != nil {
		return err
	}
	text, err := datadir.FormatTask(task)
	if err != nil {
		return err
	}
	_, err = hash.Write(text)
	return err
}

// csvRun is the experiment with its data.
type csvRun struct {
	*table
	budget  privacy.Budget
	seed    uint64
	repeats int
}

// part is one cell: a fold of a shuffle, with or without privacy, by releases or by a
// private sum.
type part struct {
	seed         uint64
	fold         int
	private, sum bool
}

func (p part) key() string {
	by := ""
	if p.sum {
		by = " by a sum"
	}
	return fmt.Sprintf("shuffle %d fold %d private %v%s", p.seed, p.fold+1, p.private, by)
}

func (e *csvRun) parts() []part {
	var list []part
	for k := range e.repeats {
		for fold := range folds {
			for _, sum := range []bool{false, true} {
				list = append(list, part{e.seed + uint64(k), fold, false, sum}, part{e.seed + uint64(k), fold, true, sum})
			}
		}
	}
	return list
}

// run learns and returns, for each node, the loss of its models and the number of
// records it was measured on.
func (e *csvRun) run(p part) (paper.Numbers, error) {
	nodes := e.owners.fold(p.fold, folds, p.seed)
	budget := e.budget
	if !p.private {
		budget = privacy.Budget{}
	}
	s, err := e.coding.automatic(len(nodes), meanRecords(nodes), budget, paceWithin(budget))
	if err != nil {
		return nil, err
	}
	return s.run(nodes, p.sum, p.key())
}
