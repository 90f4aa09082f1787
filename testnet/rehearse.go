package testnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"p2pnode/learner"
	"p2pnode/node/datadir"
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
// nodes do, and the same without noise, which shows the cost of privacy. If they
// broadcast, these are followed by the private sum that they could make instead.
func RehearsedMethods(t *learner.Task) []Method {
	if broadcasts(t) {
		return []Method{Broadcast, Open, Private, Together}
	}
	return []Method{Private, Together}
}

// broadcasts reports whether the nodes of a task make no private sums.
func broadcasts(t *learner.Task) bool { return len(t.Sums.Recipes) == 0 }

// edits are what to change in the file of the task for a private sum; nil: there is no
// file.
func (c *Config) edits(d *Dataset) []datadir.Edit {
	if c.Text == nil {
		return nil
	}
	return datadir.SumsInstead(c.Text, c.recipes(d)[0].Kind)
}

// workOutAll works out what a private sum would give all people that those of a rehearsal were drawn
// from, whose noise is the same for any number. It returns nil where these are all, and where
// records are so wide that fits take long.
func (c *Config) workOutAll(ctx context.Context, d *Dataset) (*Result, error) {
	if c.All == nil || d.Of <= len(d.People) || d.Task.Width() > mostSquared {
		return nil, nil
	}
	r, err := Run(ctx, Config{
		Source: c.All, Budget: c.Budget, Seed: c.Seed, Methods: []Method{Private}, Simulate: true, Rehearse: true,
		NoCurve: true, Progress: c.Progress,
	})
	if err := errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	return r, nil
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
	if broadcasts(d.Task) {
		list = append(list, fmt.Sprintf("No node makes a private sum. It is simulated, with a committee of %d of whom %d may collude; errors are means of %d draws of its noise. Its bytes are those of the contributions, once: a node sends each to all members, and more besides.",
			committee, colluding, rehearsedDraws))
	}
	if d.Dealt > 0 {
		list = append(list, fmt.Sprintf("No column says whose record a line is, so the lines were dealt out to %d people in turn: these are more alike than people are. --node-column NAME names one.", d.Dealt))
	}
	return list
}

// seconds converts a time to whole tenths of a second.
func seconds(s float64) time.Duration {
	return (time.Duration(10*s) * time.Second / 10).Round(time.Second / 10)
}

// WriteRehearsal writes the report of a rehearsal for people: the table of methods, the
// cells that were not as the task expects, and the verdicts last, with what follows from
// them.
func (r *Result) WriteRehearsal(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", r.title(), aligned(r.methodCells()))
	empty := CellNote(r.Noted, func(c learner.ColumnTally) int { return c.Empty }, "empty and taken for unknown")
	for _, note := range slices.Concat(r.Changed, r.notes(), []string{empty}) {
		if note != "" {
			b.WriteString(note + "\n")
		}
	}
	b.WriteString("\n")
	if r.Dealt > 0 && r.Complete {
		fmt.Fprintf(&b, "This is of %d people who were dealt the lines in turn, not of real ones, to whom it may not apply: name the column that says whose record a line is with --node-column NAME.\n", r.Dealt)
	}
	b.WriteString(r.rehearsed() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// rehearsed is how the report of a rehearsal ends.
func (r *Result) rehearsed() string {
	switch {
	case r.interrupted():
		return r.verdict().String()
	case !r.Broadcasts:
		return r.verdict().String() + r.ofAll()
	}
	broadcast := r.verdict()
	text := fmt.Sprintf("broadcasts: %s\n%s: %s%s", broadcast, simulatedSum, r.verdictOn(Private), r.ofAll())
	advice, edits := r.advice(broadcast)
	if advice != "" {
		text += "\n\n" + advice
	}
	if len(edits) > 0 {
		text += "\nChange the task's file, and rehearse it again:"
	}
	for _, e := range edits {
		at := "at the end"
		if e.Line > 0 {
			at = fmt.Sprintf("line %d", e.Line)
		}
		text += fmt.Sprintf("\n  %s: %s", at, strings.ReplaceAll(e.Text, "\n", "\n    "))
	}
	return text
}

// ofAll is the verdict on a simulated sum of all people, in a line of its own; "" if there is none.
func (r *Result) ofAll() string {
	if r.All == nil {
		return ""
	}
	people := fmt.Sprintf("all %d people of the file", r.Of)
	if n := r.All.nodes(); n < r.Of {
		people = fmt.Sprintf("%d of the %d people of the file", n, r.Of)
	}
	return fmt.Sprintf("\n%s of %s: %s", simulatedSum, people, r.All.verdictOn(Private))
}

// advice is what follows from the verdicts on nodes that broadcast and on the sum that all people
// could make, and what of the task's file to change for it; "" if there is nothing.
func (r *Result) advice(broadcast Verdict) (text string, edits []datadir.Edit) {
	const price = "It takes a committee that all believe: docs/sums.md."
	sum := r.verdictOn(Private)
	if r.All != nil {
		sum = r.All.verdictOn(Private)
	}
	switch {
	case r.All == nil && sum.Word != WorthIt && r.Of > r.nodes() && r.verdictOn(Together).Word != NotWorthIt:
		return fmt.Sprintf("The noise of a sum is the same for %d people as for all %d of the file: testnet --sim --nodes all, with the "+
			"same file and task, works out what they gain.", r.nodes(), r.Of), nil
	case sum.Word != WorthIt:
		return "", nil
	case broadcast.Word == NotWorthIt:
		return "A private sum pays here, and broadcasts do not. " + price, r.Edits
	case broadcast.Word == learner.CannotTell:
		return "A private sum pays here, and of broadcasts one cannot tell. " + price, r.Edits
	}
	if more := r.sumBesideBroadcasts(broadcast.ByLogLoss && sum.ByLogLoss); more.Word == WorthIt {
		return fmt.Sprintf("A private sum surely gives more than broadcasts: %s beside theirs. %s", more.change(), price), r.Edits
	}
	return "", nil
}

// sumBesideBroadcasts judges a private sum as if broadcasts were all that people had
// without it.
func (r *Result) sumBesideBroadcasts(byLogLosses bool) Verdict {
	of := byError
	if byLogLosses {
		of = byLogLoss
	}
	pairs, without := r.pairs(Private, of), r.pairs(Broadcast, of)
	for i := range pairs {
		pairs[i].Alone = without[i].With
	}
	v := Judge(Evidence{Pairs: pairs, Seed: r.Seed})
	v.ByLogLoss = byLogLosses
	return v
}
