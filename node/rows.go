package node

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"p2pnode/csvfile"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/rowfile"
	"p2pnode/storage"
)

// maxBadLines is how many bad lines an import report lists.
const maxBadLines = 20

// OpenRows begins to read a file of rows of the task, CSV or lines of JSON, as packages
// csvfile and rowfile describe. It fails with an [api.ErrRequest] if the file has neither
// form, or if the header of CSV lacks one of the given columns of the task. Other columns
// may be missing.
func OpenRows(r io.Reader, t *learner.Task, columns []string) (*rowfile.Reader, error) {
	rows, err := rowfile.NewReader(r)
	if err == nil && rows.Columns != nil {
		err = hasColumns(rows.Columns, t, columns)
	}
	if err != nil {
		return nil, api.WrongRequest(fmt.Errorf("node: read the rows: %w", err))
	}
	return rows, nil
}

// openRecords is OpenRows for records, whose IDs are in the named column; "" means that they
// have none.
func openRecords(r io.Reader, t *learner.Task, id string) (*rowfile.Reader, error) {
	rows, err := OpenRows(r, t, t.Columns())
	if err != nil {
		return nil, err
	}
	if err := hasID(rows, id); err != nil {
		return nil, api.WrongRequest(fmt.Errorf("node: read the rows: %w", err))
	}
	return rows, nil
}

// Cell returns the text that a row of a file has in a column of the task, and whether the
// row has it; numeric is that of [learner.Task.Numerics]. A text that is not in UTF-8 is an error:
// in JSON it would become another one.
func Cell(numeric func(column string) bool, row *rowfile.Row, column string) (text string, found bool, err error) {
	if numeric(column) {
		return row.Number(column)
	}
	if text, found, err = row.Cell(column); err == nil {
		err = readable(column, text)
	}
	return text, found, err
}

func readable(column, text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	return fmt.Errorf("column %q is not text in UTF-8; save the file in UTF-8", column)
}

// readRows reads records from rows that have the task's columns, in any order. It ignores
// other columns except that of the IDs, if it is named. It continues after a bad line, so
// that one report names all of them. It passes each record to take and stops at the first
// error of take. Other errors are an [api.ErrRequest], [api.ErrBadLines] or the error of
// r.
func readRows(r io.Reader, t *learner.Task, id string, report *api.ImportReport, take func(storage.Arrival) error) error {
	report.Lines, report.Cells = []api.BadLine{}, []api.ColumnTally{}
	rows, err := openRecords(r, t, id)
	if err != nil {
		return err
	}
	empty, numeric := true, t.Numerics()
	err = rows.Each(func(row rowfile.Row) error {
		empty = false
		arrival, err := arrivalOf(t, numeric, &row, id)
		if err != nil {
			addBad(report, row.Line, err)
			return nil
		}
		if report.Total == 0 && csvfile.Total(row.Written()) {
			report.Total = row.Line
		}
		return take(arrival)
	}, func(line int, reason error) { addBad(report, line, reason) })
	if lost, ok := errors.AsType[*csvfile.LineError](err); ok {
		addBad(report, lost.Line, lost.Err)
		return api.ErrBadLines
	}
	if err == nil && empty && report.Bad == 0 {
		return api.WrongRequest(errors.New("node: there is no record to import: the file has no line but the one that names the columns"))
	}
	return err
}

// hasID checks that a header of CSV has the column of the IDs.
func hasID(rows *rowfile.Reader, id string) error {
	if id == "" || rows.Columns == nil || slices.Contains(rows.Columns, id) {
		return nil
	}
	return fmt.Errorf("the header has no column %q, which should say which record a line is%s", id, csvfile.Meant(id, rows.Columns))
}

// arrivalOf returns the record of a row, with the ID in the named column; "" means that
// rows have no IDs.
func arrivalOf(t *learner.Task, numeric func(column string) bool, row *rowfile.Row, column string) (a storage.Arrival, err error) {
	if a.Record, err = encodeRow(t, numeric, row); err != nil || column == "" {
		return a, err
	}
	text, found, err := row.Cell(column)
	text = strings.TrimSpace(text)
	switch err = cmp.Or(err, readable(column, text)); {
	case err != nil:
		return a, err
	case !found || learner.Blank(text):
		return a, fmt.Errorf("column %q is empty, and says which record a line is", column)
	case len(text) > storage.MaxID:
		return a, fmt.Errorf("column %q has %d bytes, and says which record a line is with at most %d", column, len(text), storage.MaxID)
	}
	a.ID = text
	return a, nil
}

// Mended adds to the error about a value of a task what to do if the value is not the user's
// but a spreadsheet's.
func Mended(err error) error {
	v, ok := errors.AsType[*learner.ValueError](err)
	if !ok {
		return err
	}
	if text, wrong := strconv.Unquote(v.Value); wrong != nil || !csvfile.Fault(text) {
		return err
	}
	return fmt.Errorf("%w; a spreadsheet shows that for an error: mend the cell, or empty it", err)
}

func encodeRow(t *learner.Task, numeric func(column string) bool, row *rowfile.Row) (learner.Record, error) {
	var wrong error
	record, err := t.Encode(func(name string) (string, bool) {
		text, found, err := Cell(numeric, row, name)
		wrong = cmp.Or(wrong, err)
		return text, found
	})
	if err != nil {
		wrong = cmp.Or(wrong, Complete(t, row, t.Columns()))
	}
	return record, cmp.Or(wrong, Mended(err))
}

// Complete returns an error unless a row has these columns of the task, as far as it must:
// the row of one line of JSON, since those of CSV have what their header has. It says what
// the row may call the missing one.
func Complete(t *learner.Task, row *rowfile.Row, columns []string) error {
	names := row.Columns()
	missing := lacking(names, t, columns)
	if missing == nil {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(names), t.Reads)
	if near := csvfile.Near(missing[0], others); near != "" {
		return fmt.Errorf("column %q is missing, but there is %q", missing[0], near)
	}
	for _, name := range others {
		if _, _, err := row.Cell(name); errors.Is(err, rowfile.ErrNested) {
			return fmt.Errorf("column %q is missing, and %w", missing[0], err)
		}
	}
	return fmt.Errorf("column %q is missing", missing[0])
}

func addBad(r *api.ImportReport, line int, reason error) {
	r.Bad++
	if len(r.Lines) < maxBadLines {
		r.Lines = append(r.Lines, api.BadLine{Line: line, Reason: reason.Error()})
	}
}

// hasColumns returns an error unless all of these columns of the task are there.
func hasColumns(there []string, t *learner.Task, columns []string) error {
	missing := lacking(there, t, columns)
	for _, f := range t.Features {
		// The column of a key may be missing, but not because of a capital or a space.
		if f.Kind == "key" && slices.ContainsFunc(there, func(name string) bool { return name != f.Name && csvfile.Same(name, f.Name) }) &&
			!slices.Contains(there, f.Name) && slices.Contains(columns, f.Name) {
			missing = append(missing, f.Name)
		}
	}
	if missing != nil {
		return csvfile.Lacking(there, missing, fmt.Sprintf("task %q", t.Name), columns)
	}
	return nil
}

// lacking lists which of these columns of the task a row must have are not there.
func lacking(there []string, t *learner.Task, columns []string) (missing []string) {
	known := make(map[string]bool, len(there))
	for _, name := range there {
		known[name] = true
	}
	for _, column := range columns {
		if name, lacks := t.Lacks([]string{column}, func(column string) bool { return known[column] }); lacks {
			missing = append(missing, name)
		}
	}
	return missing
}
