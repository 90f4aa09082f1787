package node

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// RecordInfo is where one record stands; its content only if that was asked for.
type RecordInfo struct {
	Number  learner.Seq    `json:"number"` // by arrival, from 1
	Cohort  privacy.Cohort `json:"cohort"`
	HeldOut bool           `json:"held_out"` // measures the personal model, never takes part in a release
	Deleted bool           `json:"deleted"`  // its slot stays until the cohort's budget is used
	UsedUp  bool           `json:"used_up"`  // its cohort takes part in no more releases
	Retired bool           `json:"retired"`  // by a restore, which is one reason
	// Refused: an earlier version stored it and the task does not admit it. Its slot is
	// empty, and the personal model does not know of it.
	Refused bool `json:"refused"`

	// Cells are what the owner wrote, the target last; nil: it was not kept.
	Cells []WrittenCell `json:"cells,omitempty"`
	// What is learned from it, as the task encodes it.
	Target   *float64     `json:"target,omitempty"`
	Class    string       `json:"class,omitempty"`    // its name, if the task names classes
	Features []Coordinate `json:"features,omitempty"` // those that are not 0
}

// ColumnTally counts the cells of a column that were not taken as they are.
type ColumnTally = learner.ColumnTally

// WrittenCell is what a record's owner wrote in a column.
type WrittenCell struct {
	Column string `json:"column"`
	Text   string `json:"text"`
	Note   string `json:"note,omitempty"` // how it was taken: "clamped", "unknown", "empty"; "": as it is
}

// Coordinate is one number of a record, as the task encodes it.
type Coordinate struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Records lists the records and the deleted ones that keep their slots, by number.
func (n *Node) Records(_ context.Context, content bool) ([]RecordInfo, error) {
	return n.describeRecords(0, math.MaxInt, content)
}

// RecordsFrom is Records with content, of at most count records from a number on.
func (n *Node) RecordsFrom(_ context.Context, number uint64, count int) ([]RecordInfo, error) {
	return n.describeRecords(learner.Seq(number), count, true)
}

func (n *Node) describeRecords(from learner.Seq, count int, content bool) ([]RecordInfo, error) {
	rows, err := n.records.all()
	if err != nil {
		return nil, err
	}
	cohorts, err := n.cohorts()
	if err != nil {
		return nil, err
	}
	cohort := make(map[privacy.Cohort]CohortBudget)
	for _, c := range cohorts {
		cohort[c.Cohort] = c
	}
	refused := rows.refused()
	var list []learner.Record
	for r := range rows.each() {
		if len(list) == count {
			break
		}
		if r.Seq >= from {
			list = append(list, r)
		}
	}
	var cells map[learner.Seq][]WrittenCell
	if content && len(list) > 0 {
		if cells, err = n.written(list[0].Seq, list[len(list)-1].Seq); err != nil {
			return nil, err
		}
	}
	names := n.files.task.Coordinates()
	out := make([]RecordInfo, 0, len(list))
	for _, r := range list {
		c := cohort[r.Cohort]
		_, unfit := slices.BinarySearch(refused, r.Seq)
		i := RecordInfo{
			Number: r.Seq, Cohort: r.Cohort, HeldOut: r.Seq.HeldOut(), Deleted: r.X == nil && !unfit, Retired: c.Retired,
			UsedUp: n.files.config.protected() && c.Left == 0, Refused: unfit,
		}
		if content && r.X != nil {
			i.Cells, i.Target, i.Features = cells[r.Seq], &r.Y, named(names, r.X)
			i.Class = n.files.task.Class(r.Y)
		}
		out = append(out, i)
	}
	return out, nil
}

// written reads what the owner wrote in records from one number to another.
func (n *Node) written(from, to learner.Seq) (map[learner.Seq][]WrittenCell, error) {
	columns := n.files.task.Columns()
	all := make(map[learner.Seq][]WrittenCell)
	err := n.store.EachCells(from, to, func(q learner.Seq, cells learner.Cells) {
		for i, c := range cells.All() {
			all[q] = append(all[q], WrittenCell{columns[i], c.Text, c.Note.String()})
		}
	})
	return all, err
}

// named gives the numbers that are not 0 their names.
func named(names []string, x []float64) []Coordinate {
	out := []Coordinate{}
	for i, v := range x {
		if v != 0 {
			out = append(out, Coordinate{names[i], v})
		}
	}
	return out
}

// Delete erases the content of records, given by their numbers, all or none. The
// personal model that knew them is dropped; what was released stays public. Their
// slots stay, empty, because the number of slots is public. It fails with
// [storage.ErrNoRecord] if one is not there or was deleted before.
func (n *Node) Delete(ctx context.Context, numbers []uint64) error {
	n.storing.Lock()
	defer n.storing.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("node: delete records: %w", err)
	}
	drop := make([]learner.Seq, len(numbers))
	for i, q := range numbers {
		drop[i] = learner.Seq(q)
	}
	err := n.store.DeleteRecords(drop...)
	if errors.Is(err, storage.ErrNoRecord) {
		return fmt.Errorf("node: delete records: %w", err)
	}
	if err != nil {
		n.records.forget() // whatever was deleted
	} else {
		n.records.drop(drop)
		defer func() { _, _ = n.records.count() }() // so that nobody who asks for the status waits for it
	}
	n.fits.recordsDeleted()
	if err != nil {
		return fmt.Errorf("node: delete records: %w", err)
	}
	session := n.current()
	if session == nil {
		return nil
	}
	// It cannot be called off: what is deleted on disk must leave the agent too.
	running := session.look(context.WithoutCancel(ctx), func() { err = session.loop.agent.Records(nil, drop) })
	if errors.Is(running, errNotRunning) {
		return nil // the next run reads what is stored
	}
	return err
}
