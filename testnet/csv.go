package testnet

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"p2pnode/csvfile"
	"p2pnode/learner"
)

// NodeColumn is the column of a CSV that says whose record a line is.
const NodeColumn = "node"

// ReadCSV reads people's records from a [csvfile] with the column "node" and the
// columns of the task, in any order; other columns are ignored. Every line that
// cannot be read is reported with its number, in a *[BadLines].
func ReadCSV(r io.Reader, file string, t *learner.Task) (*Dataset, error) {
	rows, err := openTable(r, file)
	if err != nil {
		return nil, err
	}
	people := newReader(file, file, t)
	node, ok := rows.Column(NodeColumn)
	if !ok {
		return nil, fmt.Errorf("testnet: %s has no column %q that says whose record a line is", file, NodeColumn)
	}
	if err := people.needs(func(c string) bool { _, ok := rows.Column(c); return ok }); err != nil {
		return nil, err
	}
	err = eachRow(rows, &people.bad, func(line int, cells []string) {
		name := strings.TrimSpace(cells[node])
		if name == "" {
			people.bad.Add(line, fmt.Errorf("column %q is empty", NodeColumn))
			return
		}
		people.add(line, name, people.cells(rows, cells))
	})
	if err != nil {
		return nil, err
	}
	return people.done()
}

// openTable reads the header.
func openTable(r io.Reader, file string) (*csvfile.Reader, error) {
	rows, err := csvfile.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("testnet: read %s: %w", file, err)
	}
	return rows, nil
}

// eachRow calls take for every row, and adds the lines that are none to bad. The error
// is that of the underlying reader.
func eachRow(rows *csvfile.Reader, bad *BadLines, take func(line int, cells []string)) error {
	err := rows.Each(func(line int, cells []string) error {
		take(line, cells)
		return nil
	}, bad.Add)
	if lost, ok := errors.AsType[*csvfile.LineError](err); ok {
		bad.Add(lost.Line, lost.Err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("testnet: read %s: %w", bad.File, err)
	}
	return nil
}
