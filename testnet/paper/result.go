package paper

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"p2pnode/testnet/page"
)

// Result is the result of an experiment: the content of NAME.json.
type Result struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Command  string   `json:"command"` // runs it again
	Seed     uint64   `json:"seed"`    // the first
	Seeds    int      `json:"seeds"`
	Seconds  float64  `json:"seconds"` // of computing, over all runs it took
	Version  string   `json:"version"`
	Complete bool     `json:"complete"` // false: interrupted, rows may be missing
	Verdict  string   `json:"verdict"`  // "worth it", "not worth it" or "cannot tell", and why; "": no such question
	Summary  string   `json:"summary"`
	Rows     []Row    `json:"rows"`
	Notes    []string `json:"notes"`

	about, up string
	sections  []page.Section
}

// WriteJSON writes the result as one JSON object.
func (r *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// write checks the rows and writes the files.
func (r *Result) write(j *Job) error {
	if r.Rows == nil {
		r.Rows = []Row{}
	}
	if r.Notes == nil {
		r.Notes = []string{}
	}
	for i := range r.Rows {
		if err := r.Rows[i].Validate(); err != nil {
			return err
		}
	}
	for ending, write := range map[string]func(io.Writer) error{
		".html": r.page().Write,
		".json": r.WriteJSON,
		".csv":  r.writeCSV,
	} {
		if err := page.WriteFile(j.path(ending), write); err != nil {
			return err
		}
	}
	return nil
}

// Validate finds a row with inconsistent claims: numbers that are not finite, a valid
// claim without an epsilon or with another truth, an interval with one end.
func (r *Row) Validate() error {
	for _, n := range r.numbers() {
		if n.value != nil && (math.IsNaN(*n.value) || math.IsInf(*n.value, 0)) {
			return fmt.Errorf("row %q: %s is %g: leave out what is no number", r.Setting, n.name, *n.value)
		}
	}
	switch {
	case r.Setting == "":
		return fmt.Errorf("a row of %s has no setting", r.Measure)
	case r.Valid && (r.Epsilon == nil || r.Delta == nil):
		return fmt.Errorf("row %q is valid but claims no epsilon and delta", r.Setting)
	case r.Valid && (r.TrueEps != nil || r.TrueDelta != nil):
		return fmt.Errorf("row %q is valid but has another true epsilon or delta", r.Setting)
	case r.Error != nil && r.Accuracy != nil:
		return fmt.Errorf("row %q has both an error and an accuracy", r.Setting)
	case (r.GainLow == nil) != (r.GainHigh == nil) || r.GainLow != nil && *r.GainLow > *r.GainHigh:
		return fmt.Errorf("row %q: the interval of the gain needs two ends in order", r.Setting)
	}
	return nil
}

// number is an optional number of a row with its name in JSON.
type number struct {
	name  string
	value *float64
}

func (r *Row) numbers() []number {
	return []number{
		{"epsilon", r.Epsilon}, {"delta", r.Delta}, {"true_epsilon", r.TrueEps}, {"true_delta", r.TrueDelta},
		{"error", r.Error}, {"accuracy", r.Accuracy}, {"log_loss", r.LogLoss}, {"auc", r.AUC}, {"spread", r.Spread}, {"alone", r.Alone},
		{"published", r.Published}, {"gain_low", r.GainLow}, {"gain_high", r.GainHigh},
	}
}

// writeCSV writes the rows, with the names of the JSON as a header. Missing values are
// empty.
func (r *Result) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := []string{"setting", "seeds", "valid", "measure"}
	for _, n := range new(Row).numbers() {
		head = append(head, n.name)
	}
	if err := out.Write(append(head, "source", "note")); err != nil {
		return err
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		line := []string{row.Setting, strconv.Itoa(row.Seeds), strconv.FormatBool(row.Valid), row.Measure}
		for _, n := range row.numbers() {
			text := ""
			if n.value != nil {
				text = strconv.FormatFloat(*n.value, 'g', -1, 64)
			}
			line = append(line, text)
		}
		if err := out.Write(append(line, row.Source, row.Note)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
