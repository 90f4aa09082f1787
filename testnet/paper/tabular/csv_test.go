package tabular

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/learner"
	"p2pnode/testnet"
	"p2pnode/testnet/paper"
)

// write makes a file and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// alike is a file of nodes that all follow one model: what is to be predicted
// depends on two numbers and a text.
func alike(nodes, records int, label func(z float64) string) string {
	r := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	b.WriteString("node,age,height,town,y\n")
	towns := []string{"Zürich", "Oslo", "Lima"}
	for i := range nodes {
		for range records {
			age, height, town := r.Float64(), r.Float64(), r.IntN(3)
			z := 3*(age-height) + float64(town-1) + 0.3*r.NormFloat64()
			fmt.Fprintf(&b, "n%d,%.3f,%.3f,%s,%s\n", i, 20+60*age, 150+40*height, towns[town], label(z))
		}
	}
	return b.String()
}

func asNumber(z float64) string { return fmt.Sprintf("%.4f", z) }

func asClass(z float64) string {
	switch {
	case z < -1:
		return "low"
	case z < 1:
		return "middle"
	}
	return "high"
}

func asSide(z float64) string { return map[bool]string{true: "yes", false: "no"}[z > 0] }

const alikeRanges = `name = "alike"
[[features]]
name = "age"
kind = "number"
min = 0.0
max = 100.0
[[features]]
name = "height"
kind = "range"
edges = [160.0, 170.0, 180.0]
[[features]]
name = "town"
kind = "set"
values = ["Lima", "Oslo", "Zürich"]
[target]
name = "y"
`

// options are those of a file with the flags of the command as they are by default.
func options(data string) paper.Options {
	return paper.Options{Seed: 1, Data: data, CSV: paper.CSV{Epsilon: 1, Delta: 1e-6}}
}

// report runs all cells of an experiment, one after the other.
func report(t *testing.T, e paper.Experiment, o paper.Options) *paper.Report {
	t.Helper()
	p, err := e.Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	done := paper.Done{}
	for _, c := range p.Cells {
		if done[c.Key], err = c.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Report(done); err != nil { // of what is done so far
			t.Fatal(err)
		}
	}
	r, err := p.Report(done)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Rows {
		if err := r.Rows[i].Validate(); err != nil {
			t.Error(err)
		}
	}
	return r
}

func loss(r paper.Row) (with, alone float64) { return *r.Error, *r.Alone }

// Nodes with little data and one model: together they must do a good deal better
// than alone, for every kind of target. The margins are a third of what was
// measured; seeds are fixed.
func TestCSVOfEachKind(t *testing.T) {
	for name, c := range map[string]struct {
		label func(float64) string
		loss  string
		best  float64 // the share of the lone model's error that may be left
	}{
		"numbers":       {asNumber, "squared", .85},
		"two classes":   {asSide, "logistic", .85},
		"three classes": {asClass, "multinomial", .9},
	} {
		o := options(write(t, "people.csv", alike(12, 10, c.label)))
		r := report(t, CSV(), o)
		if len(r.Rows) != 7 {
			t.Fatalf("%s: %d rows", name, len(r.Rows))
		}
		together, alone := loss(r.Rows[1])
		if base, _ := loss(r.Rows[3]); !(base > alone) || !strings.Contains(r.Verdict, "of 12 nodes better, ") {
			t.Errorf("%s: error of a constant %.4f, %.4f alone; verdict %q", name, base, alone, r.Verdict)
		}
		for _, row := range r.Rows {
			if (row.LogLoss != nil) != (name != "numbers") || (row.AUC != nil) != (name == "two classes") {
				t.Errorf("%s: %+v; want a log loss of classes, and an area under the curve of two", name, row)
			}
		}
		if !(together < c.best*alone) {
			t.Errorf("%s: error %.4f together, %.4f alone", name, together, alone)
		}
		// One of the 120 records more is what noise costs in the mean of 16 seeds, of two
		// classes. Two more are a stroke of luck.
		if private, _ := loss(r.Rows[2]); !(private < 1.02*alone+2.5/120) {
			t.Errorf("%s: error %.4f within the budget, %.4f alone", name, private, alone)
		}
		if r.Rows[2].Valid || !strings.Contains(r.Rows[2].Note, "--task") {
			t.Errorf("%s: ranges are from the data, but the row is %+v", name, r.Rows[2])
		}
		if len(r.Sections) != 1 || len(r.Sections[0].Tables[0].Rows) != 12 {
			t.Errorf("%s: no table of 12 nodes", name)
		}
		sure := 0
		for _, line := range r.Sections[0].Tables[0].Rows {
			gain, between, word := line.Cells[6], line.Cells[7], line.Cells[8]
			var mean, low, high float64
			if _, err := fmt.Sscanf(gain+" "+between, "%f %f to %f", &mean, &low, &high); err != nil || !(low <= mean && mean <= high) {
				t.Errorf("%s: gain %s, interval %s: %v", name, gain, between, err)
			}
			if v := (learner.Interval{Low: low, High: high}); v.Word() != word && low*high != 0 {
				t.Errorf("%s: %s is called %q", name, between, word)
			}
			if word != learner.CannotTell {
				sure++
			}
		}
		if sure == 12 { // ten records each
			t.Errorf("%s: every node is sure of its gain", name)
		}
	}
}

// Where sharing gives a lot and the budget is nearly nothing, the verdict says what became
// of the gain; and where the labels say nothing of the columns, that only the majority
// class was predicted.
func TestCSVSaysWhyNot(t *testing.T) {
	o := paper.Options{Seed: 1, Data: write(t, "people.csv", alike(12, 10, asNumber)), CSV: paper.CSV{Epsilon: .001, Delta: 1e-9}}
	if v := report(t, CSV(), o).Verdict; strings.HasPrefix(v, testnet.WorthIt) || !strings.Contains(v, "the noise drowned what sharing gives: without privacy ") {
		t.Errorf("verdict %q at epsilon .001", v)
	}
	var text strings.Builder
	text.WriteString("node,x,y\n")
	for i := range 300 {
		fmt.Fprintf(&text, "n%d,%d,%s\n", i%10, i*i%7, map[bool]string{true: "rare", false: "usual"}[i%30 >= 28])
	}
	if v := report(t, CSV(), options(write(t, "usual.csv", text.String()))).Verdict; strings.HasPrefix(v, testnet.WorthIt) || !strings.Contains(v, "only the majority class was predicted") {
		t.Errorf("verdict %q of labels that are nearly all the same", v)
	}
}

func TestCSVWithPublicRangesIsValid(t *testing.T) {
	for name, c := range map[string]struct {
		label  func(float64) string
		target string
	}{
		"numbers":       {asNumber, "min = -6.0\nmax = 6.0"},
		"two classes":   {asSide, `classes = ["no", "yes"]`},
		"0 and 1":       {func(z float64) string { return map[bool]string{true: "1", false: "0"}[z > 0] }, ""},
		"three classes": {asClass, `classes = ["low", "middle", "high"]`},
	} {
		o := paper.Options{Seed: 1, Data: write(t, "people.csv", alike(5, 8, c.label))}
		o.CSV = paper.CSV{Task: write(t, "ranges.toml", alikeRanges+c.target), Epsilon: 3, Delta: 1e-5}
		row := report(t, CSV(), o).Rows[2]
		if !row.Valid || *row.Epsilon != 3 || *row.Delta != 1e-5 {
			t.Errorf("%s: %+v", name, row)
		}
	}
}

// A budget that is almost nothing must cost almost nothing: the noise makes the
// nodes learn for a shorter time, and their fits trust the others less. 5% of the
// error are two records of 240; the seed is fixed.
func TestCSVTinyBudgetIsNoWorseThanAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it makes thirty simulations")
	}
	for name, label := range map[string]func(float64) string{"numbers": asNumber, "two classes": asSide, "three classes": asClass} {
		o := paper.Options{Seed: 1, Data: write(t, "people.csv", alike(12, 20, label)), CSV: paper.CSV{Epsilon: .01, Delta: 1e-6}}
		if with, alone := loss(report(t, CSV(), o).Rows[2]); !(with < 1.05*alone) {
			t.Errorf("%s: error %.4f within the budget, %.4f alone", name, with, alone)
		}
	}
}

func TestCSVRefuses(t *testing.T) {
	good := alike(5, 8, asNumber)
	for name, c := range map[string]struct {
		text, ranges string
		csv          paper.CSV
		want         string
	}{
		"empty":               {text: "", want: "no header"},
		"header only":         {text: "node,x,y\n", want: "no records"},
		"no node column":      {text: "who,x,y\na,1,2\n", want: `no column "node"`},
		"other node column":   {text: good, csv: paper.CSV{Node: "who"}, want: "--node-column names"},
		"no target column":    {text: good, csv: paper.CSV{Target: "z"}, want: `no column "z"`},
		"two columns alike":   {text: "node,x,x\na,1,2\n", want: "are both named"},
		"not UTF-8":           {text: "n\x00o\x00", want: "UTF-8"},
		"short line":          {text: "node,x,y\na,1,2\nb,1\n", want: "line 3"},
		"no node":             {text: strings.Replace(good, "n1,", ",", 1), want: `line 10: column "node" is empty`},
		"one node":            {text: alike(1, 30, asNumber), want: "1 nodes"},
		"too few records":     {text: alike(30, 2, asNumber), want: "5 records or more"},
		"constant target":     {text: alike(5, 8, func(float64) string { return "3" }), want: "fewer than two different"},
		"nothing to learn of": {text: "node,y\n" + strings.Repeat("a,1\nb,2\n", 20), want: "no column to learn from"},
		"a text among numbers": {text: strings.Replace(good, "n1,", "n1,old", 1),
			want: "first on lines [10]"},
		"a word to predict as a number": {text: alike(5, 8, asSide), csv: paper.CSV{Kind: "number"}, want: "40 cells are none"},
		"too many classes":              {text: alike(5, 20, asNumber), csv: paper.CSV{Kind: "classes"}, want: "at most 64"},
		"an unknown kind":               {text: good, csv: paper.CSV{Kind: "date"}, want: "--kind date"},
		"a negative epsilon":            {text: good, csv: paper.CSV{Epsilon: -1}, want: "--epsilon -1"},
		"a delta of two":                {text: good, csv: paper.CSV{Delta: 2}, want: "--delta 2"},
		"task: unknown key":             {text: good, ranges: "[[features]]\nnam = 'x'", want: "line 2: key features[0].nam: is no key of a task; do you mean features[0].name?"},
		"task: no TOML":                 {text: good, ranges: "age 0 100", want: "line 1"},
		"task: no max":                  {text: good, ranges: "name='x'\n[[features]]\nname='age'\nkind='number'\n[target]\nname='y'", want: "features[0].min"},
		"task: no such column":          {text: good, ranges: "name='x'\n[[features]]\nname='weight'\nkind='number'\nmax=1\n[target]\nname='y'\nmax=1", want: `no column "weight"`},
		"task: no range of target":      {text: good, ranges: alikeRanges, want: "neither min and max nor classes"},
		"task: another target":          {text: good, ranges: alikeRanges + "max=1", csv: paper.CSV{Target: "age"}, want: "--target age"},
		"task: a kind beside it":        {text: good, ranges: alikeRanges + "max=1", csv: paper.CSV{Kind: "number"}, want: "--kind number"},
		"task: no file":                 {text: good, csv: paper.CSV{Task: "nowhere"}, want: "no built-in task \"nowhere\""},
	} {
		o := options(write(t, "people.csv", c.text))
		o.CSV.Node, o.CSV.Target, o.CSV.Kind, o.CSV.Task = c.csv.Node, c.csv.Target, c.csv.Kind, c.csv.Task
		if c.csv.Epsilon != 0 {
			o.CSV.Epsilon = c.csv.Epsilon
		}
		if c.csv.Delta != 0 {
			o.CSV.Delta = c.csv.Delta
		}
		if c.ranges != "" {
			o.CSV.Task = write(t, "ranges.toml", c.ranges)
		}
		_, err := CSV().Plan(o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
	if _, err := CSV().Plan(options("/nowhere/x.csv")); err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("a file that is not there: %v", err)
	}
	// No budget at all must not be taken for learning without privacy.
	if _, err := CSV().Plan(paper.Options{Data: write(t, "people.csv", good)}); err == nil || !strings.Contains(err.Error(), "--epsilon 0") {
		t.Errorf("no budget: %v", err)
	}
}

// The same options give the same numbers, cell by cell and in any order.
func TestCSVIsDeterministic(t *testing.T) {
	o := options(write(t, "people.csv", alike(5, 8, asNumber)))
	a, err := CSV().Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := CSV().Plan(o)
	last := len(a.Cells) - 1
	first, _ := a.Cells[last].Run(context.Background())
	b.Cells[0].Run(context.Background())
	second, _ := b.Cells[last].Run(context.Background())
	if a.Identity != b.Identity || fmt.Sprint(first) != fmt.Sprint(second) {
		t.Error("two runs of one cell differ")
	}
	o.Seed = 2
	if c, _ := CSV().Plan(o); c.Identity == a.Identity {
		t.Error("another seed has the same identity")
	}
}

func TestQuickSaysWhatItLeavesOut(t *testing.T) {
	data := write(t, "many.csv", alike(quickNodes+7, fewestRecords, asNumber))
	table, err := readTable(paper.Options{Quick: true, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	e := csvRun{table: table}
	if notes := strings.Join(e.notes(), "\n"); !strings.Contains(notes, "of 100 nodes") || !strings.Contains(notes, "7 more nodes were left out") {
		t.Error(notes)
	}
}
