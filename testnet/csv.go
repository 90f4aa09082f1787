package testnet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"p2pnode/csvfile"
	"p2pnode/learner"
)

// NodeColumn is the column of a CSV that names the owner of a line's record.
const NodeColumn = "node"

// Owners say who owns the record of a line.
type Owners struct {
	Column string // the column that names them
	// Deal is the number of people among whom lines are dealt out in turn if there is
	// no such column. 0: a missing column is an error.
	Deal int
	// Skipped is called with the bad lines of a file, which are then left out; nil: bad
	// lines are an error.
	Skipped func(*BadLines)
}

// ReadPeople reads people's records from a [csvfile] with a column that names their owners
// and the columns of the task, in any order; other columns are ignored. The error is a
// *[BadLines] that reports every line that cannot be read, with its number.
func ReadPeople(r io.Reader, file string, t *learner.Task, o Owners) (*Dataset, error) {
	rows, err := openTable(r, file)
	if err != nil {
		return nil, err
	}
	people := newReader(file, file, t)
	people.set.Catalogue, people.skipped = t.Hashed(), o.Skipped
	node, named := rows.Column(o.Column)
	if !named && o.Deal == 0 {
		return nil, fmt.Errorf("testnet: %s has no column %q that says whose record a line is: name another with --node-column; if there is none, testnet rehearse deals the lines out to people, and so does testnet export with --nodes%s", file, o.Column, csvfile.Meant(o.Column, rows.Columns))
	}
	if err := people.needs(func(c string) bool { _, ok := rows.Column(c); return ok }, rows.Columns); err != nil {
		return nil, err
	}
	dealt := 0
	err = eachRow(rows, &people.bad, func(line int, cells []string) {
		if !named {
			people.add(line, fmt.Sprint(dealt%o.Deal+1), people.cells(rows, line, cells))
			dealt++
			return
		}
		name := strings.TrimSpace(cells[node])
		if name == "" {
			people.bad.Add(line, fmt.Errorf("column %q is empty", o.Column))
			return
		}
		people.add(line, name, people.cells(rows, line, cells))
	})
	if err != nil {
		return nil, err
	}
	if !named {
		people.set.Dealt = o.Deal
	}
	return people.done()
}

// openTable reads the header.
func openTable(r io.Reader, file string) (*csvfile.Reader, error) {
	rows, err := csvfile.NewReader(r)
	if err != nil {
		return nil, unreadable(file, err)
	}
	return rows, nil
}

// unreadable is the error of a file that cannot be read.
func unreadable(file string, err error) error {
	if named, ok := errors.AsType[*fs.PathError](err); ok { // the file, once more
		err = named.Err
	}
	return fmt.Errorf("testnet: read %s: %w", file, err)
}

// eachRow calls take for every row, and adds lines that are not rows to bad. The error
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
		return unreadable(bad.File, err)
	}
	return nil
}
