package learner

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"p2pnode/internal/vector"
	"p2pnode/privacy"
)

// training is the training set of an agent: its record slots by cohort.
type training struct {
	workspace *Workspace // nil: allocate
	cohorts   []cohort   // sorted by number; a single one lies in first
	first     [1]cohort
	spent     func(privacy.Cohort) bool // as in Config
	last      Seq
}

// cohort is a group of slots that share one budget. Once the door has refused it, it is
// retired and can never pay again.
type cohort struct {
	number  privacy.Cohort
	slots   []slot // sorted by seq
	asked   bool   // for a release that has not been answered yet
	retired bool
}

// slot is the place of one record; x is nil after the record was deleted.
type slot struct {
	seq Seq
	x   []float64
	y   float64
}

// change implements [Agent.Records] for an agent with this training set.
func (t *training) change(task *Task, add []Record, drop []Seq) error {
	if err := t.check(task, add); err != nil {
		return err
	}
	t.add(add)
	t.drop(drop)
	return nil
}

// check refuses records whose form is not that of the task, before anything is changed.
// It accepts a record that is longer than any the task encodes, because an experiment
// with features in another unit needs such records; [clipper] checks the norm where it
// matters.
func (t *training) check(task *Task, add []Record) error {
	last := t.last
	for i := range add {
		r := &add[i]
		if r.Seq <= last {
			return fmt.Errorf("learner: record %d comes after record %d; add records in order of arrival", r.Seq, last)
		}
		last = r.Seq
		if r.X == nil {
			continue // deleted
		}
		if err := task.admitForm(r); err != nil {
			return fmt.Errorf("learner: record %d does not fit the task: %w; encode it with the task", r.Seq, err)
		}
	}
	return nil
}

func (t *training) add(records []Record) {
	if t.cohorts == nil {
		t.cohorts = t.first[:0]
	}
	for _, r := range records {
		t.last = r.Seq
		if r.Seq.HeldOut() {
			continue
		}
		i, found := slices.BinarySearchFunc(t.cohorts, r.Cohort, func(c cohort, n privacy.Cohort) int {
			return cmp.Compare(c.number, n)
		})
		if !found {
			t.cohorts = slices.Insert(t.cohorts, i, cohort{number: r.Cohort})
		}
		c := &t.cohorts[i]
		if c.slots == nil {
			c.slots = t.workspace.newSlots(len(records))[:0] // usually this is enough for the whole cohort
		}
		c.slots = append(c.slots, slot{r.Seq, flushed(r.X), flush(r.Y)})
	}
}

// drop empties the slots of deleted records. It ignores numbers that have no slot:
// those records were held out, or are deleted already.
func (t *training) drop(deleted []Seq) {
	for _, seq := range deleted {
		for i := range t.cohorts {
			slots := t.cohorts[i].slots
			k, found := slices.BinarySearchFunc(slots, seq, func(s slot, n Seq) int { return cmp.Compare(s.seq, n) })
			if found {
				slots[k].x = nil
			}
		}
	}
}

// active reports whether a release can be made: any cohort may still pay, and if only some
// may, enough records are in them.
func (t *training) active(task *Task) bool {
	if len(t.cohorts) == 1 { // nearly always; at every wake
		return !t.cohorts[0].retired
	}
	if task.releasesVectors() {
		return t.turn(task) != nil
	}
	if fresh, spent := t.shares(); len(fresh) > 0 {
		return task.Missing(fresh, spent) == 0
	}
	return slices.ContainsFunc(t.cohorts, func(c cohort) bool { return !c.retired })
}

// turn returns the cohort of the next release of a whole vector, which is of one alone: the
// oldest that may still pay and has enough records by itself. If all are used up, that is
// one that the door has not refused yet. nil: there is none.
func (t *training) turn(task *Task) *cohort {
	fresh, spent := t.shares()
	for i := range t.cohorts {
		c := &t.cohorts[i]
		waits := len(fresh) > 0 && (t.used(c) || task.Missing([]int{len(c.slots)}, spent) > 0)
		if !c.retired && !waits {
			return c
		}
	}
	return nil
}

// shares counts the slots of each cohort that has a budget left, and of all others.
func (t *training) shares() (fresh []int, spent int) {
	for i := range t.cohorts {
		if c := &t.cohorts[i]; t.used(c) {
			spent += len(c.slots)
		} else {
			fresh = append(fresh, len(c.slots))
		}
	}
	return fresh, spent
}

// used reports whether a cohort's budget is used up, as far as is known.
func (t *training) used(c *cohort) bool { return c.retired || t.spent != nil && t.spent(c.number) }

// Missing is how many more records must come before a device makes releases again. fresh
// are the slots of its cohorts that have a budget left, the oldest first, and spent those
// of all others. A release of few records has the noise of one of many, and costs each of
// them as much. So they wait until they are as many as all that have paid, or as many as
// count in full: together, since they share a release's noise, or in one cohort where
// releases are of one. A device's first records wait for nothing. The numbers are public,
// so waiting tells nothing.
func (t *Task) Missing(fresh []int, spent int) int {
	enough, there := min(t.ConfidenceAt, spent), 0
	for _, n := range fresh {
		if !t.releasesVectors() {
			there += n
		} else if there = n; n >= enough {
			break
		}
	}
	return max(0, enough-there)
}

// ask notes whose sums are asked for. Until the answer comes, cohorts may be added.
func (t *training) ask(sums []privacy.Sum) {
	for i := range t.cohorts {
		c := &t.cohorts[i]
		c.asked = slices.ContainsFunc(sums, func(s privacy.Sum) bool { return s.Cohort() == c.number })
	}
}

// answered retires the cohorts that were asked and not admitted.
func (t *training) answered(admitted []privacy.Cohort) {
	for i := range t.cohorts {
		c := &t.cohorts[i]
		c.retired = c.retired || c.asked && !slices.Contains(admitted, c.number)
		c.asked = false
	}
}

// sums is [Workspace.clippedSums] in newly allocated memory.
func (t *training) sums(l loss, m privacy.Mechanism, theta []float64) []privacy.Sum {
	return new(Workspace).clippedSums(t, l, m, theta)
}

// finite reports whether no coordinate is infinite or not a number. A finite sum of
// squares proves it quickly.
func finite(v []float64) bool {
	if vector.Squares(v) <= math.MaxFloat64 {
		return true
	}
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
