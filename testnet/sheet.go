package testnet

import (
	"fmt"
	"io"
	"slices"

	"p2pnode/csvfile"
)

// Sheet is a file of columns as text, with a header.
type Sheet struct {
	File    string
	Comma   rune     // what separates its cells
	Columns []string // each once
	Rows    [][]string
	Lines   []int // the line in the file of each row

	table *csvfile.Reader // the file
}

// maxCells bounds the memory a sheet takes to a few gigabytes.
const maxCells = 50_000_000

// ReadSheet reads all of a [csvfile]. The error is a *[BadLines] that lists the invalid
// lines with their numbers; skipped is called with them instead, unless it is nil, and they
// are left out.
func ReadSheet(r io.Reader, file string, skipped func(*BadLines)) (*Sheet, error) {
	rows, err := openTable(r, file)
	if err != nil {
		return nil, err
	}
	s := &Sheet{File: file, Comma: rows.Comma, Columns: rows.Columns, table: rows}
	bad, cells := BadLines{File: file}, 0
	err = eachRow(rows, &bad, func(line int, row []string) {
		if cells += len(row); cells <= maxCells {
			s.Rows, s.Lines = append(s.Rows, slices.Clone(row)), append(s.Lines, line)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := bad.Refused(skipped); err != nil {
		return nil, err
	}
	if cells > maxCells {
		return nil, fmt.Errorf("testnet: %s has %d cells and at most %d are read: take part of its lines or columns", file, cells, maxCells)
	}
	return s, nil
}

// shownColumns is how many names an error lists.
const shownColumns = 30

// Column is the position of a column, or an error that lists the existing ones.
func (s *Sheet) Column(name string) (int, error) {
	if i := slices.Index(s.Columns, name); i >= 0 {
		return i, nil
	}
	some, more := s.Columns, ""
	if len(some) > shownColumns {
		some, more = some[:shownColumns], " and others"
	}
	return 0, fmt.Errorf("testnet: %s has no column %q; it has %q%s", s.File, name, some, more)
}

// Number is the text of a number's cell with a decimal point.
func (s *Sheet) Number(cell string) string { return csvfile.Number(s.Comma, cell) }

// NumberAt is Number for a cell of a sheet that was read; see [csvfile.Reader.Number]. The rows of
// a column must be asked in order, once.
func (s *Sheet) NumberAt(row, column int) (string, error) {
	return s.table.Number(s.Lines[row], column, s.Rows[row][column])
}
