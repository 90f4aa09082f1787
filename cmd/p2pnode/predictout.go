package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"p2pnode/csvfile"
	"p2pnode/node/api"
	"p2pnode/rowfile"
)

// predictionWriter writes the lines of a file with their predictions.
type predictionWriter interface {
	row(i *item, p *api.Prediction) error
	bad(line int, reason string) error
	flush() error
}

// output writes in the form of the rows, or as JSON. Bad lines of CSV go to notes.
func (f *predictFile) output(rows *rowfile.Reader, asJSON bool, classes []string, w, notes io.Writer) (predictionWriter, error) {
	if rows.Columns == nil || asJSON {
		buffered := bufio.NewWriter(w)
		return &jsonPredictions{buffered, json.NewEncoder(buffered), f.numbers}, nil
	}
	table := csv.NewWriter(w)
	table.Comma = rows.Comma
	header, added := slices.Clone(rows.Columns), []string{"prediction"}
	if f.numbers {
		header = []string{"line"}
	}
	for _, class := range classes {
		added = append(added, "probability_"+class)
	}
	for _, name := range added {
		if slices.Contains(header, name) {
			return nil, fmt.Errorf("the file has a column %q itself; rename it, or leave its columns out with --lines", name)
		}
	}
	return &csvPredictions{table: table, notes: notes, classes: classes, numbers: f.numbers}, table.Write(append(header, added...))
}

// csvPredictions writes CSV, with the decimal sign of the first row that it writes.
type csvPredictions struct {
	table   *csv.Writer
	notes   io.Writer
	noted   int
	classes []string
	numbers bool
	decimal string // "": not known yet, else the sign
}

func (c *csvPredictions) row(i *item, p *api.Prediction) error {
	cells := slices.Clone(i.row.Written())
	if c.decimal == "" {
		c.decimal = decimalSign(c.table.Comma, cells)
	}
	if c.numbers {
		cells = []string{strconv.Itoa(i.line)}
	}
	if p.Class != "" {
		cells = append(cells, p.Class)
	} else {
		cells = append(cells, c.number(p.Value))
	}
	for _, class := range c.classes {
		cells = append(cells, c.number(p.Probabilities[class]))
	}
	return c.table.Write(cells)
}

func (c *csvPredictions) number(v float64) string {
	return strings.Replace(strconv.FormatFloat(v, 'g', -1, 64), ".", c.decimal, 1)
}

// decimalSign is the decimal sign of a file, by one of its rows: the comma if a number has one, or
// else the point if a number has one. Where there is neither it is the comma between semicolons, and
// else the point.
func decimalSign(separator rune, row []string) string {
	if separator == ',' {
		return "."
	}
	points := separator != ';'
	for _, cell := range row {
		number := csvfile.Number(separator, cell)
		if _, err := strconv.ParseFloat(number, 64); err != nil || !strings.Contains(number, ".") {
			continue
		}
		if number != cell {
			return ","
		}
		points = true
	}
	if points {
		return "."
	}
	return ","
}

// mostNotes is how many bad lines are described.
const mostNotes = 20

func (c *csvPredictions) bad(line int, reason string) error {
	c.noted++
	switch {
	case c.noted <= mostNotes:
		_, err := fmt.Fprintf(c.notes, "line %d: %s\n", line, printable(reason))
		return err
	case c.noted == mostNotes+1:
		_, err := fmt.Fprintln(c.notes, "Further bad lines are only counted.")
		return err
	}
	return nil
}

func (c *csvPredictions) flush() error {
	c.table.Flush()
	return c.table.Error()
}

// jsonPredictions writes lines of JSON.
type jsonPredictions struct {
	buffered *bufio.Writer
	lines    *json.Encoder
	numbers  bool
}

// predictedLine is a line of JSON.
type predictedLine struct {
	Line int          `json:"line"`
	Row  *rowfile.Row `json:"row,omitempty"`
	*api.Prediction
	Error string `json:"error,omitempty"`
}

func (j *jsonPredictions) row(i *item, p *api.Prediction) error {
	line := predictedLine{Line: i.line, Prediction: p}
	if !j.numbers {
		line.Row = &i.row
	}
	return j.lines.Encode(line)
}

func (j *jsonPredictions) bad(line int, reason string) error {
	return j.lines.Encode(predictedLine{Line: line, Error: reason})
}

func (j *jsonPredictions) flush() error { return j.buffered.Flush() }
