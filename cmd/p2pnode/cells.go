package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"p2pnode/node"
)

// notedLines say how many cells were not taken as they are, and in which columns.
func notedLines(columns []node.ColumnTally) (lines []string) {
	for _, n := range []struct {
		what  string
		count func(node.ColumnTally) int
	}{
		{"outside the task's range and taken for its nearest end", func(c node.ColumnTally) int { return c.Clamped }},
		{"none of the task's values and taken for none", func(c node.ColumnTally) int { return c.Unknown }},
		{"empty and taken for unknown", func(c node.ColumnTally) int { return c.Empty }},
	} {
		total, words := 0, []string{}
		for _, c := range columns {
			if k := n.count(c); k > 0 {
				total += k
				words = append(words, fmt.Sprintf("%s %d", c.Column, k))
			}
		}
		if total > 0 {
			lines = append(lines, fmt.Sprintf("%d %s %s: %s", total, plural(total, "cell is", "cells are"), n.what, strings.Join(words, ", ")))
		}
	}
	return lines
}

// cellText is a cell with the note on how it was taken. What a terminal would obey is
// spelled out.
func cellText(c node.WrittenCell) string {
	text := c.Text
	if strings.ContainsFunc(text, unicode.IsControl) {
		text = strconv.Quote(text)
	}
	if c.Note == "" || text == "" {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, c.Note)
}
