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

// Misfit is a person of whom the task does not foresee a column in most records, by units or
// by spelling: in a private sum such people spoil what everybody learns.
type Misfit struct {
	Person string  `json:"person"`
	Column string  `json:"column"`
	Share  float64 `json:"share"` // of the person's records, above .5
}

// shownMisfits is how many people a note names.
const shownMisfits = 5

// tally counts the cells of everybody that were not taken unchanged, and finds the misfits.
func (r *reader) tally() {
	var all learner.Tally
	for i := range r.set.People {
		p := &r.set.People[i]
		all = all.Plus(r.noted[i])
		for _, c := range r.set.Task.Tally(r.noted[i]) {
			if share := float64(c.Clamped+c.Unknown) / float64(len(p.Records)); share > .5 && len(p.Records) >= minRecords {
				r.set.Misfits = append(r.set.Misfits, Misfit{p.Name, c.Column, share})
			}
		}
	}
	r.set.Noted = r.set.Task.Tally(all)
}

// misfitNote names the misfits.
func misfitNote(misfits []Misfit) string {
	var words []string
	for _, m := range misfits[:min(len(misfits), shownMisfits)] {
		words = append(words, fmt.Sprintf("%s of %s in %.0f %%", m.Column, m.Person, 100*m.Share))
	}
	if more := len(misfits) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf("Most records of some people are not as the task expects them (%s): if their units or their spelling are others, they spoil what everybody learns.", strings.Join(words, ", "))
}

// cellNotes say which cells of a file were not taken unchanged.
func cellNotes(columns []learner.ColumnTally) []string {
	return []string{
		CellNote(columns, func(c learner.ColumnTally) int { return c.Clamped }, "outside the task's range and taken for its nearest end, in the test too"),
		CellNote(columns, func(c learner.ColumnTally) int { return c.Unknown }, "none of the task's values and taken for none"),
	}
}
