package learner

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// timeKind describes times. A time is a circle, two coordinates, for each of Parts: the
// sine and the cosine of the share that has passed of the day, of the week from Monday
// on, or of the year, on clocks that are UTCOffset ahead of UTC. So midnight is next to
// the minute before, and December next to January. Zones with summer time are not
// supported: their rules change, and a phone would need all of them.
func timeKind() featureKind {
	return featureKind{
		name:   "time",
		width:  func(f *Feature) int { return 2 * len(f.parts()) },
		square: func(f *Feature) float64 { return float64(len(f.parts())) },
		names: func(f *Feature) []string {
			var names []string
			for _, part := range f.parts() {
				names = append(names, f.Name+"."+part+".sin", f.Name+"."+part+".cos")
			}
			return names
		},
		coded: func(f *Feature) CodedTable {
			seconds, _ := parseOffset(f.UTCOffset) // the task was checked
			return CodedTable{"parts": f.parts(), "utc_offset": seconds}
		},
		made: constantly([]string{
			"2026-03-01T08:30:00+01:00", "2024-12-31 23:59:59.75", "1969-07-20", "2000-02-29T05:06", "1e9", "1700000000123", "2023-06-30 12:00:00Z", "-86400.5",
		}),
		text: func(_ *Feature, raw []float64) string {
			if math.IsNaN(raw[0]) {
				return ""
			}
			return strconv.FormatFloat(raw[0], 'f', -1, 64)
		},
		check: func(c *checker, key string, f *Feature) {
			c.check(f.Parts == nil || len(f.Parts) > 0, key+".parts", "must list some of %s; leave it out for all", strings.Join(timeParts, ", "))
			for i, part := range f.Parts {
				c.oneOf(key+".parts", part, timeParts...)
				c.check(!slices.Contains(f.Parts[:i], part), key+".parts", "must be unique, %q is there twice", part)
			}
			_, err := parseOffset(f.UTCOffset)
			c.check(err == nil, key+".utc_offset", "must say how far the clocks are ahead of UTC or behind, as \"+01:00\" or \"-03:30\", at most 14 hours; leave it out for UTC")
		},
	}.ofNumber((*Feature).parseTime, (*Feature).encodeTime)
}

// timeParts are the allowed Parts. A feature without Parts has all of them.
var timeParts = []string{"day", "week", "year"}

func (f *Feature) parts() []string {
	if len(f.Parts) == 0 {
		return timeParts
	}
	return f.Parts
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

// timeLayouts are the forms in which a cell may write a time. RFC 3339 has its own
// offset from UTC; the others are read on the feature's clock.
var timeLayouts = []string{
	time.RFC3339, "2006-01-02 15:04:05Z07:00",
	"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
}

// parseTime reads a cell as seconds since 1970 began in UTC. A cell may also hold a
// number; see encodeTime.
func (f *Feature) parseTime(text string) (float64, error) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, badText(f.Name, text, "is no time")
		}
		return v, nil
	}
	clock := f.clock()
	for _, layout := range timeLayouts {
		if at, err := time.ParseInLocation(layout, text, clock); err == nil {
			return float64(at.Unix()) + float64(at.Nanosecond())/1e9, nil
		}
	}
	return 0, badText(f.Name, text, "is no time; write it as %q, %q or %q, or as seconds or milliseconds since 1970", "2026-03-01T08:30:00+01:00", "2026-03-01 08:30", "2026-03-01")
}

// milliseconds is the number from which a time is read as milliseconds: as seconds it
// is in the year 5138, as milliseconds in 1973.
const milliseconds = 1e11

// encodeTime appends the coordinates of a time in seconds, or milliseconds, since 1970
// began in UTC.
func (f *Feature) encodeTime(x []float64, v float64) ([]float64, Note, error) {
	second := 1.
	switch count := math.Abs(v); {
	case count >= 1000*milliseconds:
		return nil, Taken, badNumber(f.Name, v, "is no time: it is further from 1970 than seconds or milliseconds count here")
	case count >= milliseconds:
		second = 1000
	}
	whole := math.Floor(v / second)
	fraction := (v - whole*second) / second
	at := time.Unix(int64(whole), 0).In(f.clock())
	for _, part := range f.parts() {
		sin, cos := math.Sincos(2 * math.Pi * passed(at, fraction, part))
		x = append(x, sin, cos)
	}
	return x, Taken, nil
}

// passed is the share of the day, week or year that has passed at a time plus a
// fraction of a second.
func passed(at time.Time, fraction float64, part string) float64 {
	const day = 24 * 60 * 60
	hour, minute, second := at.Clock()
	share := (float64((hour*60+minute)*60+second) + fraction) / day
	switch part {
	case "week":
		return (float64((at.Weekday()+6)%7) + share) / 7
	case "year":
		last := time.Date(at.Year(), time.December, 31, 0, 0, 0, 0, time.UTC)
		return (float64(at.YearDay()-1) + share) / float64(last.YearDay())
	}
	return share
}
