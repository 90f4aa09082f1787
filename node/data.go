package node

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// Stored returns how many records there are. If they cannot be counted it returns 0;
// every other question then gets an error that says why.
func (n *Node) Stored() int {
	counts, _ := n.records.count()
	return counts.Records
}

// listedAtOnce is how many records of a list are in memory at the same time.
const listedAtOnce = 1024

// errEnough ends the reading of records before their end.
var errEnough = errors.New("node: enough records")

// Records yields the records, and the deleted ones that keep their slots, in order of
// their numbers. It reads a few at a time, so that a long list takes little memory and a
// slow reader makes nobody wait. After an error it ends.
func (n *Node) Records(ctx context.Context, content bool) iter.Seq2[api.RecordInfo, error] {
	return func(yield func(api.RecordInfo, error) bool) {
		for from, more := learner.Seq(0), true; more; {
			some, err := n.describeRecords(from, listedAtOnce, content)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(api.RecordInfo{}, fmt.Errorf("node: list the records: %w", err))
				return
			}
			for _, i := range some {
				if !yield(i, nil) {
					return
				}
				from = i.Number + 1
			}
			more = len(some) == listedAtOnce
		}
	}
}

// RecordsFrom is Records with content, for at most count records from a number on.
func (n *Node) RecordsFrom(_ context.Context, number uint64, count int) ([]api.RecordInfo, error) {
	return n.describeRecords(learner.Seq(number), count, true)
}

func (n *Node) describeRecords(from learner.Seq, count int, content bool) ([]api.RecordInfo, error) {
	cohorts, err := n.cohorts()
	if err != nil {
		return nil, err
	}
	cohort := make(map[privacy.Cohort]api.RecordInfo) // what all of its records have in common
	for _, c := range cohorts {
		i := api.RecordInfo{Cohort: c.Cohort, Retired: c.Retired, Sums: n.sumsOf(c)}
		ended := c.Left == 0 || n.files.Task.Silent()
		i.UsedUp = n.files.Config.Protected() && ended && i.Sums != api.SumsToCome && i.Sums != api.SumsPaid
		cohort[c.Cohort] = i
	}
	names := n.files.Task.Coordinates()
	out := []api.RecordInfo{}
	err = n.store.EachRecord(from, func(r learner.Record) error {
		if len(out) >= count {
			return errEnough
		}
		i, unfit := cohort[r.Cohort], r.X != nil && n.files.Task.Admit(&r) != nil
		i.Number, i.Cohort, i.HeldOut, i.Deleted, i.Refused = r.Seq, r.Cohort, r.Seq.HeldOut(), r.X == nil, unfit
		if content && r.X != nil && !unfit {
			i.Target, i.Features = &r.Y, named(names, r.X)
			i.Class = n.files.Task.Class(r.Y)
		}
		out = append(out, i)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	if !content {
		return out, nil
	}
	return out, n.addWritten(out)
}

// addWritten adds what the owner wrote to a list of records, which must be in order.
func (n *Node) addWritten(list []api.RecordInfo) error {
	if len(list) == 0 {
		return nil
	}
	columns := n.files.Task.Columns()
	from, to, at := list[0].Number, list[len(list)-1].Number, finder(list)
	err := n.store.EachCells(from, to, func(q learner.Seq, cells learner.Cells) {
		if r := at(q); r != nil && r.Target != nil {
			for k, c := range cells.All() {
				if k == len(columns) { // the store is damaged
					break
				}
				r.Cells = append(r.Cells, api.WrittenCell{Column: columns[k], Text: c.Text, Note: c.Note.String()})
			}
		}
	})
	if err != nil {
		return err
	}
	at = finder(list)
	return n.store.EachID(from, to, func(q learner.Seq, id string) {
		if r := at(q); r != nil && r.Target != nil {
			r.ID = id
		}
	})
}

// finder returns a function that finds records of a list by number. It must be called
// with ascending numbers, and returns nil if the record is not in the list.
func finder(list []api.RecordInfo) func(learner.Seq) *api.RecordInfo {
	return func(q learner.Seq) *api.RecordInfo {
		for len(list) > 0 && list[0].Number < q {
			list = list[1:]
		}
		if len(list) == 0 || list[0].Number != q {
			return nil
		}
		return &list[0]
	}
}

// named returns the numbers of x that are not 0, with their names.
func named(names []string, x []float64) []api.Coordinate {
	out := []api.Coordinate{}
	for i, v := range x {
		if v != 0 {
			out = append(out, api.Coordinate{Name: names[i], Value: v})
		}
	}
	return out
}

// Delete erases the content of records, given by their numbers, all or none. It drops the
// personal model that knew them; what was released stays public. The records' slots stay,
// empty, because the number of slots is public. It fails with [storage.ErrNoRecord] if a
// record is not there or was deleted before. If there are many, see
// [storage.Store.DeleteRecords].
func (n *Node) Delete(ctx context.Context, numbers []uint64) error {
	n.storing.Lock()
	defer n.storing.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("node: delete records: %w", err)
	}
	if len(numbers) == 0 {
		return nil
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
		n.records.forget() // it is unknown which were deleted
	} else {
		n.records.drop(drop)
	}
	n.fits.recordsDeleted()
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	n.diary.Gather(api.Event{Kind: api.EventDeleted, Text: "records deleted", Records: len(drop)})
	if s := n.current(); s != nil {
		return s.records(nil, drop) // without a session, the next run reads what is stored
	}
	return nil
}
