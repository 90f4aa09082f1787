package node

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/storage"
)

// readAll reads the records of a file of the task line.
func readAll(text string) (records []learner.Record, report api.ImportReport, err error) {
	err = readRows(strings.NewReader(text), lineTask(), "", &report, func(a storage.Arrival) error {
		records = append(records, a.Record)
		return nil
	})
	return records, report, err
}

func TestReadRows(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		records int
		bad     []api.BadLine
	}{
		"plain":         {"a,b,y\n1,0,2\n0,1,3\n", 2, nil},
		"any order":     {"y,note,b,a\n2,hello,0,1\n", 1, nil},
		"mark and CRLF": {"\ufeffa,b,y\r\n1,0,2\r\n", 1, nil},
		"out of range":  {"a,b,y\n7,0,99\n", 1, nil}, // clamped
		"no number":     {"a,b,y\n1,0,2\n1,x,2\n", 1, []api.BadLine{{Line: 3, Reason: `column "b": "x" is not a finite number`}}},
		"decimal comma": {"a,b,y\n1,\"0,5\",2\n1,0,2\n", 1, []api.BadLine{{Line: 2, Reason: `column "b": "0,5" is not a finite number; if the comma is a decimal one, write 0.5`}}},
		"thousands": {"a,b,y\n1,0,\"1.955,77\"\n1,0,\"1,955\"\n1,0,2\n", 1, []api.BadLine{
			{Line: 2, Reason: `column "y": "1.955,77" is not a finite number; without the marks between thousands it is 1955.77`},
			{Line: 3, Reason: `column "y": "1,955" is not a finite number; if the comma is a decimal one, write 1.955; without the marks between thousands it is 1955`},
		}},
		"spreadsheet": {"a,b,y\n1,#N/A,2\n1,0,2\n", 1, []api.BadLine{{Line: 2, Reason: `column "b": "#N/A" is not a finite number; a spreadsheet shows that for an error: mend the cell, or empty it`}}},
		"not finite":  {"a,b,y\nNaN,0,1\nInf,0,1\n1,0,\n", 1, []api.BadLine{{Line: 3, Reason: `column "a": "Inf" is not a finite number`}, {Line: 4, Reason: `column "y" is empty, so there is nothing to learn from the row`}}},
		"short and long": {"a,b,y\n1,0\n1,0,2,3\n1,0,2\n", 1, []api.BadLine{{Line: 2, Reason: `2 of 3 cells: column "y" is the first without one`},
			{Line: 3, Reason: "4 cells, but the header names 3 columns; quote cells that hold a comma"}}},
		"semicolons": {"\ufeffa;note;b;y\r\n0,5;\"x;y\";0;-1,5\r\n1,5;;;2\r\n", 2, nil}, // an empty cell is unknown
		"tabs":       {"a\tb\ty\n1\t0\t2,5\n", 1, nil},
		"JSON":       {"{\"y\":2,\"note\":{},\"a\":\"1\",\"b\":null}\n{\"a\":1,\"b\":0,\"y\":-1.5}\n", 2, nil},
		"bad JSON": {"{\"a\":1,\"b\":{},\"y\":2}\n{\"a\":1,\"y\":2}\n{\"a\":1\n{\"a\":true,\"b\":0,\"y\":2}\n{\"a\":1,\"b\":0,\"y\":2}", 1, []api.BadLine{
			{Line: 1, Reason: `column "b" holds an object; write its values as columns of their own`}, {Line: 2, Reason: `column "b" is missing`},
			{Line: 3, Reason: "is not one whole JSON object, as {\"name\": 1}; write one on each line"}, {Line: 4, Reason: `column "a": "true" is not a finite number`}}},
		"JSON nested":   {"{\"w\":{\"a\":1},\"b\":2,\"y\":2}\n", 0, []api.BadLine{{Line: 1, Reason: `column "a" is missing, and column "w" holds an object; write its values as columns of their own`}}},
		"JSON lacking":  {"{\"tags\":[\"x|y\"],\"b\":2,\"y\":2}\n", 0, []api.BadLine{{Line: 1, Reason: `column "a" is missing`}}},
		"JSON misspelt": {"{\"A\":1,\"b\":2,\"y\":2}\n", 0, []api.BadLine{{Line: 1, Reason: `column "a" is missing, but there is "A"`}}},
		"quoted lines":  {"a,b,y,note\n1,0,2,\"two\nlines\"\n1,0,x,\n", 1, []api.BadLine{{Line: 4, Reason: `column "y": "x" is not a finite number`}}},
	} {
		records, report, err := readAll(c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(records) != c.records || report.Bad != len(c.bad) || len(c.bad) > 0 && !reflect.DeepEqual(report.Lines, c.bad) {
			t.Errorf("%s: %d records, bad %v; want %d, %v", name, len(records), report.Lines, c.records, c.bad)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "no target": "a,b\n1,2\n", "column twice": "a,a,b,y\n1,1,1,1\n",
		"open quote": "a,b,y\n1,0,2\n\"1,0,2\n1,0,2\n", "UTF-16": "\xff\xfea\x00,\x00b\x00,\x00y\x00",
	} {
		if _, _, err := readAll(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The first line that looks like a total is a record, and is told.
func TestTotalIsTold(t *testing.T) {
	for text, want := range map[string]int{
		"house,a,b,y\nx,1,0,2\ny,1,0,2\nTotal,,,4\nTotal,,,4\n": 4,
		"house,a,b,y\nTotal,1,0,2\nTotal,1,0,2\n":               0,
		"{\"house\":\"Total\",\"a\":null,\"b\":null,\"y\":1}\n": 0,
	} {
		if _, report, err := readAll(text); err != nil || report.Bad > 0 || report.Total != want {
			t.Errorf("%q: %+v, %v; want line %d", text, report, err, want)
		}
	}
}

// Texts, times, vectors and logarithms are the same records from CSV and from JSON, and what
// a prediction is asked for says how they were taken.
func TestRowsOfAllKinds(t *testing.T) {
	task := lineTask()
	task.Features = []learner.Feature{
		{Name: "note", Kind: "text", Buckets: 64}, {Name: "at", Kind: "time", UTCOffset: "+01:00"},
		{Name: "photo", Kind: "vector", Length: 3}, {Name: "price", Kind: "number", Min: 1, Max: 1000, Log: true},
	}
	if err := task.Validate(); err != nil {
		t.Fatal(err)
	}
	read := func(text string) (records []learner.Record, report api.ImportReport) {
		t.Helper()
		err := readRows(strings.NewReader(text), task, "", &report, func(a storage.Arrival) error {
			records = append(records, a.Record)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return records, report
	}
	want, _ := read("note,at,photo,price,y\n\"too cold, ÉTÉ 🙂\",2026-03-01T08:30:00Z,\"[1,-2,0.5]\",30,1\n")
	for name, text := range map[string]string{
		"columns": "photo_0;y;photo_1;note;photo_2;at;price\n1;1;-2;too cold, ÉTÉ 🙂;0,5;2026-03-01T09:30:00+01:00;30,0\n",
		"JSON":    `{"note":"too cold, E\u0301TE\u0301 🙂","at":1772353800,"photo":[1, -2, 5e-1],"price":30,"y":1}`,
		"in JSON": `{"note":"too cold, ÉTÉ 🙂","at":"2026-03-01 09:30","photo_1":1,"photo_2":-2,"photo_3":0.5,"price":"3e1","y":1}`,
	} {
		got, report := read(text)
		if len(got) != 1 || report.Bad > 0 || !reflect.DeepEqual(got[0].X, want[0].X) || got[0].Y != want[0].Y {
			t.Errorf("%s: %+v, want %+v; %+v", name, got, want, report.Lines)
		}
	}
	_, report := read("note,at,photo,price,y\nx,soon,,1,1\nx,,\"[1,2]\",1,1\nx,,\"[1,2,x]\",1,1\n")
	for i, says := range []string{`column "at": "soon" is no time`, `column "photo": the vector has 2 numbers, and the task wants 3`, `column "photo[2]": "x" is not a finite number`} {
		if !strings.Contains(report.Lines[i].Reason, says) || report.Lines[i].Line != i+2 {
			t.Errorf("line %+v, want %s", report.Lines[i], says)
		}
	}
	n := testNode(t, task, want, nil)
	p, err := n.Predict(t.Context(), map[string]string{"note": "...", "at": "", "photo": "[0,0,1]", "price": "1e9"})
	noted := []api.ColumnTally{{Column: "note", Unknown: 1}, {Column: "at", Empty: 1}, {Column: "price", Clamped: 1}}
	if err != nil || !reflect.DeepEqual(p.Cells, noted) {
		t.Errorf("noted %+v, %v, want %+v", p.Cells, err, noted)
	}
}

// A file with many bad lines gives a short report with the full count.
func TestReadRowsBoundsTheReport(t *testing.T) {
	_, report, err := readAll("a,b,y\n" + strings.Repeat("x,0,1\n", 1000))
	if err != nil || report.Bad != 1000 || len(report.Lines) != maxBadLines {
		t.Errorf("%d bad lines, %d spelled out, error %v", report.Bad, len(report.Lines), err)
	}
}

// Whatever is in the file, every record that comes out keeps the public bounds.
func FuzzReadRows(f *testing.F) {
	f.Add("a,b,y\n1,0,2\n")
	f.Add("\ufeffa,b,y\r\n\"1\",0,\n")
	f.Add("{\"a\":1,\"b\":[0],\"y\":\"2\"}\n")
	task := lineTask()
	f.Fuzz(func(t *testing.T, text string) {
		records, report, err := readAll(text)
		if err != nil {
			return
		}
		if len(report.Lines) > report.Bad {
			t.Fatal("more lines spelled out than counted")
		}
		for _, r := range records {
			if len(r.X) != task.Dimension() || r.X[2] != 1 || r.X[0]*r.X[0]+r.X[1]*r.X[1] > 1+1e-12 || !(r.Y >= -3 && r.Y <= 3) {
				t.Fatalf("record outside the public bounds: %+v", r)
			}
		}
	})
}

func TestImport(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	const bad = "a,b,y\n1,0,2\nx,0,2\n0,1,3\n"
	if _, err := n.Import(t.Context(), strings.NewReader(bad), api.ImportOptions{}); err != api.ErrBadLines {
		t.Errorf("error %v, want ErrBadLines", err)
	}
	if s := status(t, n); s.Records != 0 {
		t.Errorf("%d records of a bad file were stored", s.Records)
	}
	if r, err := n.Import(t.Context(), strings.NewReader(bad), api.ImportOptions{SkipBad: true}); err != nil || r.Records != 2 || r.Bad != 1 {
		t.Errorf("with bad lines left out: %+v, %v", r, err)
	}
	if s := status(t, n); s.Records != 2 {
		t.Errorf("%d records stored, want 2", s.Records)
	}
}

// The personal model predicts, offline too, and is compared on held-out
// records only.
func TestPredictOffline(t *testing.T) {
	records := lineRecords(rand.New(rand.NewPCG(1, 1)), 50)
	n := testNode(t, lineTask(), records, nil)
	p, err := n.Predict(t.Context(), map[string]string{"a": "0.5", "b": "0.5"})
	if err != nil || p.Value != p.Alone {
		t.Errorf("without neighbours: %+v, %v; want the lone model's answer", p, err)
	}
	for _, row := range []map[string]string{{"a": "1"}, {"a": "1", "b": "x"}, {"a": "1", "b": "1", "c": "1"}} {
		if _, err := n.Predict(t.Context(), row); err == nil {
			t.Errorf("row %v: no error", row)
		}
	}
	c := status(t, n).Personal
	if c == nil || c.HeldOut != 10 || c.Measure != "RMSE" || !(c.Alone > 0 && c.Alone < 1) {
		t.Errorf("comparison %+v, want an RMSE below 1 on 10 records", c)
	}
	held := 0
	for i := range records {
		if learner.Seq(i + 1).HeldOut() {
			held++
		}
	}
	if c != nil && held != c.HeldOut {
		t.Errorf("%d records held out, %d measured", held, c.HeldOut)
	}
}

// The column of a key may be missing, but not by a capital or a sign.
func TestMisspeltKey(t *testing.T) {
	task := lineTask()
	task.Features = append(task.Features, learner.Feature{Name: "thing", Kind: "key"})
	for header, fine := range map[string]bool{"a,b,y": true, "a,b,things,y": true, "thing,THING,a,b,y": true, "a,b,THING,y": false} {
		_, err := OpenRows(strings.NewReader(header+"\n"), task, task.Columns())
		if (err == nil) != fine || !fine && !strings.Contains(err.Error(), `no column "thing" (but "THING");`) {
			t.Errorf("%s: %v", header, err)
		}
	}
}

// Two texts in another encoding than UTF-8 would be one text in JSON: keys that differ would
// replace each other once they were exported.
func TestRowsAreInUTF8(t *testing.T) {
	task := lineTask()
	task.Features = append(task.Features, learner.Feature{Name: "town", Kind: "set", Values: []string{"K\u00f6ln"}})
	if err := task.Validate(); err != nil {
		t.Fatal(err)
	}
	var report api.ImportReport
	var ids []string
	text := "a,b,town,y,id,note\n1,0,K\xf6ln,2,1,\n1,0,K\u00f6ln,2,K\xf6ln,\n1,0,K\u00f6ln,2,K\u00f6ln,nobody reads \xf6\n"
	err := readRows(strings.NewReader(text), task, "id", &report, func(a storage.Arrival) error {
		ids = append(ids, a.ID)
		return nil
	})
	want := []api.BadLine{
		{Line: 2, Reason: `column "town" is not text in UTF-8; save the file in UTF-8`},
		{Line: 3, Reason: `column "id" is not text in UTF-8; save the file in UTF-8`},
	}
	if err != nil || !reflect.DeepEqual(report.Lines, want) || !reflect.DeepEqual(ids, []string{"K\u00f6ln"}) {
		t.Errorf("read %q, bad %v, %v", ids, report.Lines, err)
	}
}
