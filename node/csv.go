package node

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

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

// errQuote ends the reading of a file: nobody can say which lines are good.
var errQuote = errors.New("a quotation mark is not closed or out of place, so what follows cannot be told apart, and no line left out")

// readCSV reads records from CSV with a header row that names the task's
// columns in any order; other columns are ignored. It reads on after a bad
// line, so that one report names them all, and no further than to the most records
// that are wanted. The error is that of a file that cannot be read at all.
func readCSV(r io.Reader, t *learner.Task, most int) ([]learner.Record, ImportReport, error) {
	rows := csv.NewReader(r)
	rows.ReuseRecord = true
	header, err := readHeader(rows, t)
	if err != nil {
		return nil, ImportReport{}, err
	}
	var records []learner.Record
	report := ImportReport{Lines: []BadLine{}}
	for {
		row, err := rows.Read()
		if err == io.EOF {
			return records, report, nil
		}
		var syntax *csv.ParseError
		if errors.As(err, &syntax) {
			if syntax.Err == csv.ErrQuote {
				report.add(syntax.StartLine, errQuote)
				return nil, report, ErrBadLines
			}
			report.add(syntax.Line, syntax.Err)
			continue
		}
		if err != nil {
			return nil, report, fmt.Errorf("node: read the CSV: %w", err)
		}
		record, err := t.Encode(func(name string) (string, bool) {
			at, ok := header[name]
			if !ok {
				return "", false
			}
			return row[at], true
		})
		if err != nil {
			line, _ := rows.FieldPos(0)
			report.add(line, err)
			continue
		}
		if len(records) == most {
			return nil, report, ErrTooMany
		}
		records = append(records, record)
	}
}

func (r *ImportReport) add(line int, reason error) {
	r.Bad++
	if len(r.Lines) < maxBadLines {
		r.Lines = append(r.Lines, BadLine{line, reason.Error()})
	}
}

// readHeader returns the position of each column and checks that the task's
// are all there.
func readHeader(rows *csv.Reader, t *learner.Task) (map[string]int, error) {
	row, err := rows.Read()
	if err == io.EOF {
		return nil, errors.New("node: the CSV is empty; its first line must name the columns")
	}
	if err != nil {
		return nil, fmt.Errorf("node: read the CSV's header: %w", err)
	}
	header := make(map[string]int, len(row))
	for i, name := range row {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		if _, twice := header[name]; twice {
			return nil, fmt.Errorf("node: the CSV's header names column %q twice", name)
		}
		header[name] = i
	}
	columns := Columns(t)
	for _, name := range columns {
		if _, ok := header[name]; !ok {
			return nil, fmt.Errorf("node: the CSV's header has no column %q; task %q wants the columns %s",
				name, t.Name, strings.Join(columns, ","))
		}
	}
	return header, nil
}

// Columns are the names a task expects in the header of a CSV, the target last.
func Columns(t *learner.Task) []string {
	var names []string
	for _, f := range t.Features {
		names = append(names, f.Name)
	}
	return slices.Concat(names, []string{t.Target.Name})
}
