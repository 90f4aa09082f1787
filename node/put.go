package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/rowfile"
	"p2pnode/storage"
)

// Put stores the records of some lines of a pipe and says what became of each. The
// records are on disk when it returns. After an error none is, unless the error is a
// [storage.ErrPoisoned]. It fails with an [api.ErrRequest] if the header does not fit the
// task, and with [api.ErrImported] if the lines are all the lines of a file that was
// imported before.
func (n *Node) Put(ctx context.Context, l api.Lines) (api.Acknowledgement, error) {
	rows, err := openLines(&l, n.files.Task)
	if err != nil {
		return api.Acknowledgement{}, err
	}
	if l.File != nil && l.Whole && !l.Again {
		if err := n.Imported(ctx, api.File{Digest: *l.File}); err != nil {
			return api.Acknowledgement{}, err
		}
	}
	var arrivals []storage.Arrival
	ack := api.Acknowledgement{Lines: []api.LineOutcome{}}
	numeric := n.files.Task.Numerics()
	taken := []int{} // the index in ack.Lines, for each arrival
	for i, text := range l.Lines {
		if strings.TrimSpace(text) == "" {
			continue
		}
		ack.Lines = append(ack.Lines, api.LineOutcome{Line: l.From + i})
		a, err := lineArrival(n.files.Task, numeric, rows, text, l.ID)
		if err != nil {
			last := &ack.Lines[len(ack.Lines)-1]
			last.Outcome, last.Reason = api.LineBad, err.Error()
			continue
		}
		arrivals, taken = append(arrivals, a), append(taken, len(ack.Lines)-1)
	}
	changes, err := n.put(ctx, arrivals)
	if err != nil {
		return api.Acknowledgement{}, err
	}
	for i, o := range changes.Outcomes {
		ack.Lines[taken[i]].Outcome = outcomeWord(o)
	}
	ack.Retired, ack.NeverShared, ack.Missing = len(changes.Erased), n.neverShared(), n.awaited()
	ack.Cells = n.files.Task.Tally(notes(arrivals))
	if l.File == nil {
		return ack, nil
	}
	return ack, n.noteImport(*l.File, storage.Imported{Records: l.Records + len(arrivals), Time: time.Now(), Size: l.Size})
}

// openLines finds out from its header what the lines of a pipe are.
func openLines(l *api.Lines, t *learner.Task) (*rowfile.Reader, error) {
	rows, err := rowfile.NewLines(l.Header)
	if err == nil && rows.Columns != nil {
		err = hasColumns(rows.Columns, t, t.Columns())
	}
	if err == nil {
		err = hasID(rows, l.ID)
	}
	if err != nil {
		return nil, api.WrongRequest(fmt.Errorf("node: read the lines: %w", err))
	}
	return rows, nil
}

func lineArrival(t *learner.Task, numeric func(column string) bool, rows *rowfile.Reader, text, id string) (storage.Arrival, error) {
	row, err := rows.Line(text)
	if err != nil {
		return storage.Arrival{}, err
	}
	return arrivalOf(t, numeric, &row, id)
}

// Add stores records made by [learner.Task.Encode] and passes them to the agent, all or
// none. It stores none if ctx has ended, or if the task does not admit one of them
// ([learner.Task.Admit]).
func (n *Node) Add(ctx context.Context, records []learner.Record) error {
	arrivals := make([]storage.Arrival, len(records))
	for i, r := range records {
		arrivals[i].Record = r
	}
	_, err := n.put(ctx, arrivals)
	return err
}

// put stores arrivals together and passes the changes to the agent and to the fits.
func (n *Node) put(ctx context.Context, arrivals []storage.Arrival) (storage.Changes, error) {
	n.adding.Lock()
	defer n.adding.Unlock()
	return n.putLocked(ctx, arrivals)
}

// putLocked is put for a caller who holds n.adding.
func (n *Node) putLocked(ctx context.Context, arrivals []storage.Arrival) (storage.Changes, error) {
	n.storing.Lock()
	defer n.storing.Unlock()
	if err := ctx.Err(); err != nil {
		return storage.Changes{}, fmt.Errorf("node: store the records: %w", err)
	}
	if len(arrivals) > 0 {
		if err := n.space(); err != nil {
			return storage.Changes{}, err
		}
	}
	c, err := n.store.Put(arrivals, n.cohortRule(), time.Now())
	if err != nil {
		if errors.Is(err, storage.ErrPoisoned) || errors.Is(err, storage.ErrClosed) {
			n.records.forget() // it is unknown what was replaced
			n.fits.recordsDeleted()
		}
		return c, fmt.Errorf("node: store the records: %w", err)
	}
	err = n.changed(c)
	n.tellStored(c)
	if err != nil {
		return c, err
	}
	return c, n.retain(time.Now())
}

// tellStored tells the owner how many records were stored, how many were there
// before, and how many must still come.
func (n *Node) tellStored(c storage.Changes) {
	var r api.ImportReport
	if count(&r, c.Outcomes); r.Records > 0 {
		n.diary.Gather(api.Event{Kind: api.EventImported, Text: "records stored", Records: r.Records, Replaced: r.Replaced, Same: r.Same, Missing: n.awaited()})
	}
}

// changed passes on what was just stored and replaced. The caller holds n.storing.
func (n *Node) changed(c storage.Changes) error {
	stored := n.records.change(c)
	switch { // after that, or a fit that begins in between would count as knowing the change
	case len(c.Erased) > 0:
		n.fits.recordsDeleted()
	case len(c.Stored) > 0:
		n.fits.outdated()
	}
	var erased []learner.Seq
	for _, r := range c.Erased {
		erased = append(erased, r.Seq)
	}
	if s := n.current(); s != nil && len(stored)+len(erased) > 0 {
		return s.records(stored, erased)
	}
	return nil
}

// noteImport notes that a file was imported, so that it is not imported again.
func (n *Node) noteImport(file api.Digest, as storage.Imported) error {
	if err := n.store.Remember(file, as); err != nil {
		return fmt.Errorf("node: note that the file was imported: %w", err)
	}
	return nil
}

// neverShared reports whether records that arrive from now on serve this device only.
func (n *Node) neverShared() bool {
	p := n.plan()
	return p != nil && p.Left == 0 || n.stranded() != nil
}

// awaited is how many more records must come before those that have a budget take part in
// what is sent. What was stored is acknowledged even if records cannot be counted: who asks
// for the budget is told why. While no budget is used up none are counted, which may take
// a look at each.
func (n *Node) awaited() int {
	if n.ledger.Retired() == 0 && !slices.ContainsFunc(n.ledger.Spending(), func(s storage.Spending) bool { return n.spent(s.Cohort) }) {
		return 0
	}
	cohorts, err := n.cohorts()
	if err != nil || !slices.ContainsFunc(cohorts, func(c api.CohortBudget) bool { return c.Left > 0 }) {
		return 0
	}
	return n.missing(cohorts)
}

// notes counts the cells of arrivals that were not taken as written.
func notes(arrivals []storage.Arrival) (noted learner.Tally) {
	for i := range arrivals {
		noted.Add(arrivals[i].Cells)
	}
	return noted
}

func outcomeWord(o storage.Outcome) string {
	switch o {
	case storage.Same:
		return api.LineSame
	case storage.Replaced:
		return api.LineReplaced
	}
	return api.LineNew
}
