package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"p2pnode/node/api"
)

// notedLines says how many cells were not taken as written, and in which columns.
func notedLines(columns []api.ColumnTally) []string {
	return slices.Concat(
		countLine(columns, "outside the task's range and taken for its nearest end", func(c api.ColumnTally) int { return c.Clamped }),
		countLine(columns, "none of the task's values and taken for none", func(c api.ColumnTally) int { return c.Unknown }))
}

// misfit is the share of records from which on their owner is asked whether a column fits.
const misfit = 0.2

// misfitLines warns of the column that the task foresees least in so many records, if that is
// often. Records in another unit are most of them, and spoil what others learn too.
func misfitLines(columns []api.ColumnTally, records int) []string {
	odd := func(c api.ColumnTally) int { return c.Clamped + c.Unknown }
	if len(columns) == 0 || records == 0 {
		return nil
	}
	worst := slices.MaxFunc(columns, func(a, b api.ColumnTally) int { return odd(a) - odd(b) })
	share := float64(odd(worst)) / float64(records)
	if share <= misfit {
		return nil
	}
	return []string{fmt.Sprintf("Warning: the task does not foresee %s in %.0f %% of the records. If they are in other units, or spelled otherwise, than others have them, "+
		"delete them (p2pnode data delete) before others learn from them, and import them as the task has them", worst.Column, 100*share)}
}

// emptyLines says how many cells are empty, and in which columns.
func emptyLines(columns []api.ColumnTally) []string {
	return countLine(columns, "empty and taken for unknown", func(c api.ColumnTally) int { return c.Empty })
}

// countLine returns one line with the counts of all columns, or no line if all are zero.
func countLine(columns []api.ColumnTally, what string, count func(api.ColumnTally) int) []string {
	total, words := 0, []string{}
	for _, c := range columns {
		if k := count(c); k > 0 {
			total += k
			words = append(words, fmt.Sprintf("%s %d", c.Column, k))
		}
	}
	if total == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d %s %s: %s", total, plural(total, "cell is", "cells are"), what, strings.Join(words, ", "))}
}

// addTallies adds the counts of a piece to those before it.
func addTallies(sum, piece []api.ColumnTally) []api.ColumnTally {
	for _, c := range piece {
		i := slices.IndexFunc(sum, func(s api.ColumnTally) bool { return s.Column == c.Column })
		if i < 0 {
			sum = append(sum, c)
			continue
		}
		sum[i].Clamped += c.Clamped
		sum[i].Unknown += c.Unknown
		sum[i].Empty += c.Empty
	}
	return sum
}

// longestCell is how many bytes of a cell a table shows.
const longestCell = 80

// cellText returns a cell with the note on how it was taken. Characters that would
// control a terminal are escaped, and a long text or vector is cut off.
func cellText(c api.WrittenCell) string {
	text := c.Text
	if len(text) > longestCell {
		text = strings.ToValidUTF8(text[:longestCell-len("...")], "") + "..."
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		text = strconv.Quote(text)
	}
	if c.Note == "" || text == "" {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, c.Note)
}
