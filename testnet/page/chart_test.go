package page

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// file is the chart as a file, which must be well-formed.
func file(t *testing.T, c Chart) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	parse(t, b.Bytes())
	if text := b.String(); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Errorf("%s has coordinates that are no numbers", c.Title)
	}
	if strings.Contains(b.String(), "font-family:Liberation Sans;") {
		t.Error("the plot names a font few machines have, and no other")
	}
	return b.String()
}

func TestChartSaysWhatItShows(t *testing.T) {
	text := file(t, everything())
	for _, want := range []string{"All", "x (s)", "y (m)", "style 0", "style 6"} {
		if !strings.Contains(text, want) {
			t.Errorf("the chart does not say %q", want)
		}
	}
}

// Text keeps the width that it was laid out with, whatever font the reader has, and the
// label of the vertical axis stays beside the data.
func TestTextKeepsItsPlace(t *testing.T) {
	c := everything()
	c.Y.Label = strings.Repeat("label ", 20)
	for _, piece := range parse(t, []byte(file(t, c))).all("text") {
		width, err := strconv.ParseFloat(piece.attr["textLength"], 64)
		if err != nil || piece.attr["lengthAdjust"] != "spacingAndGlyphs" {
			t.Fatalf("%q may become wider than its place", piece.text)
		}
		if strings.HasPrefix(piece.text, "label") && width > float64(chartHeight)-30 {
			t.Errorf("a line of the label is %v long and meets the legend", width)
		}
	}
}

func TestChartsOfLittle(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	point := func(x, y float64) []Series { return []Series{{X: []float64{x}, Y: []float64{y}}} }
	for i, c := range []Chart{
		{},
		{Series: []Series{{}, {Style: Level}, {Style: Invalid, Name: "nobody"}}},
		{Series: point(nan, 1)}, {Series: point(1, inf)}, {Series: point(-inf, -inf)},
		{Series: point(0, 0)}, {Series: point(5, -3)}, {Series: point(1e300, 1e-300)},
		{Series: point(1, 0), Y: Axis{Log: true}},
		{Series: point(1, 7), X: Axis{Log: true}, Y: Axis{Log: true}},
		{Series: []Series{{X: []float64{1, 2}, Y: []float64{1e-12, 1e12}}}, Y: Axis{Log: true}},
		{Series: []Series{{X: []float64{0, 1}, Y: []float64{3, 4}, Low: []float64{0, -1}, High: []float64{nan, inf}}}, Y: Axis{Log: true}},
		{Series: point(0, 1), X: Axis{Names: []string{"one", strings.Repeat("a very long name ", 9)}}},
		{Series: point(1, 0), Y: Axis{Names: []string{"one"}}},
		{Series: []Series{{Style: Level, X: []float64{3}}}, Y: Axis{Names: []string{"one"}}},
		{Series: point(5, 5), X: Axis{Min: 0, Max: 1}, Y: Axis{Min: -1, Max: 1}},
	} {
		c.Title = fmt.Sprint("chart ", i)
		file(t, c)
		if _, err := c.inline("x"); err != nil {
			t.Error(err)
		}
	}
}

// Property: the entries of a legend stand inside the chart and do not overlap.
func TestLegendsDoNotOverlap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var c Chart
		for range 1 + r.IntN(12) {
			name := strings.Repeat("wort ", 1+r.IntN(25))
			c.Series = append(c.Series, Series{Name: name, Style: Style(r.IntN(7))})
		}
		l := newLegend(resolve(&c))
		var boxes [][4]vg.Length
		for _, e := range l.entries {
			w := e.sample() + gap/2 + l.style.Width(e.name)
			h := l.lineHeight() * vg.Length(1+strings.Count(e.name, "\n"))
			if e.x+w > chartWidth-3*margin+1e-6 || e.y+h > l.height {
				t.Fatalf("%q does not fit", e.name)
			}
			for _, b := range boxes {
				if e.x < b[2] && b[0] < e.x+w && e.y < b[3] && b[1] < e.y+h {
					t.Fatalf("%q lies over another entry", e.name)
				}
			}
			boxes = append(boxes, [4]vg.Length{e.x, e.y, e.x + w, e.y + h})
		}
	}
}

// Property: the labels along a horizontal axis have room, there are at least two of
// them, and each reads as another value.
func TestLabelsStandApart(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		d := Axis{Log: r.IntN(2) == 0}
		low := math.Pow(10, 14*r.Float64()-7)
		c := Chart{X: d, Series: []Series{{X: []float64{low, low * (1 + math.Pow(10, 8*r.Float64()-2))}, Y: []float64{0, 1}}}}
		f := newFigure(&c)
		var needed vg.Length
		labels := make(map[string]bool)
		for _, tick := range f.X.Tick.Marker.Ticks(f.X.Min, f.X.Max) {
			if !tick.IsMinor() {
				needed += f.X.Tick.Label.Width(tick.Label)
				if labels[tick.Label] {
					t.Fatalf("%s twice on %v", tick.Label, c.Series[0].X)
				}
				labels[tick.Label] = true
			}
		}
		if needed > chartWidth-60 || len(labels) < 2 {
			t.Fatalf("%d labels of %v points on %v", len(labels), needed, c.Series[0].X)
		}
	}
}

// Property: ticks are in range, evenly spaced, at most as many as wanted and at least
// two.
func TestEvenTicks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		low := r.NormFloat64() * math.Pow(10, float64(r.IntN(7)-3))
		high := low + math.Pow(10, 6*r.Float64()-3)
		most := 3 + r.IntN(8)
		ticks := evenTicks{most}.Ticks(low, high)
		if len(ticks) > most || len(ticks) < 2 {
			t.Fatalf("%d ticks on [%v, %v], at most %d", len(ticks), low, high, most)
		}
		for i, tick := range ticks {
			if tick.Value < low-1e-9 || tick.Value > high+1e-9 {
				t.Fatalf("tick %v outside [%v, %v]", tick.Value, low, high)
			}
			if i > 1 && math.Abs(tick.Value-2*ticks[i-1].Value+ticks[i-2].Value) > 1e-9*math.Abs(high-low)+1e-12 {
				t.Fatalf("uneven ticks %v", ticks)
			}
		}
	}
	for _, c := range [][2]float64{{1, 1}, {2, 1}, {math.Inf(-1), 1}, {math.NaN(), 1}} {
		if ticks := (evenTicks{9}).Ticks(c[0], c[1]); ticks != nil {
			t.Errorf("ticks %v on %v", ticks, c)
		}
	}
}

func TestTickLabels(t *testing.T) {
	for _, c := range []struct {
		ticker    plot.Ticker
		low, high float64
		want      string
	}{
		{evenTicks{9}, 0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{evenTicks{9}, -30, 12000, "0 2000 4000 6000 8000 10,000 12,000"},
		{evenTicks{5}, -0.25, 0.25, "-0.2 -0.1 0.0 0.1 0.2"},
		{evenTicks{9}, 0, 4e9, "0 0.5·10⁹ 1.0·10⁹ 1.5·10⁹ 2.0·10⁹ 2.5·10⁹ 3.0·10⁹ 3.5·10⁹ 4.0·10⁹"},
		{evenTicks{9}, 0, 4e-5, "0 0.5·10⁻⁵ 1.0·10⁻⁵ 1.5·10⁻⁵ 2.0·10⁻⁵ 2.5·10⁻⁵ 3.0·10⁻⁵ 3.5·10⁻⁵ 4.0·10⁻⁵"},
		{logTicks{9}, 8, 1100, "10 20 50 100 200 500 1000"},
		{logTicks{9}, 1e-7, 1, "10⁻⁷ 10⁻⁶ 10⁻⁵ 10⁻⁴ 0.001 0.01 0.1 1"},
		{logTicks{5}, 1e-12, 1e4, "10⁻¹² 10⁻⁸ 10⁻⁴ 1 10,000"},
		{logTicks{9}, 2, 3, "2.0 2.2 2.4 2.6 2.8 3.0"},
	} {
		var labels []string
		for _, tick := range c.ticker.Ticks(c.low, c.high) {
			if !tick.IsMinor() {
				labels = append(labels, tick.Label)
			}
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%v on [%g, %g]: %s, want %s", c.ticker, c.low, c.high, got, c.want)
		}
	}
}

// Series of one chart look different, beyond their colour too.
func TestSeriesDiffer(t *testing.T) {
	var lines, mixed Chart
	for k := range 12 {
		lines.Series = append(lines.Series, Series{Style: Ours})
		if k < int(Sky) { // as many as there are colours
			mixed.Series = append(mixed.Series, Series{Style: Style(k % 3)})
		}
	}
	for _, c := range []*Chart{&lines, &mixed} {
		seen := make(map[string]bool)
		for _, l := range resolve(c) {
			look := fmt.Sprintf("%v %T%v %v", l.stroke, l.mark.Shape, l.mark.Shape, l.mark.Color)
			if seen[look] {
				t.Errorf("two series with %s", look)
			}
			seen[look] = true
		}
	}
	two := resolve(&Chart{Series: []Series{{Colour: Red}, {Colour: Red, Style: Invalid}}})
	if two[0].mark.Color != two[1].mark.Color || fmt.Sprint(two[0].stroke.Dashes) == fmt.Sprint(two[1].stroke.Dashes) {
		t.Error("two series of one colour do not share it, or do not differ otherwise")
	}
}

// Points that belong to several lines have the lines' colours and one entry in the legend.
func TestPublishedOfSeveral(t *testing.T) {
	lines := resolve(&Chart{Series: []Series{
		{Name: "a"}, {Name: "b"}, {Name: "a, published", Style: Published}, {Name: "b, published", Style: Published}, {Name: "else", Style: Published},
	}})
	var names []string
	for _, e := range newLegend(lines).entries {
		names = append(names, e.name)
	}
	if got := strings.Join(names, ", "); got != "a, b, published, else" {
		t.Errorf("the legend has %s", got)
	}
	for k := range 2 {
		if lines[k].mark.Color != lines[k+2].mark.Color || lines[k].mark.Color == light(int(Ink)) {
			t.Errorf("the points of %s have not its colour", lines[k].Name)
		}
	}
	if lines[2].mark.Shape != lines[3].mark.Shape {
		t.Error("points of one entry differ in shape")
	}
}

// What continues the name of another series has its colour, unless it would look like
// a third one then.
func TestKinHaveOneColour(t *testing.T) {
	lines := resolve(&Chart{Series: []Series{
		{Name: "alone"}, {Name: "together"},
		{Name: "together, published", Style: Published}, {Name: "alone, published", Style: Published},
		{Name: "alone, elsewhere", Style: Published}, {Name: "alone, tuned"}, {Name: "altogether, x", Style: Invalid},
	}})
	same := func(i, k int) bool { return lines[i].mark.Color == lines[k].mark.Color }
	if !same(1, 2) || !same(0, 3) {
		t.Error("a published number has not the colour of what repeats it")
	}
	if same(0, 4) || same(0, 5) || same(0, 6) || same(1, 6) {
		t.Error("two series look the same, or two that are no kin have one colour")
	}
}
