package testnet

import (
	"fmt"
	"strings"

	"p2pnode/learner"
)

// shownCounts is how many columns a note names.
const shownCounts = 12

// CellNote says how many cells a text is about, and in which columns: "3 cells are
// empty (age 2, town 1)."; "" if there are none. The text has no verb.
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
	cells := "cells are"
	if total == 1 {
		cells = "cell is"
	}
	return fmt.Sprintf("%d %s %s (%s).", total, cells, text, strings.Join(where, ", "))
}

// cellNotes say which cells of a file were not taken unchanged.
func cellNotes(columns []learner.ColumnTally) []string {
	return []string{
		CellNote(columns, func(c learner.ColumnTally) int { return c.Clamped }, "outside the task's range and taken for its nearest end, in the test too"),
		CellNote(columns, func(c learner.ColumnTally) int { return c.Unknown }, "none of the task's values and taken for none"),
	}
}
