package testnet

import (
	"fmt"
	"strings"

	"p2pnode/learner"
)

// shownCounts is how many columns a note names.
const shownCounts = 12

// CellNote says of how many cells a text holds, and in which columns: "3 cells are
// empty (age 2, town 1)."; nothing if there are none.
func CellNote(columns []learner.ColumnTally, count func(learner.ColumnTally) int, text string) string {
	total, where := 0, []string{}
	for _, c := range columns {
		if k := count(c); k > 0 {
			total += k
			where = append(where, fmt.Sprintf("%s %d", c.Column, k))
		}
	}
	if total == 0 {
		return ""
	}
	if more := len(where) - shownCounts; more > 0 {
		where = append(where[:shownCounts], fmt.Sprintf("and %d columns more", more))
	}
	return fmt.Sprintf("%d cells %s (%s).", total, text, strings.Join(where, ", "))
}

// cellNotes say which cells of a file were not taken as they are.
func cellNotes(columns []learner.ColumnTally) []string {
	return []string{
		CellNote(columns, func(c learner.ColumnTally) int { return c.Clamped }, "lie outside the task's range of their column and count as its nearest end, in the test too"),
		CellNote(columns, func(c learner.ColumnTally) int { return c.Unknown }, "have a text that is none of the task's values and count as none of them"),
	}
}
