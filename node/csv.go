package node

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"p2pnode/csvfile"
	"p2pnode/learner"
	"p2pnode/node/api"
)

// maxBadLines is how many bad lines an import report spells out.
const maxBadLines = 20

// readCSV reads records from a table whose header names the task's columns in any order,
// and ignores other columns. It goes on after a bad line, so that one report names them
// all. It hands each record to take and stops at its first error. Other errors are an
// [ErrRequest], [ErrBadLines] or the error of r.
func readCSV(r io.Reader, t *learner.Task, report *api.ImportReport, take func(learner.Record) error) error {
	report.Lines, report.Cells = []api.BadLine{}, []api.ColumnTally{}
	rows, err := csvfile.NewReader(r)
	if err == nil {
		err = hasColumns(rows, t)
	}
	if err != nil {
		return api.WrongRequest(fmt.Errorf("node: read the CSV: %w", err))
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
			addBad(report, line, err)
			return nil
		}
		return take(record)
	}, func(line int, reason error) { addBad(report, line, reason) })
	if lost, ok := errors.AsType[*csvfile.LineError](err); ok {
		addBad(report, lost.Line, lost.Err)
		return api.ErrBadLines
	}
	return err
}

func addBad(r *api.ImportReport, line int, reason error) {
	r.Bad++
	if len(r.Lines) < maxBadLines {
		r.Lines = append(r.Lines, api.BadLine{Line: line, Reason: reason.Error()})
	}
}

// hasColumns checks that the task's columns are all there.
func hasColumns(rows *csvfile.Reader, t *learner.Task) error {
	columns := t.Columns()
	for _, name := range columns {
		if _, ok := rows.Column(name); !ok && !t.Optional(name) {
			return fmt.Errorf("the header has no column %q; task %q wants the columns %s",
				name, t.Name, strings.Join(columns, ","))
		}
	}
	return nil
}
