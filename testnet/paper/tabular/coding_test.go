package tabular

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"p2pnode/learner"
	daemon "p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/privacy"
	"p2pnode/testnet"
	"p2pnode/testnet/paper"
)

// The records of an experiment are, bit for bit, those that a node makes of the same
// file with the task of the experiment: its text, its import, its store.
func TestRecordsAreTheNodes(t *testing.T) {
	mixed := "node;age;member;genres;year;y\n" // decimal commas, blanks, values out of range
	for i := range 60 {
		mixed += fmt.Sprintf("n%d;%d,5;%d;%s;%d;%s\n", i%4, 10+i, i%2, []string{"A|C", "B", "", "n/a"}[i%4], 1980+i, []string{"no", "yes"}[i*i%7%2])
	}
	said := "node;note;at;photo_1;photo_2;price;y\n" // a text, a time, a vector in columns of its own, a logarithm
	for i := range 60 {
		said += fmt.Sprintf("n%d;%s;2026-03-%02d %02d:30;%d,5;-1;%d;%s\n", i%4, []string{"zu kalt, zu laut", "warm 🙂", "", "..."}[i%4], 1+i%28, i%24, i, i*i, []string{"no", "yes"}[i*i%7%2])
	}
	for name, c := range map[string]struct{ text, ranges string }{
		"numbers": {alike(4, 13, asNumber), ""},
		"classes": {alike(4, 13, asClass), ""},
		"sides":   {alike(4, 13, asSide), ""},
		"declared": {mixed, `name = "mixed"
normalise = true
constant = 0.3
[map]
kind = "fourier"
features = 8
width = 1.0
seed = 3
[[features]]
name = "age"
kind = "number"
min = 20.0
max = 60.0
[[features]]
name = "member"
kind = "number"
max = 1.0
[[features]]
name = "genres"
kind = "set"
values = ["A", "B"]
[[features]]
name = "year"
kind = "range"
edges = [1990.0, 2000.0]
[target]
name = "y"
classes = ["no", "yes"]
`},
		"said": {said, `name = "said"
[[features]]
name = "note"
kind = "text"
buckets = 32
words = [1, 2]
[[features]]
name = "at"
kind = "time"
parts = ["day"]
utc_offset = "+01:00"
[[features]]
name = "photo"
kind = "vector"
length = 2
[[features]]
name = "price"
kind = "number"
max = 1000
log = true
[target]
name = "y"
classes = ["no", "yes"]
`},
	} {
		file := write(t, "people.csv", c.text)
		o := paper.Options{Data: file}
		if c.ranges != "" {
			o.CSV.Task = write(t, "ranges.toml", c.ranges)
		}
		tab, err := readTable(o)
		if err != nil {
			t.Fatal(name, err)
		}
		s, err := tab.coding.automatic(len(tab.owners.list), 10, privacy.Budget{Epsilon: 1, Delta: 1e-6}, paceWithin(privacy.Budget{Epsilon: 1}))
		if err != nil {
			t.Fatal(name, err)
		}
		want := map[string]int{} // records as text
		for _, p := range tab.owners.list {
			for _, r := range p.records {
				want[fmt.Sprint(r.X, r.Y)]++
			}
		}
		task := s.task
		if c.ranges != "" { // the very file that its nodes are made of
			if task, err = datadir.LoadTask(o.CSV.Task); err != nil {
				t.Fatal(name, err)
			}
		}
		got := imported(t, task, file)
		for record, times := range want {
			if got[record] != times {
				t.Errorf("%s: the node has the record %s %d times, the experiment %d", name, record, got[record], times)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: the node has %d different records, the experiment %d", name, len(got), len(want))
		}
	}
}

// imported are the records that a node of the task has once it has imported a file.
func imported(t *testing.T, task *learner.Task, file string) map[string]int {
	t.Helper()
	text, err := datadir.FormatTask(task)
	if err != nil {
		t.Fatal(err)
	}
	if task, err = datadir.ParseTask(text); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "node")
	if err := datadir.Init(dir, task, datadir.DefaultConfig(task)); err != nil {
		t.Fatal(err)
	}
	n, err := daemon.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := n.Import(t.Context(), in, api.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	names, records := task.Coordinates(), map[string]int{}
	for r, err := range n.Records(t.Context(), true) {
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, len(names))
		for _, f := range r.Features { // those that are not 0
			x[slices.Index(names, f.Name)] = f.Value
		}
		records[fmt.Sprint(x, *r.Target)]++
	}
	return records
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
		loss := (&coding{sheet: s, target: got}).task().Loss
		if err != nil || loss != c.loss || c.first != "" && got.classes[0] != c.first {
			t.Errorf("%s: %v, %s, classes %q", name, err, loss, got.classes)
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
		if len(tab.owners.list) != 6 || tab.owners.leftOut != 1 || tab.owners.unlabelled != 1 || empties(tab.coding) != 2 {
			t.Errorf("%s: %d nodes, %d left out, %d rows without target, %d cells missing", name,
				len(tab.owners.list), tab.owners.leftOut, tab.owners.unlabelled, empties(tab.coding))
		}
		if got := tab.coding.task().Coordinates(); strings.Join(got, " ") != "age height town=Lima town=Oslo town=Zürich constant" {
			t.Errorf("%s: coordinates %q", name, got)
		}
	}
}

// empties counts the cells without a value.
func empties(c *coding) (count int) {
	for _, n := range c.noted {
		count += n.Empty
	}
	return count
}

// clamped counts the numbers out of range.
func clamped(c *coding) (features, targets int) {
	for i, n := range c.noted {
		if i < len(c.columns) {
			features += n.Clamped
		} else {
			targets += n.Clamped
		}
	}
	return features, targets
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
			o.CSV.Task = write(t, "ranges.toml", ranges)
		}
		tab, err := readTable(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, outside := clamped(tab.coding); (outside > 0) != (ranges != "") {
			t.Errorf("%d targets are outside of the range", outside)
		}
		task := tab.coding.task()
		for _, p := range tab.owners.list {
			for _, r := range p.records {
				var square float64
				for _, v := range r.X {
					square += v * v
				}
				if task.Admit(&r) != nil || math.Sqrt(square) > task.FeatureNorm()*(1+1e-12) || math.Abs(r.Y) > max(task.Target.Max-task.Target.Center, task.Target.Center-task.Target.Min) {
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
	if err != nil || len(tab.coding.columns) != 1 || !slices.Equal(tab.leftOut, []string{"column 1 (it has no name)"}) {
		t.Errorf("%v: %+v", err, tab)
	}
	ranges := write(t, "ranges.toml", `name = "counted"
[[features]]
name = "a"
kind = "number"
min = 3.0
max = 29.0
[target]
name = "y"
min = 0.0
max = 57.0
`)
	tab, err = readTable(paper.Options{Data: file, CSV: paper.CSV{Task: ranges}})
	if err != nil {
		t.Fatal(err)
	}
	if features, targets := clamped(tab.coding); features != 3+10 || targets != 1 {
		t.Errorf("%d features and %d targets outside, want 13 and 1", features, targets)
	}
	notes := strings.Join((&csvRun{table: tab}).notes(), " ")
	if !strings.Contains(notes, "13 cells are outside the range of a column to learn from and taken for its nearest end (a 13).") || !strings.Contains(notes, "1 cell is outside the declared range of what is to be predicted") {
		t.Errorf("notes %q", notes)
	}
	people := write(t, "people.csv", alike(4, 40, asNumber))
	towns := write(t, "towns.toml", strings.Replace(alikeRanges, `"Lima", `, "", 1)+"min=-6\nmax=6")
	if tab, err = readTable(paper.Options{Data: people, CSV: paper.CSV{Task: towns}}); err != nil {
		t.Fatal(err)
	}
	unknown := fmt.Sprintf("%d cells are none of the values declared and taken for none (town %[1]d).", strings.Count(alike(4, 40, asNumber), "Lima"))
	if notes := (&csvRun{table: tab}).notes(); !slices.Contains(notes, unknown) {
		t.Errorf("notes %q, want %q", notes, unknown)
	}
	if _, err := readTable(paper.Options{Data: filepath.Dir(file)}); err == nil || !strings.Contains(err.Error(), "is a directory: name the file") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := readTable(paper.Options{Data: file, CSV: paper.CSV{Target: "node"}}); err == nil || !strings.Contains(err.Error(), "--target node") {
		t.Errorf("the column of the nodes is predicted: %v", err)
	}
}

// A point before three digits beside decimal commas may stand between thousands: such a line is bad,
// as it is for a node.
func TestMarksBetweenThousands(t *testing.T) {
	var text strings.Builder
	text.WriteString("node;a;y\n")
	for i := range 40 {
		a := fmt.Sprintf("%d,5", 900+i)
		if i == 7 {
			a = "1.518"
		}
		fmt.Fprintf(&text, "n%d;%s;%d\n", i%4, a, i)
	}
	o := paper.Options{Data: write(t, "people.csv", text.String())}
	_, err := readTable(o)
	if err == nil || !strings.Contains(err.Error(), `line 9: column "a" has a point before three digits, and line 2 has a decimal comma`) {
		t.Errorf("a point between thousands: %v", err)
	}
	o.CSV.SkipBad = true
	tab, err := readTable(o)
	if err != nil || len(tab.owners.list) != 4 || len(tab.owners.list[3].records) != 9 {
		t.Errorf("without its line: %v: %+v", err, tab)
	}
}
