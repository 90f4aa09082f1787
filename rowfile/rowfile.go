// Package rowfile reads the rows of a file that is CSV, see package csvfile, or lines of
// JSON (NDJSON, JSON Lines): one object on each line, whose names are the columns. Which
// of the two a file is, shows in its first sign. It returns cells as text with their line
// number; the caller decides what a cell means.
package rowfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"p2pnode/csvfile"
)

// Reader reads one file in bounded memory. A row is there as soon as its line is, so it
// serves a pipe too. It is not safe for concurrent use.
type Reader struct {
	// Columns are those of the header of CSV, and Comma what separates its cells; nil and 0
	// for JSON, where each row names its own.
	Columns []string
	Comma   rune

	csv   *csvfile.Reader
	lines *bufio.Reader
}

const (
	startBytes = 1 << 16
	// lineBytes bounds a line, as csvfile bounds a row.
	lineBytes = 16 << 20
)

var (
	mark = []byte("\ufeff") // that some programs write first

	errArray = errors.New("the file is one JSON list; write each of its objects on a line of its own, as jq -c '.[]' does")
	errLong  = fmt.Errorf("is longer than %d MB; write one JSON object on each line", lineBytes>>20)
)

// NewReader finds out what the file is and reads the header of CSV. It fails as
// [csvfile.NewReader] does, and for JSON that is one list.
func NewReader(r io.Reader) (*Reader, error) {
	buffered := bufio.NewReaderSize(r, startBytes)
	switch first, second := signs(buffered); {
	case first == '[' && second == '{':
		return nil, errArray
	case first == '{':
		return &Reader{lines: buffered}, nil
	}
	table, err := csvfile.NewReader(buffered)
	if err != nil {
		return nil, err
	}
	return &Reader{Columns: table.Columns, Comma: table.Comma, csv: table}, nil
}

// NewLines is NewReader for lines that come one by one: the header is the first line of
// CSV, or empty for JSON.
func NewLines(header string) (*Reader, error) {
	if header == "" {
		return &Reader{}, nil
	}
	table, err := csvfile.NewReader(strings.NewReader(header))
	if err != nil {
		return nil, err
	}
	return &Reader{Columns: table.Columns, csv: table}, nil
}

// Line is the row of one line, which is not empty, without its end. In a pipe no cell of
// CSV can hold the end of a line, so a bad line spoils no other.
func (t *Reader) Line(text string) (Row, error) {
	if t.csv == nil {
		return object([]byte(text))
	}
	cells, err := t.csv.Line(text)
	return Row{table: t.csv, cells: cells}, err
}

// signs are the first two that are no space, 0 where there are none. No more is waited for
// than these.
func signs(r *bufio.Reader) (first, second byte) {
	for n := 1; n <= startBytes; n = r.Buffered() + 1 {
		_, err := r.Peek(n)
		start, _ := r.Peek(r.Buffered())
		if err == nil && len(start) < len(mark) && bytes.HasPrefix(mark, start) {
			continue
		}
		start = bytes.TrimLeft(bytes.TrimPrefix(start, mark), " \t\r\n")
		if len(start) == 0 && err == nil {
			continue
		} else if len(start) == 0 {
			return 0, 0
		}
		rest := bytes.TrimLeft(start[1:], " \t\r\n")
		if len(rest) > 0 {
			return start[0], rest[0]
		} else if start[0] != '[' || err != nil {
			return start[0], 0
		}
	}
	return 0, 0
}

// Each calls take for every row, and bad for every line that is none. It skips empty lines.
// A row must not be kept after
// take, but see [Row.Clone]. Each returns nil at the end of the file, the first
// error of take, that of the underlying reader, or a [*csvfile.LineError] where it cannot
// go on.
func (t *Reader) Each(take func(Row) error, bad func(line int, reason error)) error {
	if t.csv != nil {
		return t.csv.Each(func(line int, cells []string) error {
			return take(Row{Line: line, table: t.csv, cells: cells})
		}, bad)
	}
	for line := 1; ; line++ {
		text, err := t.line()
		if errors.Is(err, errLong) {
			return &csvfile.LineError{Line: line, Err: err}
		}
		if err != nil && err != io.EOF {
			return err
		}
		if line == 1 {
			text = bytes.TrimPrefix(text, mark)
		}
		if taken := t.object(line, bytes.TrimSpace(text), take, bad); taken != nil || err != nil {
			return errors.Join(taken, notEOF(err))
		}
	}
}

// object takes the row of a line.
func (t *Reader) object(line int, text []byte, take func(Row) error, bad func(int, error)) error {
	if len(text) == 0 {
		return nil
	}
	row, err := object(text)
	if err != nil {
		bad(line, err)
		return nil
	}
	row.Line = line
	return take(row)
}

// line reads to the end of a line, which may be that of the file.
func (t *Reader) line() (whole []byte, err error) {
	for {
		part, err := t.lines.ReadSlice('\n')
		if len(whole)+len(part) > lineBytes {
			return nil, errLong
		}
		if whole = append(whole, part...); err != bufio.ErrBufferFull {
			return whole, err
		}
	}
}

func notEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
