package draft

import (
	"regexp"
	"strings"
	"unicode"

	"p2pnode/learner"
)

// otherTime reports whether a cell is a date or time that people write and ISO 8601 does not allow:
// 1.3.2024, 03/01/24, 2024/3/1, 01-03-2024, 1-Mar-24, Mar 1, 2024, 8:30. A version as 1.0.2 has no year.
func otherTime(cell string) bool {
	const shortest = len("1-Mar-24")
	return inDigits.MatchString(cell) || len(cell) >= shortest && strings.ContainsAny(cell, "0123456789") && inWords.MatchString(cell)
}

var (
	inDigits = regexp.MustCompile(`^(` + dayOrMonth + `[./]` + dayOrMonth + `[./](\d{4}|\d{2})|` + dayOrMonth + `-` + dayOrMonth + `-\d{4}|\d{4}[./]` + dayOrMonth + `[./]` + dayOrMonth + `|\d{1,2}:\d{2}(:\d{2})?)(\s|$)`)
	inWords  = regexp.MustCompile(`(?i)^((mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?(` + dayOrMonth + `[ -]` + month + `[ -](\d{4}|\d{2})|` + month + ` ` + dayOrMonth + `,? \d{4})(\s|$)`)
)

const (
	dayOrMonth = `(0?[1-9]|[12]\d|3[01])`
	month      = `(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?`
)

// thousands takes out what may stand between thousands, but for points and commas.
var thousands = strings.NewReplacer("'", "", "\u2019", "", "\u00a0", "", "\u202f", "")

// almost says what a cell would be if it were written in another way, a time or a
// number; "" if neither.
func almost(cell string, comma rune) string {
	if otherTime(cell) {
		return Time
	}
	unit := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsSpace(r) || unicode.Is(unicode.Sc, r) || strings.ContainsRune("%°²³/", r)
	}
	bare := strings.TrimLeftFunc(strings.TrimRightFunc(unsigned(cell), unit), func(r rune) bool { return unicode.Is(unicode.Sc, r) || unicode.IsSpace(r) })
	if plain, grouped := learner.Ungrouped(bare); grouped {
		bare = plain
	}
	bare = thousands.Replace(bare)
	if comma == ',' {
		bare = strings.ReplaceAll(bare, ",", "")
	}
	if _, ok := number(bare, comma); ok {
		return Number
	}
	return ""
}

// unsigned is a number without a minus that is written in another way: as books print it, behind
// the number, or as the parentheses of accountants.
func unsigned(text string) string {
	if inside, open := strings.CutPrefix(text, "("); open && strings.HasSuffix(inside, ")") {
		return strings.TrimSuffix(inside, ")")
	}
	return strings.TrimSuffix(strings.TrimPrefix(text, "\u2212"), "-")
}

// otherwise says how the cells of a column should be written that are all almost of one
// kind.
func (c *Column) otherwise() string {
	switch others := c.full() - c.Numbers; {
	case others == 0:
	case c.almostTimes == others:
		return "these look like times: write them as 2024-03-01 or 2024-03-01 08:30, or a time of day as a number of hours, and they are learned from as such"
	case c.almostNumbers == others:
		return "these look like numbers with a unit, marks between thousands, a decimal comma or another minus sign: write plain numbers, as 1234.5, and they are learned from as such"
	}
	return ""
}
