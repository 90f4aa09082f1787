package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/csvfile"
	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/rowfile"
)

// predictFile holds the flags of predict for a file of rows.
type predictFile struct {
	name, out string
	numbers   bool // write the numbers of the lines instead of their columns

	report predictReport
}

func (f *predictFile) run(cmd *cobra.Command, o *options) error {
	file, err := openInput(f.name)
	if err != nil {
		return err
	}
	defer file.Close()
	shown := cmd.ErrOrStderr()
	if f.out == "" && isTerminal(cmd.OutOrStdout()) {
		shown = io.Discard // the rows show how far it is
	}
	in := showProgress(file, shown, "predicting the last rows")
	_, err = askOwner(cmd, o, func(owner api.Owner, ctx context.Context) (struct{}, error) {
		// An interrupt must not leave a part of the output that looks complete.
		ctx, stop := untilInterrupted(ctx)
		defer stop()
		write := func(w io.Writer) error { return f.predict(ctx, cmd, o, owner, in, w) }
		return struct{}{}, writeOut(f.out, cmd.OutOrStdout(), write)
	})
	in.done()
	if err != nil {
		return err
	}
	if f.out == "" {
		cmd.SetOut(cmd.ErrOrStderr()) // the rows are on standard output
	}
	if err := f.summary(cmd, o); err != nil || f.report.Bad == 0 {
		return err
	}
	return exitCode(1)
}

// summary says how it ended. In JSON it is one line, like the rows.
func (f *predictFile) summary(cmd *cobra.Command, o *options) error {
	if o.json {
		f.report.Cells = append([]api.ColumnTally{}, f.report.Cells...)
		return json.NewEncoder(cmd.OutOrStdout()).Encode(f.report)
	}
	return show(cmd, o, f.report, predictReport.String)
}

// predict writes the predictions for the rows of in.
func (f *predictFile) predict(ctx context.Context, cmd *cobra.Command, o *options, owner api.Predictor, in io.Reader, w io.Writer) error {
	t, err := datadir.ReadTask(o.dir)
	if err != nil {
		return err
	}
	columns := t.Columns()
	columns = columns[:len(columns)-1] // without the target
	var rows *rowfile.Reader
	opened := make(chan error, 1)
	go func() { // a pipe may stay silent, and an interrupt does not wait for it
		var err error
		rows, err = node.OpenRows(in, t, columns)
		opened <- err
	}()
	select {
	case err = <-opened:
	case <-ctx.Done():
		return errors.New("interrupted before the first row")
	}
	if err != nil {
		return ofFile(f.name, err)
	}
	out, err := f.output(rows, o.json, t.Target.Classes, w, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	items, ended := make(chan item, mostRows), make(chan error, 1)
	go func() {
		defer close(items)
		numeric := t.Numerics()
		read := itemReader{
			cell:     func(row *rowfile.Row, column string) (string, bool, error) { return node.Cell(numeric, row, column) },
			reads:    func(column string) bool { return column != t.Target.Name && t.Reads(column) },
			complete: func(row *rowfile.Row) error { return node.Complete(t, row, columns) },
			known:    make(map[string]bool),
		}
		ended <- read.all(ctx, rows, items)
	}()
	p := &rowPredictor{owner: owner, out: out, report: &f.report}
	if err := p.all(ctx, items); ctx.Err() != nil {
		return fmt.Errorf("interrupted after %d %s", f.report.Rows, plural(f.report.Rows, "row", "rows"))
	} else if err != nil {
		return err
	}
	return <-ended
}

// item is a line of the file: a row, or the reason why it is not one.
type item struct {
	line   int
	row    rowfile.Row
	cells  map[string]string // of the task
	reason string
}

// size is the number of bytes that it takes in a request.
func (i *item) size() (bytes int) {
	for name, text := range i.cells {
		bytes += len(name) + len(text) + len(`"":"",`)
	}
	return bytes
}

const (
	// mostRows and mostBytes bound one request to the daemon. In JSON a byte can take
	// six.
	mostRows  = 1000
	mostBytes = 1 << 20
	// mostKnown bounds the number of remembered columns.
	mostKnown = 1 << 16
)

// itemReader reads the rows of a file.
type itemReader struct {
	cell     func(row *rowfile.Row, column string) (string, bool, error)
	reads    func(column string) bool     // whether the task reads a column
	complete func(row *rowfile.Row) error // nil if it has what the task reads
	known    map[string]bool              // remembered results of reads
}

// all sends every line until the file or ctx ends.
func (r *itemReader) all(ctx context.Context, rows *rowfile.Reader, to chan<- item) error {
	send := func(i item) error {
		select {
		case to <- i:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := rows.Each(func(row rowfile.Row) error { return send(r.item(row)) },
		func(line int, reason error) { _ = send(item{line: line, reason: reason.Error()}) }) // ends with ctx
	if lost, ok := errors.AsType[*csvfile.LineError](err); ok {
		return send(item{line: lost.Line, reason: lost.Err.Error()})
	}
	return err
}

func (r *itemReader) item(row rowfile.Row) item {
	i := item{line: row.Line, row: row.Clone(), cells: make(map[string]string)}
	for _, name := range row.Columns() {
		if !r.wants(name) {
			continue
		}
		text, _, err := r.cell(&row, name)
		if err != nil {
			return item{line: row.Line, reason: err.Error()}
		}
		i.cells[name] = text
	}
	if row.Written() == nil { // of JSON, where each line names its own columns
		if err := r.complete(&row); err != nil {
			return item{line: row.Line, reason: err.Error()}
		}
	}
	if i.size() > mostBytes {
		return item{line: row.Line, reason: fmt.Sprintf("the task's columns have more than %d MB", mostBytes>>20)}
	}
	return i
}

// wants reports whether the prediction needs a column. Lines of JSON may name any
// number of other columns; only some are remembered.
func (r *itemReader) wants(column string) bool {
	reads, known := r.known[column]
	if !known {
		if reads = r.reads(column); len(r.known) < mostKnown {
			r.known[column] = reads
		}
	}
	return reads
}

// gather waits for a line and takes all lines that are ready, so that a file is sent in
// large parts and a pipe is answered at once.
func gather(ctx context.Context, items <-chan item) (some []item, more bool) {
	bytes := 0
	for {
		var next item
		if len(some) == 0 {
			select {
			case next, more = <-items:
			case <-ctx.Done():
				return nil, false
			}
		} else {
			select {
			case next, more = <-items:
			default:
				return some, true
			}
		}
		if !more {
			return some, false
		}
		some = append(some, next)
		if bytes += next.size(); len(some) == mostRows || bytes > mostBytes {
			return some, true
		}
	}
}

// rowPredictor asks for the predictions of lines and writes them.
type rowPredictor struct {
	owner  api.Predictor
	out    predictionWriter
	report *predictReport
	fitted time.Time // when the newest model that answered was fitted
}

// all answers until there are no more lines or ctx ends.
func (p *rowPredictor) all(ctx context.Context, items <-chan item) error {
	for {
		some, more := gather(ctx, items)
		if err := p.predict(ctx, some); err != nil || !more {
			return err
		}
	}
}

func (p *rowPredictor) predict(ctx context.Context, some []item) error {
	asked := api.Rows{Since: p.fitted}
	for _, i := range some {
		if i.reason == "" {
			asked.Rows = append(asked.Rows, i.cells)
		}
	}
	answers, err := p.ask(ctx, asked)
	if err != nil {
		return err
	}
	for _, i := range some {
		answer := api.Answer{Error: i.reason}
		if i.reason == "" {
			answer, answers = answers[0], answers[1:]
		}
		if err := p.write(&i, answer); err != nil {
			return err
		}
	}
	return p.out.flush()
}

// ask returns an answer for each row.
func (p *rowPredictor) ask(ctx context.Context, asked api.Rows) ([]api.Answer, error) {
	if len(asked.Rows) == 0 {
		return nil, nil
	}
	a, err := p.owner.PredictRows(ctx, asked)
	if err != nil {
		return nil, err
	}
	if p.report.Models == 0 || !a.Fitted.Equal(p.fitted) {
		p.report.Models++
	}
	p.fitted = a.Fitted
	return a.Answers, nil
}

func (p *rowPredictor) write(i *item, answer api.Answer) error {
	if answer.Prediction == nil {
		p.report.Bad++
		return p.out.bad(i.line, answer.Error)
	}
	p.report.Rows++
	p.report.Guess = p.report.Guess || answer.Guess
	p.report.Cells = addTallies(p.report.Cells, answer.Cells)
	return p.out.row(i, answer.Prediction)
}

// predictReport is the result of the prediction of a file.
type predictReport struct {
	Rows   int               `json:"rows"`
	Bad    int               `json:"bad"`
	Models int               `json:"models"`          // that answered: more than one if it learned meanwhile
	Guess  bool              `json:"guess,omitempty"` // as in [api.Prediction], of any row
	Cells  []api.ColumnTally `json:"cells"`           // that were not taken as they are
}

// String implements [fmt.Stringer].
func (r predictReport) String() string {
	if r.Rows+r.Bad == 0 {
		return "There was no row to predict, only the line that names the columns.\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Predicted %d %s, %d bad %s.\n", r.Rows, plural(r.Rows, "row", "rows"), r.Bad, plural(r.Bad, "line", "lines"))
	for _, line := range append(notedLines(r.Cells), emptyLines(r.Cells)...) {
		b.WriteString(paragraph("", line+"."))
	}
	if r.Models > 1 {
		b.WriteString(paragraph("", fmt.Sprintf("The model learned meanwhile: %d answered, each for the rows after those of the one before.", r.Models)))
	}
	if r.Guess {
		b.WriteString(untrained)
	}
	return b.String()
}
