package csvfile

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

const (
	maxLacking = 5  // missing columns that an error names
	maxWanted  = 20 // wanted columns that an error names
	maxName    = 64 // signs of a name that is compared with others
)

// Lacking returns the error of a header in which some of the columns are missing that
// somebody wants: what the file may call them, and what to do. Of the names in the header
// it tells only those that are spelled nearly like a missing one: a file without a header
// begins with a record.
func Lacking(header, missing []string, somebody string, wanted []string) error {
	var free []string
	for _, name := range header {
		if !slices.Contains(wanted, name) {
			free = append(free, name)
		}
	}
	if len(free) == len(header) { // not one is there
		if sign := separated(header, missing); sign != "" {
			return fmt.Errorf("the header has %q between its names; separate them, and the cells below, by commas, semicolons or tabs", sign)
		}
		if slices.ContainsFunc(header, startsNumber) && !slices.ContainsFunc(missing, func(m string) bool { return Near(m, free) != "" }) {
			return errors.New("the first line seems to have values already; write a line above it that names the columns: " + Enumerate(wanted, ","))
		}
	}
	known, parts := false, make([]string, 0, maxLacking)
	for _, name := range missing[:min(len(missing), maxLacking)] {
		part := fmt.Sprintf("%q", name)
		if near := Near(name, free); near != "" {
			known = true
			part += fmt.Sprintf(" (but %q)", near)
		}
		parts = append(parts, part)
	}
	if more := len(missing) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	advice := "name them so in the first line"
	if known {
		advice = "rename those of the file in its first line"
	}
	return fmt.Errorf("the header has no column %s; %s wants the columns %s, in any order: %s", strings.Join(parts, ", "), somebody, Enumerate(wanted, ","), advice)
}

// Enumerate joins names as a header spells them, and leaves out what would be too many to read.
func Enumerate(names []string, sign string) string {
	if len(names) <= maxWanted {
		return joined(names, sign)
	}
	return fmt.Sprintf("%s and %d more", joined(names[:maxWanted], sign), len(names)-maxWanted)
}

// Header is the first line of a file with these columns and commas between its cells.
func Header(columns []string) string { return joined(columns, ",") }

// joined has quotation marks around a name that has the comma in it: without them a reader
// sees two names.
func joined(names []string, sign string) string {
	var cell strings.Builder
	w, cells := csv.NewWriter(&cell), make([]string, len(names))
	for i, name := range names {
		cell.Reset()
		_ = w.Write([]string{name}) // a strings.Builder does not fail
		w.Flush()
		cells[i] = strings.TrimSuffix(cell.String(), "\n")
	}
	return strings.Join(cells, sign)
}

// separated returns the sign that a header has in place of a comma, if it is one name that
// falls into missing ones at that sign; else "".
func separated(header, missing []string) string {
	if len(header) != 1 {
		return ""
	}
	for _, sign := range []string{"|", ":", "/", " "} {
		for name := range strings.SplitSeq(header[0], sign) {
			if name = strings.TrimSpace(name); name != header[0] && slices.Contains(missing, name) {
				return sign
			}
		}
	}
	return ""
}

// startsNumber reports whether a name begins as a number or a time does.
func startsNumber(name string) bool {
	name = strings.TrimLeft(name, "+-.[\"")
	return name != "" && name[0] >= '0' && name[0] <= '9'
}

// Meant asks whether a name should have been one of some others, behind a message that ends
// with it; "" if none is [Near].
func Meant(name string, names []string) string {
	if near := Near(name, names); near != "" {
		return fmt.Sprintf("; do you mean %q?", near)
	}
	return ""
}

// Near returns the one of some names that is spelled most like a name, and "" if none
// nearly is. Capitals, spaces and signs do not matter.
func Near(name string, names []string) (near string) {
	least, sought := 1<<10, folded(name)
	for _, other := range names {
		if d := apart(sought, folded(other)); d < least {
			near, least = other, d
		}
	}
	return near
}

// Same reports whether two names differ in capitals, spaces and signs at most.
func Same(a, b string) bool { return slices.Equal(folded(a), folded(b)) }

// folded is what matters of a name: its letters and digits.
func folded(name string) (letters []rune) {
	for _, c := range strings.ToLower(name) {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			letters = append(letters, c)
		}
	}
	return letters[:min(len(letters), maxName)]
}

// apart is how many letters must be changed, added or taken away to make one word of the
// other, or two neighbours swapped; 1 if a word holds the other. Words that have little in
// common are very far apart.
func apart(a, b []rune) int {
	const far = 1 << 20
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 {
		return far
	}
	if slices.Equal(a, b) {
		return 0
	}
	if len(a) > 2 && strings.Contains(string(b), string(a)) {
		return 1
	}
	var before, last []int // rows of the table of distances of beginnings
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			changed := last[j]
			if a[i] != b[j] {
				changed++
			}
			row[j+1] = min(changed, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	if d := row[len(b)]; d <= len(a)/3 {
		return d
	}
	return far
}
