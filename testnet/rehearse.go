package testnet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"p2pnode/learner"
)

// Rehearsable returns an error if the nodes of this machine cannot play all parts of a
// task.
func Rehearsable(t *learner.Task) error {
	if len(t.Servers()) > 0 {
		return errors.New("testnet: the task names servers by their identities, and a rehearsal has no others to stand in for them")
	}
	return nil
}

// RehearsedMethods are what a rehearsal of a task measures besides [Alone]: what its
// nodes do, and the same without noise, which shows the cost of privacy.
func RehearsedMethods(t *learner.Task) []Method {
	if len(t.Sums.Recipes) > 0 {
		return []Method{Private, Together}
	}
	return []Method{Broadcast, Open}
}

// Times of a rehearsal.
const (
	// rehearsalSeconds is how long all releases of a node may take, on average.
	rehearsalSeconds = 30
	// roundSeconds is how long a round lasts at most.
	roundSeconds = 2
	// leastWake is the shortest mean time between two releases that daemons keep up with.
	leastWake = 0.1
)

// rehearsed is the task with another committee, one epoch, and less time for everything.
func rehearsed(t *learner.Task, committee []string, closes time.Duration) *learner.Task {
	quick := *t
	quick.Release.MinWake = min(t.Release.MinWake, leastWake)
	quick.Rounds.Seconds = min(t.Rounds.Seconds, roundSeconds)
	if len(committee) > 0 {
		quick.Sums.Committee, quick.Sums.Epochs, quick.Sums.CloseSeconds = committee, 1, closes.Seconds()
	}
	return &quick
}

// changes lists how a rehearsal of these people differs from what their task says.
func (c *Config) changes(d *Dataset) (list []string) {
	staged := *d
	staged.Task = rehearsed(d.Task, d.Task.Sums.Committee, c.closes(len(d.People)))
	if members := len(d.Task.Sums.Committee); members > 0 {
		list = append(list, fmt.Sprintf("%d new identities stand in for the committee that the task names. A sum takes contributions for %v, not %v, and is made once.",
			members, seconds(staged.Task.Sums.CloseSeconds), seconds(d.Task.Sums.CloseSeconds)))
	}
	switch config := c.nodeConfig(&staged, Broadcast); {
	case d.Task.Silent():
	case d.Task.InRounds():
		list = append(list, fmt.Sprintf("A round ends after %v at the latest, not %v.", seconds(staged.Task.Rounds.Seconds), seconds(d.Task.Rounds.Seconds)))
	default:
		list = append(list, fmt.Sprintf("A node releases every %v on average, not every %v.", seconds(config.WakeSeconds), seconds(d.Task.Release.WakeSeconds)))
	}
	if d.Dealt > 0 {
		list = append(list, fmt.Sprintf("No column says whose record a line is, so the lines were dealt out to %d people in turn: these are more alike than people are.", d.Dealt))
	}
	return list
}

// seconds converts a time to whole tenths of a second.
func seconds(s float64) time.Duration {
	return (time.Duration(10*s) * time.Second / 10).Round(time.Second / 10)
}

// WriteRehearsal writes the report of a rehearsal for people: the table of methods, the
// cells that were not as the task expects, and the verdict last.
func (r *Result) WriteRehearsal(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", r.title(), aligned(r.methodCells()))
	empty := CellNote(r.Noted, func(c learner.ColumnTally) int { return c.Empty }, "empty and taken for unknown")
	for _, note := range slices.Concat(r.Changed, r.notes(), []string{empty}) {
		if note != "" {
			b.WriteString(note + "\n")
		}
	}
	last := r.verdict().String()
	if !r.Complete {
		last = "no verdict: the rehearsal was interrupted"
	}
	fmt.Fprintf(&b, "\n%s\n", last)
	_, err := io.WriteString(w, b.String())
	return err
}
