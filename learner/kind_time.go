package learner

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// timeKind describes times. A time is looked at in each of Parts, on clocks that are UTCOffset
// ahead of UTC: as the share that has passed of the day, of the week from Monday on, or of the
// year. As "day", "week" or "year" it is a circle, two coordinates: the sine and the cosine of
// the share. So midnight is next to the minute before, and December next to January. As "hours"
// the day has eight knots, in the middles of eight equal spans, and each is a coordinate: 1 at the
// knot, and falling in a straight line to 0 at the knots beside it, the last of which is beside
// the first. Zones with summer time are not supported: their rules change, and a phone would
// need all of them.
func timeKind() featureKind {
	kind := featureKind{
		name:  "time",
		width: (*Feature).turnWidth,
		square: func(f *Feature) float64 {
			square := 0.
			for _, part := range f.parts() {
				square += part.square()
			}
			return square
		},
		names: func(f *Feature) []string {
			var names []string
			for _, part := range f.parts() {
				if part.knots == 0 {
					names = append(names, f.Name+"."+part.name+".sin", f.Name+"."+part.name+".cos")
				}
				for k := range part.knots {
					names = append(names, fmt.Sprintf("%s.%s[%d]", f.Name, part.name, k))
				}
			}
			return names
		},
		straight: (*Feature).circles,
		coded: func(f *Feature) CodedTable {
			seconds, _ := parseOffset(f.UTCOffset) // the task was checked
			var names []string
			for _, part := range f.parts() {
				names = append(names, part.name)
			}
			return CodedTable{"parts": names, "utc_offset": seconds}
		},
		made: constantly([]string{
			"2026-03-01T08:30:00+01:00", "2024-12-31 23:59:59.75", "1969-07-20", "2000-02-29T05:06", "1e9", "1700000000123", "2023-06-30 12:00:00Z", "-86400.5", "9999-12-31",
		}),
		text: func(_ *Feature, raw []float64) string {
			if math.IsNaN(raw[0]) {
				return ""
			}
			return strconv.FormatFloat(raw[0], 'f', -1, 64)
		},
		check: func(c *checker, key string, f *Feature) {
			names := make([]string, len(timeParts))
			for i, part := range timeParts {
				names[i] = part.name
			}
			c.check(f.Parts == nil || len(f.Parts) > 0, key+".parts", "must list some of %s; leave it out for the first three", strings.Join(names, ", "))
			for i, part := range f.Parts {
				c.oneOf(key+".parts", part, names...)
				c.check(!slices.Contains(f.Parts[:i], part), key+".parts", "must be unique, %q is there twice", part)
			}
			_, err := parseOffset(f.UTCOffset)
			c.check(err == nil, key+".utc_offset", "must say how far the clocks are ahead of UTC or behind, as \"+01:00\" or \"-03:30\", at most 14 hours; leave it out for UTC")
		},
	}.ofNumber((*Feature).parseNumber, (*Feature).encodeNumberOfTime)
	number := kind.cell
	kind.cell = func(f *Feature, x []float64, text string) ([]float64, Note, error) {
		if _, ok := ParseNumber(text); ok || Blank(text) {
			return number(f, x, text)
		}
		seconds, err := f.parseTime(text)
		if err != nil {
			return nil, Taken, err
		}
		return f.encodeTime(x, seconds, 1), Taken, nil
	}
	return kind
}

// timePart is one of the allowed Parts.
type timePart struct {
	name  string
	turn  string // what comes around: the name of its circle
	knots int    // where it bends; 0: it is the circle
}

var timeParts = []timePart{
	{"day", "day", 0}, {"week", "week", 0}, {"year", "year", 0}, {"hours", "day", 8},
}

// parts are those of the feature. A feature without Parts has the circles.
func (f *Feature) parts() []timePart {
	if len(f.Parts) == 0 {
		return timeParts[:3]
	}
	var parts []timePart
	for _, name := range f.Parts {
		if i := slices.IndexFunc(timeParts, func(p timePart) bool { return p.name == name }); i >= 0 {
			parts = append(parts, timeParts[i])
		}
	}
	return parts
}

// turnWidth is how many coordinates the parts have.
func (f *Feature) turnWidth() (width int) {
	for _, part := range f.parts() {
		width += part.width()
	}
	return width
}

func (p timePart) width() int {
	if p.knots == 0 {
		return 2
	}
	return p.knots
}

func (p timePart) square() float64 {
	if p.knots == 0 {
		return 1
	}
	return 2. / 3 // as of a number with bends
}

// put appends the coordinates of a share of the turn.
func (p timePart) put(x []float64, share float64) []float64 {
	if p.knots == 0 {
		sin, cos := math.Sincos(2 * math.Pi * share)
		return append(x, sin, cos)
	}
	at := share*float64(p.knots) - 0.5 // in knots after the first
	below := math.Floor(at)
	from := len(x)
	x = unknown(x, p.knots)
	x[from+(int(below)+p.knots)%p.knots] = 1 - (at - below)
	x[from+(int(below)+1)%p.knots] = at - below
	return x
}

// circles is the feature with circles where it has knots; what they are at the knots are the
// weights, see [straightFeature].
func (f *Feature) circles() (straight Feature, weights [][]float64, level []float64) {
	straight = *f
	parts := f.parts()
	if !slices.ContainsFunc(parts, func(p timePart) bool { return p.knots > 0 }) {
		return straight, nil, nil
	}
	straight.Parts = nil
	level = make([]float64, f.turnWidth())
	from := 0
	for _, part := range parts {
		straight.Parts = append(straight.Parts, part.turn)
		sin, cos := make([]float64, len(level)), make([]float64, len(level))
		for k := range part.knots {
			sin[from+k], cos[from+k] = math.Sincos(2 * math.Pi * (float64(k) + 0.5) / float64(part.knots))
			level[from+k] = 1
		}
		if part.knots == 0 {
			sin[from], cos[from+1] = 1, 1
		}
		weights = append(weights, sin, cos)
		from += part.width()
	}
	return straight, weights, level
}

// parseOffset returns by how many seconds clocks are ahead of UTC; "" is UTC itself.
func parseOffset(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	at, err := time.Parse("-07:00", text)
	if err != nil {
		return 0, err
	}
	_, seconds := at.Zone()
	const most = 14 * 60 * 60
	if seconds < -most || seconds > most {
		return 0, fmt.Errorf("%s is further from UTC than any clock", text)
	}
	return seconds, nil
}

// clock is the zone of the feature.
func (f *Feature) clock() *time.Location {
	seconds, _ := parseOffset(f.UTCOffset) // the task was checked
	return time.FixedZone(f.UTCOffset, seconds)
}

// timeLayouts are the forms in which a cell may write a time, all with a year of four digits
// at the beginning. RFC 3339 has its own offset from UTC; the others are read on a clock.
var timeLayouts = [...]string{
	time.RFC3339, "2006-01-02 15:04:05Z07:00",
	"2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
}

// ParseTime reads a time that is written out, as a task reads it on that clock.
func ParseTime(text string, clock *time.Location) (at time.Time, ok bool) {
	if len(text) < len(time.DateOnly) || text[4] != '-' {
		return time.Time{}, false
	}
	for _, layout := range timeLayouts {
		if at, err := time.ParseInLocation(layout, text, clock); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// parseTime reads a cell that writes out a time, as seconds since 1970 began in UTC.
func (f *Feature) parseTime(text string) (float64, error) {
	at, ok := ParseTime(text, f.clock())
	if !ok {
		return 0, badText(f.Name, text, "is no time; write it as %q, %q or %q, or as seconds or milliseconds since 1970", "2026-03-01T08:30:00+01:00", "2026-03-01 08:30", "2026-03-01")
	}
	return float64(at.Unix()) + float64(at.Nanosecond())/1e9, nil
}

// milliseconds is the number from which a time is read as milliseconds: as seconds it
// is in the year 5138, as milliseconds in 1973. A time that is written out may be later.
const milliseconds = 1e11

// encodeNumberOfTime appends the coordinates of a number that counts the seconds, or
// milliseconds, since 1970 began in UTC.
func (f *Feature) encodeNumberOfTime(x []float64, v float64) ([]float64, Note, error) {
	switch count := math.Abs(v); {
	case count >= 1000*milliseconds:
		return nil, Taken, badNumber(f.Name, v, "is no time: it is further from 1970 than seconds or milliseconds count here")
	case count >= milliseconds:
		return f.encodeTime(x, v, 1000), Taken, nil
	}
	return f.encodeTime(x, v, 1), Taken, nil
}

// encodeTime appends the coordinates of the time v since 1970 began in UTC; a second is so
// many units of v.
func (f *Feature) encodeTime(x []float64, v, second float64) []float64 {
	whole := math.Floor(v / second)
	fraction := (v - whole*second) / second
	at := time.Unix(int64(whole), 0).In(f.clock())
	for _, part := range f.parts() {
		x = part.put(x, passed(at, fraction, part.turn))
	}
	return x
}

// passed is the share of the day, week or year that has passed at a time plus a
// fraction of a second.
func passed(at time.Time, fraction float64, turn string) float64 {
	const day = 24 * 60 * 60
	hour, minute, second := at.Clock()
	share := (float64((hour*60+minute)*60+second) + fraction) / day
	switch turn {
	case "week":
		return (float64((at.Weekday()+6)%7) + share) / 7
	case "year":
		last := time.Date(at.Year(), time.December, 31, 0, 0, 0, 0, time.UTC)
		return (float64(at.YearDay()-1) + share) / float64(last.YearDay())
	}
	return share
}
