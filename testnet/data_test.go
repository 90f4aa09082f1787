package testnet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"p2pnode/learner"
)

// people makes a CSV of the task "movies" with so many records of each person.
func people(records ...int) string {
	var b strings.Builder
	b.WriteString("node,genres,year,rating\n")
	for i, n := range records {
		for k := range n {
			fmt.Fprintf(&b, "p%d,Comedy|Drama,%d,%.1f\n", i, 1950+k, 0.5+0.5*float64(k%10))
		}
	}
	return b.String()
}

func mustRead(t *testing.T, text string) *Dataset {
	t.Helper()
	d, err := readCSV(strings.NewReader(text), "people.csv", learner.Movies())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDrawFixesSplitsBySeed(t *testing.T) {
	d := mustRead(t, people(20, 30, 40, 50, 60))
	before := d.People[2].Records[0].X

	first, err := d.Draw(7, 3)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := d.Draw(7, 3)
	if !reflect.DeepEqual(first, again) {
		t.Error("the same seed drew two different data sets")
	}
	other, _ := d.Draw(8, 0)
	all, _ := d.Draw(7, 0)
	if len(all.People) != 5 || len(first.People) != 3 {
		t.Fatalf("drew %d and %d people, want 5 and 3", len(all.People), len(first.People))
	}
	if reflect.DeepEqual(all.People[0].rows, other.People[0].rows) {
		t.Error("two seeds gave a person the same order")
	}
	for _, p := range first.People {
		i := slices.IndexFunc(all.People, func(q Person) bool { return q.Name == p.Name })
		if !reflect.DeepEqual(p, all.People[i]) {
			t.Errorf("%s has another order when fewer people are drawn", p.Name)
		}
	}
	if &before[0] != &d.People[2].Records[0].X[0] || d.People[2].Records[0].Seq != 1 {
		t.Error("drawing changed the original")
	}
}

// Property: drawing permutes each person's records, keeps rows and records
// together, and numbers them 1, 2, ...
func TestDrawPermutes(t *testing.T) {
	d := mustRead(t, people(11, 25, 100))
	for seed := range uint64(20) {
		drawn, err := d.Draw(seed, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range drawn.People {
			years := make(map[string]bool)
			for k, r := range p.Records {
				years[p.rows[k][1]] = true
				want, err := d.Task.Encode(cellsOf(d.Columns, p.rows[k]))
				if err != nil || r.Seq != learner.Seq(k+1) || r.Y != want.Y || !slices.Equal(r.X, want.X) {
					t.Fatalf("record %d of %s is not its row, or misnumbered", k, p.Name)
				}
			}
			if len(years) != len(d.People[i].Records) {
				t.Fatalf("%s lost records", p.Name)
			}
			if held := len(p.testRecords()); held != len(p.Records)/5 || held+p.TrainSize() != len(p.Records) {
				t.Fatalf("%d held out and %d to train on of %d", held, p.TrainSize(), len(p.Records))
			}
		}
	}
}

func cellsOf(columns, row []string) func(string) (string, bool) {
	return func(c string) (string, bool) {
		i := slices.Index(columns, c)
		if i < 0 {
			return "", false
		}
		return row[i], true
	}
}

func TestDrawTooMany(t *testing.T) {
	_, err := mustRead(t, people(5, 5)).Draw(1, 3)
	if !errors.Is(err, errTooFew) {
		t.Fatalf("got %v, want ErrTooFew", err)
	}
}

func TestTestRecordsPreferFresh(t *testing.T) {
	p := Person{Records: make([]learner.Record, 10), Test: make([]learner.Record, 3)}
	if len(p.testRecords()) != 3 {
		t.Error("a person with fresh test records is not measured on them")
	}
}

func TestReadCSVErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":          {"", "no header line"},
		"no node":        {"genres,year,rating\n", `no column "node"`},
		"no target":      {"node,genres,year\n", `no column "rating"`},
		"twice":          {"node,year,year\n", `columns 2 and 3 are both named "year"`},
		"one person":     {people(10), "too few people"},
		"nobody":         {people(), "too few people"},
		"short records":  {people(4, 4, 10), "too few people"},
		"bad number":     {people(5, 5) + "p0,Drama,1990,good\n", "line 12: "},
		"nameless":       {people(5, 5) + " ,Drama,1990,4\n", `line 12: column "node" is empty`},
		"missing field":  {people(5, 5) + "p0,Drama,1990\n", `line 12: 3 of 4 cells: column "rating" is the first without one`},
		"stray quote":    {people(5, 5) + "p0,Dr\"ama,1990,4\np1,Drama,then,4\n", "line 13: "},
		"thousands":      {"node;genres;year;rating\np0;Drama;1990;4,5\np0;Drama;1990;1.955\n", `line 3: column "rating" has a point before three digits, and line 2 has a decimal comma`},
		"not a number":   {people(5, 5) + "p0,Drama,Inf,4\n", "line 12: "},
		"several, quote": {people(5, 5) + "p0,\"Drama\"x,1990,4\n", "1 bad line:"},
	} {
		_, err := readCSV(strings.NewReader(c.text), "people.csv", learner.Movies())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
}

func TestReadCSVListsBadLinesUpToALimit(t *testing.T) {
	text := people(5, 5) + strings.Repeat("p0,Drama,then,4\n", 50)
	_, err := readCSV(strings.NewReader(text), "people.csv", learner.Movies())
	var bad *BadLines
	if !errors.As(err, &bad) {
		t.Fatalf("got %v, want BadLines", err)
	}
	if bad.Count != 50 || len(bad.First) != maxBadLines {
		t.Errorf("counted %d and listed %d, want 50 and %d", bad.Count, len(bad.First), maxBadLines)
	}
	if text := err.Error(); !strings.Contains(text, "\t20 lines (12 to 31): ") || !strings.Contains(text, "and 30 more") {
		t.Errorf("the error does not list what it should:\n%s", text)
	}
}

func TestReadCSVAnyOrderAndMore(t *testing.T) {
	const mark = "\ufeff"
	text := mark + "comment, rating ,node,year,genres\n" + strings.Repeat("x,5,a,1999,\nx,3.5,b,2011,War\n", 5) + "x,1,c,1950,Drama\n"
	d := mustRead(t, text)
	if len(d.People) != 2 || d.LeftOut != 1 {
		t.Fatalf("%d people and %d left out, want 2 and 1", len(d.People), d.LeftOut)
	}
	if r := d.People[0].Records[4]; r.Seq != 5 || r.Y != 5-d.Task.Target.Center {
		t.Errorf("record %+v", r)
	}
	if want := []string{"genres", "year", "movieId", "rating"}; !slices.Equal(d.Columns, want) {
		t.Errorf("columns %v, want %v", d.Columns, want)
	}
	if want := []string{"War", "2011", "", "3.5"}; !slices.Equal(d.People[1].rows[0], want) {
		t.Errorf("row %v, want %v", d.People[1].rows[0], want)
	}
}

// What a file says outside of the task is counted, and the report names the columns.
func TestReadCSVCounts(t *testing.T) {
	d := mustRead(t, people(5, 5)+"p0,Opera|Drama,1990,9\np1,,,0\n")
	want := []learner.ColumnTally{{Column: "genres", Unknown: 1, Empty: 1}, {Column: "year", Empty: 1}, {Column: "rating", Clamped: 2}}
	if !slices.Equal(d.Noted, want) {
		t.Errorf("noted %+v, want %+v", d.Noted, want)
	}
	some, err := d.Draw(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	r := Result{Noted: some.Noted, Complete: true}
	if notes := strings.Join(r.notes(), " "); !strings.Contains(notes, "2 cells are outside the task's range and taken for its nearest end, in the test too (rating 2).") ||
		!strings.Contains(notes, "1 cell is none of the task's values and taken for none (genres 1).") {
		t.Errorf("notes %q", notes)
	}
}

// Whoever writes a column in another unit is named.
func TestReadCSVNamesMisfits(t *testing.T) {
	d := mustRead(t, people(5, 5)+strings.Repeat("other,Drama,1990,50\n", 4)+"other,Drama,1990,3\np0,Drama,1990,50\nfew,Drama,1990,50\n")
	if want := []Misfit{{"other", "rating", 0.8}}; !slices.Equal(d.Misfits, want) {
		t.Fatalf("misfits %+v, want %+v", d.Misfits, want)
	}
	r := Result{Misfits: d.Misfits, Complete: true}
	if notes := strings.Join(r.notes(), " "); !strings.Contains(notes, "Most records of some people are not as the task expects them (rating of other in 80 %)") {
		t.Errorf("notes %q", notes)
	}
	r.Misfits = slices.Repeat(d.Misfits, shownMisfits+2)
	if notes := strings.Join(r.notes(), " "); !strings.Contains(notes, "in 80 %, and 2 more)") {
		t.Errorf("notes of many %q", notes)
	}
}

type failing struct{}

var errDisk = errors.New("disk on fire")

func (failing) Read([]byte) (int, error) { return 0, errDisk }

func TestReadCSVPassesReadErrorsOn(t *testing.T) {
	if _, err := readCSV(failing{}, "people.csv", learner.Movies()); !errors.Is(err, errDisk) {
		t.Fatalf("got %v", err)
	}
}

// Whatever is accepted keeps what the learner relies on: people with enough
// records of the right dimension, finite and inside the norm bound.
func FuzzReadCSV(f *testing.F) {
	f.Add([]byte(people(5, 6)))
	f.Add([]byte("node,genres,year,rating\n\"a\nb\",Drama,1e300,-1e300\n"))
	f.Add([]byte("\ufeffnode,genres,year,rating\r\na,,0,0\r\n"))
	f.Add([]byte("node,genres,year,rating\na,Drama|Drama,1999,4\n\""))
	task := learner.Movies()
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := readCSV(bytes.NewReader(data), "fuzz.csv", task)
		if err != nil {
			return
		}
		for _, p := range d.People {
			if p.Name == "" || len(p.Records) < minRecords || len(p.rows) != len(p.Records) {
				t.Fatalf("person %q has %d records and %d rows", p.Name, len(p.Records), len(p.rows))
			}
			for _, r := range p.Records {
				var squares float64
				for _, x := range r.X {
					squares += x * x
				}
				if len(r.X) != task.Dimension() || !(math.Sqrt(squares) <= task.FeatureNorm()+1e-9) {
					t.Fatalf("record of dimension %d and squared norm %v", len(r.X), squares)
				}
				if !(math.Abs(r.Y) <= task.Target.Max-task.Target.Min) {
					t.Fatalf("target %v", r.Y)
				}
			}
		}
	})
}

// An exported file, read back, gives the same records in the same order.
func TestExportRoundTrip(t *testing.T) {
	movies, err := mustRead(t, people(12, 30)).Draw(3, 0)
	if err != nil {
		t.Fatal(err)
	}
	linear, err := Linear(3, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*Dataset{movies, linear} {
		dir := filepath.Join(t.TempDir(), "out")
		if err := d.Export(dir); err != nil {
			t.Fatal(err)
		}
		for i, p := range d.People {
			data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.csv", i+1)))
			if err != nil {
				t.Fatal(err)
			}
			lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
			if err != nil || !slices.Equal(lines[0], d.Columns) || len(lines) != len(p.Records)+1 {
				t.Fatalf("%d lines with header %v, error %v", len(lines), lines[0], err)
			}
			for k, line := range lines[1:] {
				r, err := d.Task.Encode(cellsOf(d.Columns, line))
				if err != nil || r.Y != p.Records[k].Y || !slices.Equal(r.X, p.Records[k].X) {
					t.Fatalf("record %d of person %d changed: %v", k, i, err)
				}
			}
		}
	}
}

// Files that are there are not written over: the same export again changes nothing, another one
// writes nothing.
func TestExportOverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	one, other := mustRead(t, people(5, 5)), mustRead(t, people(6, 7))
	for range 2 {
		if err := one.Export(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Export(dir); err == nil || !strings.Contains(err.Error(), "1.csv is there already and holds something else") {
		t.Errorf("exported over other files: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "6.csv")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was written all the same: %v", err)
	}
}

func TestExportCannotWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := mustRead(t, people(5, 5)).Export(filepath.Join(file, "out")); err == nil {
		t.Fatal("exported into a file")
	}
}

// readCSV reads a file with the column "node".
func readCSV(r io.Reader, file string, t *learner.Task) (*Dataset, error) {
	return ReadPeople(r, file, t, Owners{Column: NodeColumn})
}
