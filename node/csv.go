package node

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"p2pnode/csvfile"
	"p2pnode/learner"
)

// maxBadLines is how many bad lines an import report spells out.
const maxBadLines = 20

// ImportReport says what became of a CSV file.
type ImportReport struct {
	Records int       `json:"records"` // stored
	Bad     int       `json:"bad"`     // lines that were no record
	Lines   []BadLine `json:"lines"`   // the first of them
	// NeverShared says that the records stored serve this device only: the plan is
	// over, and nothing is sent any more.
	NeverShared bool `json:"never_shared,omitempty"`
}

// BadLine is a line of a CSV file that is no record, and why.
type BadLine struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// ErrBadLines is returned with a report when bad lines kept a file from being
// imported.
var ErrBadLines error = &Advised{errors.New("node: the file has bad lines, nothing was imported"), "mend them, or leave them out with --skip-bad"}

// ErrTooMany is returned for a file with more records than there is room for.
var ErrTooMany = errors.New("node: the file has more records than there is room for")

// readCSV reads records from a table whose header names the task's columns in any
// order; other columns are ignored. It reads on after a bad line, so that one report
// names them all, and hands each record to take, whose first error ends it. The error
// is else that of a file that cannot be read at all.
func readCSV(r io.Reader, t *learner.Task, take func(learner.Record) error) (ImportReport, error) {
	report := ImportReport{Lines: []BadLine{}}
	rows, err := csvfile.NewReader(r)
	if err != nil {
		return report, fmt.Errorf("node: read the CSV: %w", err)
	}
	if err := hasColumns(rows, t); err != nil {
		return report, err
	}
	err = rows.Each(func(line int, cells []string) error {
		record, err := t.Encode(func(name string) (string, bool) {
			at, ok := rows.Column(name)
			if !ok {
				return "", false
			}
			if t.Numeric(name) {
				return csvfile.Number(rows.Comma, cells[at]), true
			}
			return cells[at], true
		})
		if err != nil {
			report.add(line, err)
			return nil
		}
		return take(record)
	}, report.add)
	if lost, ok := errors.AsType[*csvfile.LineError](err); ok {
		report.add(lost.Line, lost.Err)
		return report, ErrBadLines
	}
	if err != nil && !errors.Is(err, ErrTooMany) {
		err = fmt.Errorf("node: read the CSV: %w", err)
	}
	return report, err
}

func (r *ImportReport) add(line int, reason error) {
	r.Bad++
	if len(r.Lines) < maxBadLines {
		r.Lines = append(r.Lines, BadLine{line, reason.Error()})
	}
}

// hasColumns checks that the task's columns are all there.
func hasColumns(rows *csvfile.Reader, t *learner.Task) error {
	columns := t.Columns()
	for _, name := range columns {
		if _, ok := rows.Column(name); !ok {
			return fmt.Errorf("node: the CSV's header has no column %q; task %q wants the columns %s",
				name, t.Name, strings.Join(columns, ","))
		}
	}
	return nil
}
