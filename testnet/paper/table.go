package paper

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// table is the rows as text. The notes of the rows are numbered; equal notes have one
// number.
type table struct {
	head    []string
	lines   [][]string
	notes   []string
	measure string   // of all rows, if it is too long for the head of a column
	sources []string // of the published numbers
}

// longestHead is the longest measure that may head a column.
const longestHead = 24

// table leaves out columns that are empty in all rows, the number of seeds if it is the
// same in all rows, and the measure: that is the head of the values, or is written
// below.
func (r *Result) table() *table {
	t := &table{head: []string{"setting", "measure", "note", "epsilon", "delta", "private", "value", "log loss", "AUC", "spread", "alone", "gain (95%)", "published", "seeds"}}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Source != "" && !slices.Contains(t.sources, row.Source) {
			t.sources = append(t.sources, row.Source)
		}
		value := row.Error
		if value == nil {
			value = row.Accuracy
		}
		t.lines = append(t.lines, []string{
			row.Setting, row.Measure, t.number(row.Note), short(row.Epsilon), short(row.Delta), row.private(), digits(value), digits(row.LogLoss), digits(row.AUC), short(row.Spread),
			digits(row.Alone), row.gain(), asGiven(row.Published), strconv.Itoa(row.Seeds),
		})
	}
	const measure, value, published = 1, 6, 12
	if slices.Equal(t.sources, []string{Independent}) {
		t.head[published] = "reference"
	}
	if seeds := len(t.head) - 1; t.constant(seeds) {
		t.drop(seeds)
	}
	if t.constant(measure) {
		if t.measure = t.lines[0][measure]; 0 < len(t.measure) && len(t.measure) <= longestHead {
			t.head[value], t.measure = t.measure, ""
		}
		t.drop(measure)
	}
	for k := len(t.head) - 1; k > 0; k-- {
		if !slices.ContainsFunc(t.lines, func(l []string) bool { return l[k] != "" }) {
			t.drop(k)
		}
	}
	return t
}

// constant reports whether a column is the same in all rows, if there are rows.
func (t *table) constant(k int) bool {
	return len(t.lines) > 0 && !slices.ContainsFunc(t.lines, func(l []string) bool { return l[k] != t.lines[0][k] })
}

// drop takes a column away.
func (t *table) drop(k int) {
	t.head = slices.Delete(t.head, k, k+1)
	for i := range t.lines {
		t.lines[i] = slices.Delete(t.lines[i], k, k+1)
	}
}

// number is the number of a note, from 1; "" for no note.
func (t *table) number(note string) string {
	if note == "" {
		return ""
	}
	at := slices.Index(t.notes, note)
	if at < 0 {
		at = len(t.notes)
		t.notes = append(t.notes, note)
	}
	return strconv.Itoa(at + 1)
}

// numbered returns the notes with their numbers, and before them what the values are.
func (t *table) numbered() []string {
	var notes []string
	if t.measure != "" {
		notes = append(notes, "Value: "+t.measure+".")
	}
	switch {
	case slices.Equal(t.sources, []string{Independent}):
		notes = append(notes, "Reference: "+Independent+" that repeated the paper's figures.")
	case len(t.sources) > 0:
		notes = append(notes, "Published: "+strings.Join(t.sources, "; ")+".")
	}
	for i, note := range t.notes {
		notes = append(notes, fmt.Sprintf("[%d] %s", i+1, note))
	}
	return notes
}

// private says whether the claim holds.
func (r *Row) private() string {
	switch {
	case r.Valid:
		return "yes"
	case r.Epsilon == nil:
		return ""
	case r.TrueEps != nil:
		return "NO: truly epsilon " + short(r.TrueEps)
	case r.TrueDelta != nil:
		return "NO: truly delta " + short(r.TrueDelta)
	}
	return "NO"
}

// gain is the interval of the gain, with as many decimals as the errors need.
func (r *Row) gain() string {
	if r.GainLow == nil {
		return ""
	}
	decimals := 4
	if r.Alone != nil && *r.Alone > 0 {
		decimals = min(max(3-int(math.Floor(math.Log10(*r.Alone))), 0), 12)
	}
	return fmt.Sprintf("%+.*f to %+.*f", decimals, *r.GainLow, decimals, *r.GainHigh)
}

// Short writes v for people, in three significant digits.
func Short(v float64) string {
	text := strconv.FormatFloat(v, 'g', 3, 64)
	rounded, err := strconv.ParseFloat(text, 64)
	if size := math.Abs(rounded); err == nil && (size == 0 || 1e-4 <= size && size < 1e7) {
		return strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	return plainPower(text)
}

func short(v *float64) string {
	if v == nil {
		return ""
	}
	return Short(*v)
}

// plainPower writes 1e-6 for 1e-06.
func plainPower(text string) string {
	return strings.NewReplacer("e-0", "e-", "e+0", "e").Replace(text)
}

// asGiven writes a published number with the digits with which it was published.
func asGiven(v *float64) string {
	if v == nil {
		return ""
	}
	return plainPower(strconv.FormatFloat(*v, 'g', -1, 64))
}

// digits gives four significant digits.
func digits(v *float64) string {
	if v == nil {
		return ""
	}
	return plainPower(strings.TrimSuffix(fmt.Sprintf("%#.4g", *v), "."))
}

// lineWidth is the length of a line of notes on a terminal.
const lineWidth = 110

// WriteTable writes the rows for people, the verdict first, with the notes.
func (r *Result) WriteTable(w io.Writer) error {
	if r.Verdict != "" {
		fmt.Fprintf(w, "%s\n\n", r.Verdict)
	}
	fmt.Fprintf(w, "%s\n\n", r.Title)
	t := r.table()
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range append([][]string{t.head}, t.lines...) {
		fmt.Fprintln(columns, strings.Join(line, "\t"))
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	paragraphs := t.numbered()
	if r.Summary != "" {
		paragraphs = append(paragraphs, r.Summary)
	}
	paragraphs = append(paragraphs, r.Notes...)
	if !r.Complete {
		paragraphs = append(paragraphs, "INTERRUPTED: these are the results so far.")
	}
	var b strings.Builder
	for _, p := range paragraphs {
		b.WriteString("\n" + wrapped(p))
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

// wrapped breaks text between words into lines.
func wrapped(text string) string {
	var b strings.Builder
	width := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case width+1+len(word) > lineWidth:
			b.WriteString("\n    ")
			width = 4
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String()
}
