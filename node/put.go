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

// Put stores the records of some lines of a pipe and says what became of each. They are
// on disk when it returns; after an error none is, unless it is an [storage.ErrPoisoned].
// It fails with an [ErrRequest] if the header cannot be the task's, and with [ErrImported]
// if the lines are all of a file that was imported before.
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
	taken := []int{} // where in ack.Lines the outcome of each arrival is
	for i, text := range l.Lines {
		if strings.TrimSpace(text) == "" {
			continue
		}
		ack.Lines = append(ack.Lines, api.LineOutcome{Line: l.From + i})
		a, err := lineArrival(n.files.Task, rows, text, l.ID)
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
	ack.Retired, ack.NeverShared = len(changes.Erased), n.neverShared()
	ack.Cells = n.files.Task.Tally(notes(arrivals))
	if l.File == nil {
		return ack, nil
	}
	return ack, n.noteImport(*l.File, storage.Imported{Records: l.Records + len(arrivals), Time: time.Now()})
}

// openLines finds out what the lines of a pipe are from its header.
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

func lineArrival(t *learner.Task, rows *rowfile.Reader, text, id string) (storage.Arrival, error) {
	row, err := rows.Line(text)
	if err != nil {
		return storage.Arrival{}, err
	}
	return arrivalOf(t, &row, id)
}

// hasID checks that a header of CSV has the column of the IDs.
func hasID(rows *rowfile.Reader, id string) error {
	if id == "" || rows.Columns == nil || slices.Contains(rows.Columns, id) {
		return nil
	}
	return fmt.Errorf("the header has no column %q, which is to say which record a line is", id)
}

// arrivalOf is the record of a row, with the ID that the named column has; "": none has.
func arrivalOf(t *learner.Task, row *rowfile.Row, column string) (a storage.Arrival, err error) {
	if a.Record, err = encodeRow(t, row); err != nil || column == "" {
		return a, err
	}
	text, found, err := row.Cell(column)
	text = strings.TrimSpace(text)
	switch {
	case err != nil:
		return a, err
	case !found || learner.Blank(text):
		return a, fmt.Errorf("column %q is empty, and says which record a line is", column)
	case len(text) > storage.MaxID:
		return a, fmt.Errorf("column %q has %d bytes, and says which record a line is with at most %d", column, len(text), storage.MaxID)
	}
	a.ID = text
	return a, nil
}

// put stores arrivals together and hands what changed to the agent and to the fits.
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
		if errors.Is(err, storage.ErrPoisoned) {
			n.records.forget() // whatever was replaced
			n.fits.recordsDeleted()
		}
		return c, fmt.Errorf("node: store the records: %w", err)
	}
	n.tellStored(c)
	if err := n.changed(c); err != nil {
		return c, err
	}
	return c, n.retain(time.Now())
}

// tellStored tells the owner how many records came in, and how many were there before.
func (n *Node) tellStored(c storage.Changes) {
	var r api.ImportReport
	if count(&r, c.Outcomes); r.Records > 0 {
		n.diary.Gather(api.Event{Kind: api.EventImported, Text: "records stored", Records: r.Records, Replaced: r.Replaced, Same: r.Same})
	}
}

// changed notes what was just stored and replaced. The caller holds n.storing.
func (n *Node) changed(c storage.Changes) error {
	switch {
	case len(c.Erased) > 0:
		n.fits.recordsDeleted()
	case len(c.Stored) > 0:
		n.fits.outdated()
	}
	stored := n.records.change(c)
	var erased []learner.Seq
	for _, r := range c.Erased {
		erased = append(erased, r.Seq)
	}
	if s := n.current(); s != nil && len(stored)+len(erased) > 0 {
		return s.records(stored, erased)
	}
	return nil
}

// noteImport notes a file, so that it is not imported again.
func (n *Node) noteImport(file api.Digest, as storage.Imported) error {
	if err := n.store.Remember(file, as); err != nil {
		return fmt.Errorf("node: note that the file was imported: %w", err)
	}
	return nil
}

// neverShared reports whether records that come now serve this device only.
func (n *Node) neverShared() bool {
	p := n.plan()
	return p != nil && p.Left == 0 || n.stranded() != nil
}

// notes counts the cells of arrivals that were not taken as they are.
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
