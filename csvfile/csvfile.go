// Package csvfile reads CSV files as spreadsheets and databases write them. It
// returns cells as text with their line number; the caller decides what a cell
// means.
//
// The first line names the columns. Cells are separated by commas, semicolons or
// tabs (the sign that the first line has most of) and may be quoted as RFC 4180
// says. A byte order mark is skipped, and lines may end with LF or CR LF. Text must
// be in UTF-8.
package csvfile

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Reader reads one file in bounded memory. It is not safe for concurrent use.
type Reader struct {
	// Columns are the names in the header, without space around them, each once.
	Columns []string
	// Comma separates the cells: a comma, a semicolon or a tab.
	Comma rune

	at    map[string]int
	rows  *csv.Reader
	limit *limit
	marks []Marks // of each column, once it was asked for a number
}

// Marks is in which lines of a column a comma and a point were first seen; 0: in none.
type Marks struct {
	decimal [2]int
	grouped [2]int // where they may stand between thousands; 0 again once that was said
}

const (
	// headerBytes is how much of a file is examined at most before it is read.
	headerBytes = 1 << 16
	// rowBytes bounds a row, so that a missing closing quotation mark does not make the
	// rest of the file one cell.
	rowBytes = 16 << 20
	// MostColumns bounds the columns of a file, each of which takes up to 250 bytes of memory.
	MostColumns = 1 << 17
)

// NewReader reads the header. It fails if there is none, if it names a column
// twice, if the file is not text in UTF-8, or with the error of r.
func NewReader(r io.Reader) (*Reader, error) {
	buffered := bufio.NewReaderSize(r, headerBytes)
	start, err := startOf(buffered)
	if err != nil && err != io.EOF {
		return nil, err
	}
	// If the file may arrive in pieces, only the first line is the same in every run.
	first := start
	if end := lineEnd(start); end >= 0 {
		first = start[:end+1]
	}
	if err := encoding(first); err != nil {
		return nil, err
	}
	if bytes.HasPrefix(start, mark) {
		start = start[len(mark):]
		_, _ = buffered.Discard(len(mark)) // they were peeked at
	}
	t := &Reader{Comma: separator(start), limit: &limit{r: buffered, left: rowBytes, separators: MostColumns}}
	t.limit.separator = []byte{byte(t.Comma)}
	t.rows = csv.NewReader(t.limit)
	t.rows.Comma, t.rows.ReuseRecord = t.Comma, true
	return t, t.header()
}

// startOf returns the bytes that are there once the first line is complete: a pipe may
// have no more for a long time.
func startOf(r *bufio.Reader) (start []byte, err error) {
	for n := 1; err == nil && n <= headerBytes && lineEnd(start) < 0; n = len(start) + 1 {
		_, err = r.Peek(n)
		start, _ = r.Peek(r.Buffered())
	}
	return start, err
}

// lineEnd is the position of the end of the first line, outside of quotation marks; -1
// if the line does not end here.
func lineEnd(start []byte) int {
	quoted := false
	for i, c := range start {
		if c == '"' {
			quoted = !quoted
		} else if c == '\n' && !quoted {
			return i
		}
	}
	return -1
}

// mark is the byte order mark that some programs write first.
var mark = []byte("\ufeff")

var (
	errUTF16 = errors.New("the file is text in UTF-16, as a spreadsheet's \"Unicode Text\"; save it as CSV in UTF-8")
	errBytes = errors.New("the file is not text: it has bytes of 0; save it as CSV in UTF-8")
	errZero  = errors.New("it has bytes of 0, which no text has: the file was damaged there, or text in UTF-16 was added to it; mend the line or take it out")
	errGzip  = errors.New("the file is compressed by gzip; unpack it first, as gunzip does")
	errZip   = errors.New("the file is a ZIP archive or a spreadsheet's workbook; unpack it, or save it as CSV in UTF-8")
	errJSON  = errors.New("the file is JSON: write it as CSV, with a first line that names the columns and a line for each record")
	errEmpty = errors.New("there is no header line: the first line must name the columns")
	errSep   = errors.New("the first line names the sign between cells, for spreadsheets only, and not the columns: take that line out; the sign is found without it")
	errNote  = errors.New("the first line is a comment, which begins with #, and must name the columns: take that line out")
	errCR    = errors.New("the lines end with CR alone; save the file with lines that end with LF or CR LF")
	errLong  = fmt.Errorf("a row is longer than %d MB; a quotation mark may not be closed", rowBytes>>20)
	errWide  = fmt.Errorf("a row has more than %d cells; a quotation mark may not be closed", MostColumns)
	// errQuote ends the reading of a file, because nobody can tell which lines are good.
	errQuote = errors.New("a quotation mark is not closed or out of place; mend it: the lines after it cannot be told apart or skipped")
)

// encoding refuses a file whose first bytes show that it is not lines in UTF-8.
func encoding(start []byte) error {
	switch {
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		return errGzip
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return errZip
	case bytes.HasPrefix(start, []byte{0xff, 0xfe}), bytes.HasPrefix(start, []byte{0xfe, 0xff}):
		return errUTF16
	case len(start) > 1 && (start[0] == 0) != (start[1] == 0): // without its mark
		return errUTF16
	case bytes.IndexByte(start, 0) >= 0:
		return errBytes
	case startOfJSON.Match(start):
		return errJSON
	}
	if end := bytes.IndexByte(start, '\r'); end >= 0 && end < len(start)-1 && bytes.IndexByte(start, '\n') < 0 {
		return errCR
	}
	return nil
}

// startOfJSON is how an object or a list of objects begins; the first line may end within it.
var startOfJSON = regexp.MustCompile(`^\x{feff}?\s*(\[\s*)?(\{\s*("|\}|$)|\[\s*$)`)

const separators = ",;\t"

// separator returns the sign that the first line has most of outside of quotation marks.
func separator(start []byte) rune {
	var count [3]int
	quoted := false
	for _, c := range start {
		if c == '"' {
			quoted = !quoted
		} else if c == '\n' && !quoted {
			break
		} else if i := strings.IndexByte(separators, c); i >= 0 && !quoted {
			count[i]++
		}
	}
	best := 0
	for i, n := range count {
		if n > count[best] {
			best = i
		}
	}
	return rune(separators[best])
}

func (t *Reader) header() error {
	names, err := t.rows.Read()
	var syntax *csv.ParseError
	switch {
	case err == io.EOF:
		return errEmpty
	case errors.As(err, &syntax):
		return &LineError{syntax.StartLine, explain(syntax)}
	case err != nil:
		return err
	}
	if len(names) > 0 && strings.HasPrefix(strings.ToLower(strings.TrimSpace(names[0])), "sep=") {
		return errSep
	}
	if len(names) == 1 && strings.HasPrefix(strings.TrimSpace(names[0]), "#") {
		return errNote
	}
	t.at = make(map[string]int, len(names))
	for i, name := range names {
		name = strings.TrimSpace(name)
		if !utf8.ValidString(name) {
			return fmt.Errorf("the name of column %d is not text in UTF-8; save the file as CSV in UTF-8", i+1)
		}
		if first, twice := t.at[name]; twice {
			return sameName(name, first+1, i+1)
		}
		t.at[name] = i
		t.Columns = append(t.Columns, name)
	}
	return nil
}

// sameName is the error of two columns of one name. A number or a time is not shown: it may be a
// value of somebody's.
func sameName(name string, first, second int) error {
	switch {
	case name == "":
		return fmt.Errorf("columns %d and %d have no name: the first line must name the columns; take out a title above them, or give each a name", first, second)
	case startsNumber(name):
		return fmt.Errorf("columns %d and %d have one name, which looks like a value: if the first line is a record, write a line above it that names the columns; else rename one", first, second)
	}
	return fmt.Errorf("columns %d and %d are both named %q; rename one", first, second, name)
}

// Column returns the place of a column and whether there is one of that name.
func (t *Reader) Column(name string) (at int, found bool) {
	at, found = t.at[name]
	return at, found
}

// LineError says what is wrong with a line, counted from 1.
type LineError struct {
	Line int
	Err  error
}

// Error implements [error].
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap lets [errors.Is] and [errors.As] look inside.
func (e *LineError) Unwrap() error { return e.Err }

// Each calls take for every row below the header, with the line it begins in and one
// cell for each column, and bad for every line that is not a row. It skips empty lines.
// The slice is reused for the next row, the cells are not. Each returns nil at the end of
// the file, the first error of take, that of the underlying reader, or a [*LineError]
// where it cannot go on.
func (t *Reader) Each(take func(line int, cells []string) error, bad func(line int, reason error)) error {
	for line := 1; ; {
		t.limit.left, t.limit.separators = rowBytes, MostColumns
		cells, err := t.rows.Read()
		if err == nil {
			line, _ = t.rows.FieldPos(0)
			if t.limit.zeros && slices.ContainsFunc(cells, hasZero) {
				bad(line, errZero)
				continue
			}
			err = take(line, cells)
		} else if err == io.EOF {
			return nil
		} else {
			err = t.noRow(line, cells, err, bad)
		}
		if err != nil {
			return err
		}
	}
}

func hasZero(cell string) bool { return strings.IndexByte(cell, 0) >= 0 }

// Line returns the cells of a row that is one line of a pipe, without its end. An error
// concerns only this line, and no cell can contain a line break.
func (t *Reader) Line(text string) ([]string, error) {
	switch {
	case strings.Count(text, string(t.Comma)) >= MostColumns:
		return nil, errWide
	case hasZero(text):
		return nil, errZero
	}
	row := csv.NewReader(strings.NewReader(text))
	row.Comma, row.FieldsPerRecord = t.Comma, -1
	cells, err := row.Read()
	var syntax *csv.ParseError
	switch {
	case errors.As(err, &syntax) && syntax.Err == csv.ErrBareQuote:
		return nil, explain(syntax)
	case err != nil:
		return nil, errLineQuote
	case len(cells) != len(t.Columns):
		return nil, t.wrongCount(cells)
	}
	return cells, nil
}

var errLineQuote = errors.New("a quotation mark is not closed or out of place; in a pipe each row is one line, so a cell cannot hold a line break")

// noRow tells bad why the line after the last row is not a row, or returns why reading
// ends.
func (t *Reader) noRow(last int, cells []string, err error, bad func(line int, reason error)) error {
	if t.limit.err == errLong || t.limit.err == errWide {
		return &LineError{last + 1, t.limit.err} // or after the lines of the last row
	} else if t.limit.err != nil {
		return t.limit.err
	}
	var syntax *csv.ParseError
	switch {
	case !errors.As(err, &syntax):
		return err
	case syntax.Err == csv.ErrQuote:
		return &LineError{syntax.StartLine, errQuote}
	case slices.ContainsFunc(cells, hasZero):
		bad(syntax.StartLine, errZero)
	case syntax.Err == csv.ErrFieldCount:
		bad(syntax.StartLine, t.wrongCount(cells))
	default:
		bad(syntax.StartLine, explain(syntax))
	}
	return nil
}

// wrongCount returns the error of a row with too few or too many cells.
func (t *Reader) wrongCount(cells []string) error {
	if n := len(t.Columns); len(cells) == n+1 && cells[n] == "" {
		return fmt.Errorf("%d cells, the last one empty, but the header names %d columns; take out the %s at the end of the line", n+1, n, called(t.Comma))
	}
	if len(cells) > len(t.Columns) {
		return fmt.Errorf("%d cells, but the header names %d columns; quote cells that hold a %s", len(cells), len(t.Columns), called(t.Comma))
	}
	for _, sign := range separators {
		// Of two columns, the one cell may be a number with a decimal comma.
		if len(cells) == 1 && len(t.Columns) > 2 && strings.Count(cells[0], string(sign)) == len(t.Columns)-1 {
			return fmt.Errorf("cells are separated by a %s here, and names in the header by a %s; take the same sign for both", called(sign), called(t.Comma))
		}
	}
	return fmt.Errorf("%d of %d cells: column %q is the first without one", len(cells), len(t.Columns), t.Columns[len(cells)])
}

func called(separator rune) string {
	return map[rune]string{',': "comma", ';': "semicolon", '\t': "tab"}[separator]
}

// explain says what the reader found at the position of an error.
func explain(e *csv.ParseError) error {
	if e.Err == csv.ErrBareQuote {
		return fmt.Errorf("a quotation mark within a cell, at byte %d; quote the cell and double the mark", e.Column)
	}
	return errQuote
}

// Number returns the cell of a number with a decimal point. If the cells are not
// separated by commas, the first comma of a cell without a point counts as its decimal
// point.
func Number(comma rune, cell string) string {
	if comma != ',' && !strings.Contains(cell, ".") {
		return strings.Replace(cell, ",", ".", 1)
	}
	return cell
}

// Number is [Number] for a cell of the file, which begins in a line; see [Marks.Number]. Errors name
// the column.
func (r *Reader) Number(line, column int, cell string) (string, error) {
	if r.marks == nil {
		r.marks = make([]Marks, len(r.Columns))
	}
	text, err := r.marks[column].Number(r.Comma, line, cell)
	if err != nil {
		err = fmt.Errorf("column %q %w", r.Columns[column], err)
	}
	return text, err
}

// Number is [Number] for a cell of a column, which begins in a line. It fails where other cells of
// the column show that a mark may stand between thousands, as the point of 2.101 beside 301,5.
// If that shows only afterwards, the later cell fails, once.
func (seen *Marks) Number(comma rune, line int, cell string) (string, error) {
	at := strings.IndexAny(cell, ",.")
	if comma == ',' || at < 0 || !marked.MatchString(cell) {
		return Number(comma, cell), nil
	}
	names := [2]string{"comma", "point"}
	own := strings.IndexByte(",.", cell[at])
	other := 1 - own
	grouped := grouping.MatchString(cell)
	switch {
	case grouped && seen.decimal[other] > 0:
		return "", fmt.Errorf("has a %s before three digits, and line %d has a decimal %s: leave out what stands between thousands", names[own], seen.decimal[other], names[other])
	case grouped:
		seen.grouped[own] = cmp.Or(seen.grouped[own], line)
		return Number(comma, cell), nil
	}
	seen.decimal[own] = cmp.Or(seen.decimal[own], line)
	if before := seen.grouped[other]; before > 0 {
		seen.grouped[other] = 0
		return "", fmt.Errorf("has a decimal %s, and line %d has a %s before three digits: leave out what stands between thousands", names[own], before, names[other])
	}
	return Number(comma, cell), nil
}

// marked is of a number with one mark, and grouping of one whose mark may stand between thousands.
var (
	marked   = regexp.MustCompile(`^\s*[-+]?[0-9]*[,.][0-9]*([eE][-+]?[0-9]+)?\s*$`)
	grouping = regexp.MustCompile(`^\s*[-+]?[1-9][0-9]{0,2}[,.][0-9]{3}\s*$`)
)

// limit reads at most what is left, and hardly more than so many separators, and remembers
// why it stopped before the end.
type limit struct {
	r          io.Reader
	left       int
	separator  []byte
	separators int
	zeros      bool // bytes of 0 were read
	err        error
}

// Read implements [io.Reader].
func (l *limit) Read(p []byte) (n int, err error) {
	if l.err != nil {
		return 0, l.err
	}
	if l.left <= 0 {
		l.err = errLong
	} else if l.separators <= 0 {
		l.err = errWide
	}
	if l.err != nil {
		return 0, l.err
	}
	n, err = l.r.Read(p[:min(len(p), l.left)])
	l.left -= n
	l.separators -= bytes.Count(p[:n], l.separator)
	l.zeros = l.zeros || bytes.IndexByte(p[:n], 0) >= 0
	if err != io.EOF {
		l.err = err
	}
	return n, err
}
