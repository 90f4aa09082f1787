package rowfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"p2pnode/csvfile"
)

// Row is one row of a file.
type Row struct {
	Line int // it begins in, from 1

	table *csvfile.Reader // of CSV
	cells []string

	names  []string // of JSON, in order
	values map[string]json.RawMessage
}

// Columns are the names of the row's columns, in order.
func (r *Row) Columns() []string {
	if r.table != nil {
		return r.table.Columns
	}
	return r.names
}

// Cell returns the text of a column and whether the row has it. In JSON that is a text
// without its quotation marks, a number, true or false as they are written, nothing for
// null, texts of a list with vertical bars between, and any other list as it is written.
// An object, and a text in a list that has a vertical bar, are errors that name the column.
func (r *Row) Cell(column string) (text string, found bool, err error) {
	if r.table != nil {
		at, found := r.table.Column(column)
		if !found {
			return "", false, nil
		}
		return r.cells[at], true, nil
	}
	value, found := r.values[column]
	if !found {
		return "", false, nil
	}
	text, err = cell(column, value)
	return text, true, err
}

// Number is Cell for a column of numbers, with a decimal point; see [csvfile.Reader.Number].
// Rows must be asked in order.
func (r *Row) Number(column string) (text string, found bool, err error) {
	text, found, err = r.Cell(column)
	if r.table == nil || !found {
		return text, found, err
	}
	at, _ := r.table.Column(column)
	text, err = r.table.Number(r.Line, at, text)
	return text, found, err
}

// Clone returns a row that may be kept.
func (r Row) Clone() Row {
	r.cells = slices.Clone(r.cells)
	return r
}

// Written are the cells of a row of CSV as they are written, one for each of its columns;
// nil for JSON.
func (r *Row) Written() []string { return r.cells }

// MarshalJSON writes the row as an object: of CSV with texts, of JSON as it was.
func (r Row) MarshalJSON() ([]byte, error) {
	object := []byte{'{'}
	for i, name := range r.Columns() {
		value := any(r.values[name])
		if r.table != nil {
			value = r.cells[i]
		}
		key, err := json.Marshal(name)
		text, err2 := json.Marshal(value)
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		if i > 0 {
			object = append(object, ',')
		}
		object = append(append(append(object, key...), ':'), text...)
	}
	return append(object, '}'), nil
}

// ErrNested is the error of a cell that is an object of JSON.
var ErrNested = errors.New("holds an object; write its values as columns of their own")

var (
	errNoObject = errors.New("is not one whole JSON object, as {\"name\": 1}; write one on each line")
	errUTF8     = errors.New("is not text in UTF-8")
	errWide     = fmt.Errorf("names more than %d columns", csvfile.MostColumns)
	errBar      = errors.New("holds a list of texts with a vertical bar in one, which stands between the values of a cell")
)

// object reads a JSON object as a row. A name that is there twice is an error.
func object(text []byte) (Row, error) {
	if !utf8.Valid(text) {
		return Row{}, errUTF8
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return Row{}, errNoObject
	}
	r := Row{values: make(map[string]json.RawMessage)}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return Row{}, errNoObject
		}
		if _, twice := r.values[name]; twice {
			return Row{}, fmt.Errorf("names %q twice", name)
		}
		if len(r.names) == csvfile.MostColumns {
			return Row{}, errWide
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return Row{}, errNoObject
		}
		r.names, r.values[name] = append(r.names, name), value
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return Row{}, errNoObject
	}
	if _, err := d.Token(); err != io.EOF {
		return Row{}, errNoObject
	}
	return r, nil
}

// Texts are the cells of an object, by column, as [Row.Cell] reads them. A value that is
// nil stands for null, as in package json.
func Texts(values map[string]json.RawMessage) (map[string]string, error) {
	texts := make(map[string]string, len(values))
	for column, value := range values {
		var err error
		if texts[column], err = cell(column, value); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// cell is the text of a JSON value in a column.
func cell(column string, value json.RawMessage) (string, error) {
	text, err := cellText(value)
	if err != nil {
		err = fmt.Errorf("column %q %w", column, err)
	}
	return text, err
}

// cellText is the text of a JSON value.
func cellText(value json.RawMessage) (text string, err error) {
	if len(value) == 0 {
		return "", nil
	}
	switch value[0] {
	case '{':
		return "", ErrNested
	case 'n':
		return "", nil
	case '"':
		err = json.Unmarshal(value, &text)
		return text, err
	case '[':
		return listText(value)
	}
	return string(value), nil
}

// listText is the text of a JSON list.
func listText(value json.RawMessage) (string, error) {
	var texts []*string
	if json.Unmarshal(value, &texts) != nil {
		return string(value), nil
	}
	words := make([]string, len(texts))
	for i, text := range texts {
		if text == nil {
			return string(value), nil
		}
		if strings.Contains(*text, "|") {
			return "", errBar
		}
		words[i] = *text
	}
	return strings.Join(words, "|"), nil
}
