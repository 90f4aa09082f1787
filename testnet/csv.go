package testnet

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"p2pnode/learner"
)

// NodeColumn is the column of a CSV that says whose record a line is.
const NodeColumn = "node"

// ReadCSV reads people's records from a CSV with a header: the column "node"
// and the columns of the task, in any order; other columns are ignored. Every
// line that cannot be read is reported with its number, in a *[BadLines].
func ReadCSV(r io.Reader, file string, t *learner.Task) (*Dataset, error) {
	lines, at, err := openCSV(r, file)
	if err != nil {
		return nil, err
	}
	people := newReader(file, file, t)
	node, ok := at[NodeColumn]
	if !ok {
		return nil, fmt.Errorf("testnet: %s has no column %q that says whose record a line is", file, NodeColumn)
	}
	if err := people.needs(func(c string) bool { _, ok := at[c]; return ok }); err != nil {
		return nil, err
	}
	err = eachLine(lines, &people.bad, func(line int, cells []string) {
		name := strings.TrimSpace(cells[node])
		if name == "" {
			people.bad.Add(line, fmt.Errorf("column %q is empty", NodeColumn))
			return
		}
		people.add(line, name, func(c string) (string, bool) {
			i, ok := at[c]
			if !ok {
				return "", false
			}
			return cells[i], true
		})
	})
	if err != nil {
		return nil, err
	}
	return people.done()
}

// openCSV reads the header and returns where each column is.
func openCSV(r io.Reader, file string) (*csv.Reader, map[string]int, error) {
	buffered := bufio.NewReaderSize(r, headerBytes)
	if mark, err := buffered.Peek(3); err == nil && string(mark) == "\ufeff" {
		buffered.Discard(3) // the byte order mark some programs write first
	}
	lines := csv.NewReader(buffered)
	start, err := buffered.Peek(headerBytes)
	if err != nil && err != io.EOF {
		return nil, nil, fmt.Errorf("testnet: read %s: %w", file, err)
	}
	if lines.Comma, err = separator(start); err != nil {
		return nil, nil, fmt.Errorf("testnet: %s: %w", file, err)
	}
	header, err := lines.Read()
	if err != nil {
		return nil, nil, fmt.Errorf("testnet: %s has no header line: %w: it must begin with the names of its columns", file, err)
	}
	at := make(map[string]int, len(header))
	for i, c := range header {
		c = strings.TrimSpace(c)
		if !utf8.ValidString(c) {
			return nil, nil, fmt.Errorf("testnet: %s: the name of column %d is no text in UTF-8; save the file as CSV in UTF-8", file, i+1)
		}
		if _, twice := at[c]; twice {
			return nil, nil, fmt.Errorf("testnet: %s has two columns %q", file, c)
		}
		at[c] = i
	}
	return lines, at, nil
}

// headerBytes is how much of a file is looked at before it is read.
const headerBytes = 1 << 16

// separator is what separates the names of the header: a comma, a semicolon or a
// tab, whichever the first line has most of.
func separator(start []byte) (rune, error) {
	if bytes.ContainsRune(start, 0) {
		return 0, errors.New("is no text in UTF-8; save it as CSV in UTF-8")
	}
	header, _, _ := bytes.Cut(start, []byte("\n"))
	best := ','
	for _, c := range ";\t" {
		if bytes.Count(header, []byte(string(c))) > bytes.Count(header, []byte(string(best))) {
			best = c
		}
	}
	return best, nil
}

// eachLine calls take for every line that is well-formed CSV, and adds the
// others to bad. The error is that of the underlying reader.
func eachLine(lines *csv.Reader, bad *BadLines, take func(line int, cells []string)) error {
	for {
		cells, err := lines.Read()
		if err == io.EOF {
			return nil
		}
		var parse *csv.ParseError
		switch {
		case errors.As(err, &parse):
			bad.Add(parse.Line, parse.Err)
		case err != nil:
			return fmt.Errorf("testnet: read %s: %w", bad.File, err)
		default:
			line, _ := lines.FieldPos(0)
			take(line, cells)
		}
	}
}
