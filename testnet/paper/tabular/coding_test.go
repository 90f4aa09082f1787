package tabular

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"p2pnode/learner"
	"p2pnode/testnet"
	"p2pnode/testnet/paper"
)

// Coordinates worked out by hand, before they are scaled: the square is 1.
func TestFeatures(t *testing.T) {
	c := &coding{
		sheet:  &testnet.Sheet{Comma: ';'},
		square: 100,
		columns: []column{
			{learner.Feature{Name: "age", Kind: "number", Min: 20, Max: 60}, 0},
			{learner.Feature{Name: "member", Kind: "number", Min: 0, Max: 1}, 1},
			{learner.Feature{Name: "genres", Kind: "set", Values: []string{"A", "B", "C"}}, 2},
			{learner.Feature{Name: "year", Kind: "range", Edges: []float64{1990, 2000}}, 3},
		},
	}
	for _, row := range []struct {
		cells []string
		want  []float64 // times 10
	}{
		{[]string{"30", "1", "A|C", "1990"}, []float64{-.5, 1, 1, 0, 1, 0, 1, 0}},
		{[]string{"100", "0,25", "B", "1980"}, []float64{1, .25, 0, 1, 0, 1, 0, 0}},
		{[]string{"", "NA", "", "?"}, []float64{0, 0, 0, 0, 0, 0, 0, 0}},
	} {
		x, err := c.features(row.cells)
		if err != nil {
			t.Fatal(err)
		}
		for k := range x {
			if math.Abs(10*x[k]-row.want[k]) > 1e-12 {
				t.Errorf("%q: %v, want a tenth of %v", row.cells, x, row.want)
				break
			}
		}
	}
	if c.missing != 4 {
		t.Errorf("%d cells missing, want 4", c.missing)
	}
	for _, cells := range [][]string{{"old", "1", "A", "1990"}, {"30", "1", "D", "1990"}, {"30", "1", "A", "then"}} {
		if _, err := c.features(cells); err == nil || !strings.Contains(err.Error(), "column") {
			t.Errorf("%q: %v", cells, err)
		}
	}
}

// What is to be predicted follows from the values.
func TestFindTarget(t *testing.T) {
	for name, c := range map[string]struct {
		cells []string
		kind  string
		loss  string
		first string // class
	}{
		"fractions":         {[]string{"1.5", "2", "3"}, "", "squared", ""},
		"many":              {[]string{"1", "2", "3", "4", "5", "6", "7", "8"}, "", "squared", ""},
		"stars":             {[]string{"1", "2", "10", "4", "5"}, "", "multinomial", "1"},
		"stars as a number": {[]string{"1", "2", "3", "4", "5"}, "number", "squared", ""},
		"sides":             {[]string{"1", "-1", "1"}, "", "logistic", "-1"},
		"two fractions":     {[]string{"0.5", "1.5", ""}, "", "logistic", "0.5"},
		"words":             {[]string{"b", "a", "b"}, "", "logistic", "a"},
		"many as classes":   {[]string{"10", "2", "3", "4", "5", "6", "7", "8"}, "classes", "multinomial", "2"},
	} {
		s := &testnet.Sheet{Comma: ',', Columns: []string{"y"}}
		for i, cell := range c.cells {
			s.Rows, s.Lines = append(s.Rows, []string{cell}), append(s.Lines, i+2)
		}
		got, err := findTarget(s, "y", c.kind)
		if err != nil || got.loss() != c.loss || c.first != "" && got.classes[0] != c.first {
			t.Errorf("%s: %v, %s, classes %q", name, err, got.loss(), got.classes)
		}
	}
}

// A column that says nothing is left out, with the reason.
func TestFindColumns(t *testing.T) {
	s := &testnet.Sheet{Comma: ',', Columns: []string{"node", "row", "constant", "name", "x", "town"}}
	for i := range 100 {
		s.Rows = append(s.Rows, []string{"n", strconv.Itoa(i), "7", "person " + strconv.Itoa(i), strconv.Itoa(i * i), []string{"Oslo", "Lima|Oslo"}[i%2]})
		s.Lines = append(s.Lines, i+2)
	}
	columns, leftOut, err := findColumns(s, "node")
	if err != nil || len(columns) != 2 || len(leftOut) != 3 {
		t.Fatalf("%v: %v, left out %q", err, columns, leftOut)
	}
	if x := columns[0]; x.Name != "x" || x.Min != 0 || x.Max != 99*99 {
		t.Errorf("%+v", x)
	}
	if town := columns[1]; !slices.Equal(town.Values, []string{"Lima", "Oslo"}) {
		t.Errorf("%+v", town)
	}
}

// What other programs write: a byte order mark, semicolons or tabs, decimal commas,
// blanks for what is missing, nodes with too few records.
func TestCSVOfOtherPrograms(t *testing.T) {
	text := alike(6, 10, asNumber) + "small,30,160,Oslo,1\n" + "n1,30,,Oslo,1\nn1,30,170,NA,1\nn2,30,170,Oslo,\n"
	for name, change := range map[string]*strings.Replacer{
		"comma":     strings.NewReplacer(),
		"tab":       strings.NewReplacer(",", "\t"),
		"semicolon": strings.NewReplacer(",", ";", ".", ","),
		"crlf":      strings.NewReplacer("\n", "\r\n"),
	} {
		tab, err := readTable(paper.Options{Data: write(t, "people.csv", "\ufeff"+change.Replace(text))})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(tab.owners.list) != 6 || tab.owners.leftOut != 1 || tab.owners.unlabelled != 1 || tab.coding.missing != 2 {
			t.Errorf("%s: %d nodes, %d left out, %d rows without target, %d cells missing", name,
				len(tab.owners.list), tab.owners.leftOut, tab.owners.unlabelled, tab.coding.missing)
		}
		if got := tab.coding.names(); strings.Join(got, " ") != "age height town=Lima town=Oslo town=Zürich" {
			t.Errorf("%s: coordinates %q", name, got)
		}
	}
}

// In the folds of a shuffle every record is measured once, by models it is not
// among the training records of, and no training record is held out by its number.
func TestFolds(t *testing.T) {
	tab, err := readTable(paper.Options{Data: write(t, "people.csv", alike(4, 13, asNumber))})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[*float64]int{}
	for k := range folds {
		for _, n := range tab.owners.fold(k, folds, 3) {
			if len(n.train)+len(n.test) != 13 {
				t.Errorf("fold %d: %d and %d records", k, len(n.train), len(n.test))
			}
			in := map[*float64]bool{}
			for _, r := range n.train {
				in[&r.X[0]] = true
				if r.Seq.HeldOut() || r.Cohort != 1 {
					t.Errorf("training record %d of cohort %d", r.Seq, r.Cohort)
				}
			}
			for _, r := range n.test {
				if seen[&r.X[0]]++; in[&r.X[0]] {
					t.Error("a test record is a training record")
				}
			}
		}
	}
	for _, times := range seen {
		if times != 1 || len(seen) != 52 {
			t.Fatalf("a record is measured %d times, %d records are", times, len(seen))
		}
	}
}

// Every record fits its task, and none is longer than the task's bound, on which
// sensitivity and step size rest.
func TestRecordsFitTheTask(t *testing.T) {
	for _, ranges := range []string{"", alikeRanges + "min = -1.0\nmax = 1.0\ncenter = 0.5"} {
		o := paper.Options{Data: write(t, "people.csv", alike(4, 40, asNumber))}
		if ranges != "" {
			o.CSV.Ranges = write(t, "ranges.toml", ranges)
		}
		tab, err := readTable(o)
		if err != nil {
			t.Fatal(err)
		}
		if (tab.coding.outside > 0) != (ranges != "") {
			t.Errorf("%d targets are outside of the range", tab.coding.outside)
		}
		task := tab.coding.task(constant)
		for _, p := range tab.owners.list {
			for _, r := range p.records {
				var square float64
				for _, v := range r.X {
					square += v * v
				}
				if task.Admit(&r) != nil || math.Sqrt(square) > task.FeatureNorm()*(1+1e-12) || math.Abs(r.Y) > 1 {
					t.Fatalf("record %+v", r)
				}
			}
		}
	}
}

// Numbers outside the range of their column are counted, those of features and those
// to predict apart; a column without a name, as some programs write for the index of a
// line, is left out.
func TestWhatIsCounted(t *testing.T) {
	var text strings.Builder
	text.WriteString(",node,a,y\n")
	for i := range 40 {
		fmt.Fprintf(&text, "%d,n%d,%d,%g\n", 7*i%40, i%4, 39-i, 1.5*float64(i))
	}
	file := write(t, "people.csv", text.String())
	tab, err := readTable(paper.Options{Data: file})
	if err != nil || len(tab.coding.columns) != 1 || !slices.Equal(tab.leftOut, []string{"column 1 (it has no name)"}) || tab.coding.clamped != 0 {
		t.Errorf("%v: %+v", err, tab)
	}
	ranges := write(t, "ranges.toml", `[[features]]
name = "a"
kind = "number"
min = 3.0
max = 29.0
[target]
name = "y"
min = 0.0
max = 57.0
`)
	tab, err = readTable(paper.Options{Data: file, CSV: paper.CSV{Ranges: ranges}})
	if err != nil {
		t.Fatal(err)
	}
	if tab.coding.clamped != 3+10 || tab.coding.outside != 1 {
		t.Errorf("%d features and %d targets outside, want 13 and 1", tab.coding.clamped, tab.coding.outside)
	}
	notes := strings.Join((&csvRun{table: tab}).notes(), " ")
	if !strings.Contains(notes, "13 cells to learn from lie outside") || !strings.Contains(notes, "1 cells to predict lie outside") {
		t.Errorf("notes %q", notes)
	}
	if _, err := readTable(paper.Options{Data: filepath.Dir(file)}); err == nil || !strings.Contains(err.Error(), "is a directory: name the file") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := readTable(paper.Options{Data: file, CSV: paper.CSV{Target: "node"}}); err == nil || !strings.Contains(err.Error(), "--target node") {
		t.Errorf("the column of the nodes is predicted: %v", err)
	}
}
