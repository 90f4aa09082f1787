package page

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
)

// element is a part of a page, as a browser sees it.
type element struct {
	name     string
	attr     map[string]string
	text     string // of itself and all below
	children []*element
}

// parse reads a page, which is written so that it is XML too.
func parse(t *testing.T, text []byte) *element {
	t.Helper()
	root := &element{name: "page"}
	open := []*element{root}
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return root
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attr: make(map[string]string)}
			for _, a := range token.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			top := open[len(open)-1]
			top.children = append(top.children, e)
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, e := range open {
				e.text += string(token)
			}
		}
	}
}

// all are the elements of a name below e.
func (e *element) all(name string) (found []*element) {
	for _, c := range e.children {
		if c.name == name || name == "*" {
			found = append(found, c)
		}
		found = append(found, c.all(name)...)
	}
	return found
}

const nasty = "</title><script>alert(1)</script>\xff\x01 & \"quoted\""

func written(t *testing.T, p *Page) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sample() *Page {
	return &Page{
		Title: nasty, Lead: []string{nasty}, Up: "index.html",
		Facts: []Fact{{Name: nasty, Value: nasty}, {Name: "Command", Value: "testnet paper x", Code: true}},
		Sections: []Section{
			{Title: nasty, Text: []string{nasty}, Charts: []Chart{everything(), {Title: nasty, Alt: nasty, Note: nasty, X: Axis{Label: nasty}, Y: Axis{Names: []string{nasty}}}}},
			{Title: "Two", Tables: []Table{{Caption: nasty, Head: []string{"setting", "n", "text"}, Rows: []Line{
				{Cells: []string{nasty, "1.5", "a"}, Struck: true},
				{Cells: []string{"b", "-2", nasty}, Link: "b.html"},
				{Cells: []string{"c", "", "3"}, Link: "javascript:alert(1)"},
			}}}},
			{Title: "Three"},
		},
	}
}

// everything is a chart with a series of each style.
func everything() Chart {
	c := Chart{Title: "All", Alt: "Each style once.", X: Axis{Label: "x (s)"}, Y: Axis{Label: "y (m)", Log: true}}
	for s := Ours; s <= Variant; s++ {
		c.Series = append(c.Series, Series{
			Name: fmt.Sprint("style ", int(s), " ", nasty), Style: s, X: []float64{1, 2, 3}, Y: []float64{1, math.NaN(), 1000},
			Low: []float64{-1, 0, 900}, High: []float64{2, 3, 2000},
		})
	}
	return c
}

// A page can be read by a browser, by a screen reader and with the keyboard, and
// what a name holds does not become a part of the page.
func TestPageStructure(t *testing.T) {
	root := parse(t, written(t, sample()))
	ids := make(map[string]bool)
	for _, e := range root.all("*") {
		if id, ok := e.attr["id"]; ok {
			if ids[id] {
				t.Errorf("two elements with id %s", id)
			}
			ids[id] = true
		}
	}
	for _, e := range root.all("*") {
		for _, id := range strings.Fields(e.attr["aria-labelledby"]) {
			if !ids[id] {
				t.Errorf("%s is labelled by %s, which is not there", e.name, id)
			}
		}
		if id, ok := strings.CutPrefix(e.attr["href"], "#"); ok && !ids[id] && id != "ZgotmplZ" { // what html/template makes of a link that runs
			t.Errorf("a link leads to #%s, which is not there", id)
		}
	}
	for name, want := range map[string]int{"h1": 1, "h2": 4, "main": 1, "figure": 2, "svg": 2, "nav": 1, "table": 1, "caption": 1, "script": 0, "s": 1} {
		if got := len(root.all(name)); got != want {
			t.Errorf("%d elements %s, want %d", got, name, want)
		}
	}
	for _, svg := range root.all("svg") {
		if svg.attr["role"] != "img" || len(svg.all("title")) != 1 || svg.all("title")[0].text == "" || len(svg.all("desc")) != 1 {
			t.Errorf("a figure has no title or no description: %v", svg.attr)
		}
	}
	for _, th := range root.all("th") {
		if th.attr["scope"] == "" {
			t.Errorf("the head cell %q has no scope", th.text)
		}
	}
	for _, box := range root.all("div") {
		if box.attr["class"] == "scroll" && (box.attr["tabindex"] != "0" || box.attr["role"] != "region") {
			t.Error("the keyboard cannot scroll a table")
		}
	}
}

// A page loads nothing and runs nothing.
func TestPageNeedsNothingElse(t *testing.T) {
	text := written(t, sample())
	for _, bad := range []string{"http", "url(", "<script", "src=", "@import", "<link", "xlink", "\xff", "\x01"} {
		if bytes.Contains(text, []byte(bad)) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, a := range parse(t, text).all("a") {
		if strings.HasPrefix(a.attr["href"], "javascript:") {
			t.Errorf("a link runs %q", a.attr["href"])
		}
	}
}

// Every colour that is drawn in a page is one that knows light and dark.
func TestChartsInPagesFollowTheMode(t *testing.T) {
	c := everything()
	svg, err := c.inline("x")
	if err != nil {
		t.Fatal(err)
	}
	if left := drawn.FindString(svg); left != "" {
		t.Errorf("%s is the same in light and dark", left)
	}
	for _, name := range []string{"var(--ink)", "var(--quiet)", "var(--rule)", "var(--blue)", "var(--grey)"} {
		if !strings.Contains(svg, name) {
			t.Errorf("nothing is drawn in %s", name)
		}
	}
}

// Text has a contrast of 4.5:1 with the paper and lines and marks of 3:1, in light
// and in dark, as WCAG 2 asks (1.4.3, 1.4.11). Rules and shades only separate.
func TestContrast(t *testing.T) {
	all := roles()
	for _, r := range all[1:] {
		want := 3.0
		switch r.name {
		case "ink", "quiet", "link", "bad":
			want = 4.5
		case "rule", "shade":
			want = 1.2
		}
		for mode, c := range map[string]float64{"light": contrast(r.light, all[0].light), "dark": contrast(r.dark, all[0].dark)} {
			if c < want {
				t.Errorf("%s has a contrast of %.2f in %s mode, want %.1f", r.name, c, mode, want)
			}
		}
	}
}

// contrast is the ratio that WCAG 2 defines.
func contrast(a, b uint32) float64 {
	luminance := func(v uint32) (sum float64) {
		for shift, weight := range map[int]float64{16: 0.2126, 8: 0.7152, 0: 0.0722} {
			c := float64(v>>shift&0xff) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	low, high := luminance(a), luminance(b)
	return (max(low, high) + 0.05) / (min(low, high) + 0.05)
}

// The style names every colour that it uses.
func TestStyleUsesKnownColours(t *testing.T) {
	style := variables() + styleText
	for rest := style; ; {
		_, after, more := strings.Cut(rest, "var(--")
		if !more {
			break
		}
		name, _, _ := strings.Cut(after, ")")
		if strings.Count(style, "--"+name+":") != 2 {
			t.Errorf("colour %s is not given for light and dark", name)
		}
		rest = after
	}
}

func TestColumnsBySort(t *testing.T) {
	table := Table{Head: []string{"a", "b", "c", "d", "e"}, Rows: []Line{
		{Cells: []string{"1", "+0.5%", "yes", "-", ""}},
		{Cells: []string{"2", "-.3", "1", ".5 to 2", "8 words of text, and so more than forty characters"}},
		{Cells: []string{"3", "", "2", "−1", "7"}},
	}}
	if got := fmt.Sprintf("%q", table.kinds()); got != `["" "n" "" "n" "w"]` {
		t.Errorf("columns are %s", got)
	}
}

// A heading stands once over the lines of its group, and not over others.
func TestGroupsOfLines(t *testing.T) {
	p := &Page{Title: "T", Result: "It works.", Sections: []Section{{Title: "S", Tables: []Table{{Head: []string{"a", "b"}, Rows: []Line{
		{Group: "one", Cells: []string{"x", "1"}}, {Group: "one", Cells: []string{"y", "2"}, Struck: true},
		{Cells: []string{"z", "3"}}, {Group: nasty, Cells: []string{"x", "4"}},
	}}}}}}
	var got []string
	for _, tr := range parse(t, written(t, p)).all("tr")[1:] {
		got = append(got, tr.attr["class"])
	}
	if want := "group,member,member struck,,group,member"; strings.Join(got, ",") != want {
		t.Errorf("rows of classes %q, want %s", got, want)
	}
}

// A long table is folded under its name and the number of its rows; a short one is not.
func TestLongTablesAreFolded(t *testing.T) {
	short := Table{Caption: "Short", Head: []string{"a"}, Rows: make([]Line, longTable-1)}
	long := Table{Caption: "Long", Head: []string{"a"}, Rows: make([]Line, longTable)}
	root := parse(t, written(t, &Page{Title: "T", Sections: []Section{{Title: "S", Tables: []Table{short, long}}}}))
	folded := root.all("details")
	if len(folded) != 1 {
		t.Fatalf("%d tables are folded, want 1", len(folded))
	}
	summary, table := folded[0].all("summary"), folded[0].all("table")
	if len(summary) != 1 || len(table) != 1 || summary[0].text != "Long (20 rows)" || table[0].attr["aria-labelledby"] != summary[0].attr["id"] {
		t.Error("the folded table is not the long one, or its name does not say how long it is")
	}
}
