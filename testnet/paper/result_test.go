package paper

import (
	"bytes"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/testnet/page"
)

func sample() *Result {
	invalid := Row{Setting: "reading", Seeds: 5, Epsilon: Number(1), Delta: Number(math.Exp(-5)), TrueEps: Number(3120.4), Measure: "RMSE", Error: Number(0.95), Note: "as in the paper"}
	valid := Row{
		Setting: "ours, \"quoted\"", Seeds: 5, Epsilon: Number(1), Delta: Number(1e-6), Valid: true, Measure: "RMSE", Error: Number(0.02394123456789012),
		Alone: Number(0.02628), GainLow: Number(0.0001234), GainHigh: Number(0.002), Published: Number(0.0254), Source: "a paper",
	}
	again := invalid
	again.Epsilon, again.TrueEps, again.TrueDelta = Number(0.5), nil, Number(0.238)
	return &Result{Name: "n", Title: "Title", Summary: "Summary.", Complete: true, Rows: []Row{invalid, valid, again}, Notes: []string{strings.Repeat("long note ", 30)}}
}

func TestTableForPeople(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().WriteTable(&b))
	text := b.String()
	for _, want := range []string{"NO: truly epsilon 3120", "NO: truly delta 0.238", "yes", "0.02394", "0.00674", "1e-6", "+0.00012 to +0.00200", "[1] as in the paper", "Summary."} {
		if !strings.Contains(text, want) {
			t.Errorf("the table does not say %q:\n%s", want, text)
		}
	}
	for _, not := range []string{"measure", "spread", "[2]", "INTERRUPTED"} {
		if strings.Contains(text, not) {
			t.Errorf("the table says %q:\n%s", not, text)
		}
	}
	_, notes, _ := strings.Cut(text, "[1]")
	for _, line := range strings.Split(notes, "\n") {
		if len(line) > lineWidth {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
}

// A measure that is too long to head a column is said below.
func TestLongMeasure(t *testing.T) {
	r := sample()
	long := strings.Repeat("of this and that ", 3)
	for i := range r.Rows {
		r.Rows[i].Measure = long
	}
	if got := r.table(); got.head[5] != "value" || got.numbered()[0] != "Value: "+long+"." {
		t.Errorf("head %q, notes %q", got.head, got.numbered())
	}
	for i := range r.Rows {
		if r.Rows[i].Published != nil {
			r.Rows[i].Source = Independent
		}
	}
	if got := r.table(); slices.Contains(got.head, "published") || !slices.Contains(got.head, "reference") || !strings.Contains(strings.Join(got.numbered(), " "), "Reference: an independent program") {
		t.Errorf("numbers that no paper has: head %q, notes %q", got.head, got.numbered())
	}
	if got := (&Result{}).table(); len(got.lines) != 0 || len(got.numbered()) != 0 {
		t.Errorf("no rows give %+v", got)
	}
}

func TestShortNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", 0.5: "0.5", 26.84: "26.8", 3124: "3120", 1e-6: "1e-6", math.Exp(-5): "0.00674", 2e8: "2e8", -0.25: "-0.25"} {
		if got := short(&v); got != want {
			t.Errorf("%g is %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{0.95: "0.9500", 12.344: "12.34", 1234: "1234", 0.02564: "0.02564", 0: "0.000"} {
		if got := digits(&v); got != want {
			t.Errorf("%g is %s, want %s", v, got, want)
		}
	}
}

// The CSV has every number to the bit.
func TestCSV(t *testing.T) {
	r := sample()
	var b bytes.Buffer
	require.NoError(t, r.writeCSV(&b))
	lines, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	if len(lines) != 1+len(r.Rows) {
		t.Fatalf("%d lines", len(lines))
	}
	at := make(map[string]int)
	for k, name := range lines[0] {
		at[name] = k
	}
	for i := range r.Rows {
		line := lines[i+1]
		if line[at["setting"]] != r.Rows[i].Setting || line[at["valid"]] != strconv.FormatBool(r.Rows[i].Valid) || line[at["note"]] != r.Rows[i].Note {
			t.Errorf("line %q", line)
		}
		for _, n := range r.Rows[i].numbers() {
			text := line[at[n.name]]
			if n.value == nil {
				if text != "" {
					t.Errorf("%s is %q, but the row has none", n.name, text)
				}
				continue
			}
			if v, err := strconv.ParseFloat(text, 64); err != nil || v != *n.value {
				t.Errorf("%s is %q, want %g", n.name, text, *n.value)
			}
		}
	}
}

func TestRowsAreChecked(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*Row)
	}{
		{"", func(*Row) {}},
		{"spread is NaN", func(r *Row) { r.Spread = Number(math.NaN()) }},
		{"no setting", func(r *Row) { r.Setting = "" }},
		{"claims no epsilon", func(r *Row) { r.Delta = nil }},
		{"another true epsilon", func(r *Row) { r.TrueDelta = Number(0.2) }},
		{"both an error and an accuracy", func(r *Row) { r.Accuracy = Number(0.5) }},
		{"two ends", func(r *Row) { r.GainHigh = nil }},
		{"two ends", func(r *Row) { r.GainLow = Number(1) }},
	} {
		row := sample().Rows[1]
		c.change(&row)
		err := row.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// What does not hold is crossed out, in the page and for a screen reader.
func TestPageOfResult(t *testing.T) {
	var b bytes.Buffer
	r := sample()
	r.Complete = false
	require.NoError(t, r.page().Write(&b))
	if text := b.String(); strings.Count(text, "<s>reading</s>") != 2 || strings.Count(text, "(does not hold)") != 2 || !strings.Contains(text, "INTERRUPTED") {
		t.Errorf("the page is\n%s", text)
	}
}

// Lines whose settings begin alike stand under a heading, others by themselves.
func TestGroup(t *testing.T) {
	lines := make([]page.Line, 0)
	for _, setting := range []string{"a: x", "a: y: z", "b: x", "none", "a: x", "c, d: x", "c, d: y"} {
		lines = append(lines, page.Line{Cells: []string{setting}})
	}
	Group(lines)
	var got []string
	for _, l := range lines {
		got = append(got, l.Group+"|"+l.Cells[0])
	}
	if want := "a|x a|y: z |b: x |none |a: x c, d|x c, d|y"; strings.Join(got, " ") != want {
		t.Errorf("groups %q, want %q", got, want)
	}
}
