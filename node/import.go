package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"p2pnode/learner"
	"p2pnode/storage"
)

// maxBadLines is how many bad lines an import report spells out.
const maxBadLines = 20

// ImportReport says what became of a CSV file.
type ImportReport struct {
	Records int       `json:"records"` // stored
	Bad     int       `json:"bad"`     // lines that were no record
	Lines   []BadLine `json:"lines"`   // the first of them
	// NeverShared says that the records stored serve this device only: the plan is
	// over, and nothing is sent any more.
	NeverShared bool `json:"never_shared,omitempty"`
	// Cells counts the cells of good lines that were not taken as they are, for each column
	// that has any.
	Cells []ColumnTally `json:"cells"`
}

// BadLine is a line of a CSV file that is no record, and why.
type BadLine struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// ErrBadLines is returned with a report when bad lines kept a file from being
// imported.
var ErrBadLines error = &Advised{errors.New("node: the file has bad lines, nothing was imported"), "mend them, or leave them out with --skip-bad"}

// ErrImported is returned for a file that was imported before.
var ErrImported = errors.New("node: the file was imported before")

// ImportOptions are how a file is imported. The zero value leaves nothing out.
type ImportOptions struct {
	SkipBad bool // leave bad lines out instead of refusing the file
	Again   bool // import a file that was imported before; its records get a budget of their own
	// Room is asked before each record is taken, and its error ends the import; nil:
	// there is always room.
	Room func() error
}

// Import reads records from CSV with a header row and stores them, all or none. A file
// with bad lines gives ErrBadLines with the report, unless they are left out. One
// that was imported before, byte for byte, gives ErrImported, unless o says
// again; where r can be read twice, before anything is written. The memory it takes
// does not grow with the file. Other records wait until it has ended.
func (n *Node) Import(ctx context.Context, r io.Reader, o ImportOptions) (report ImportReport, err error) {
	if !o.Again {
		if err := refuseKnown(r, n.refuse); err != nil {
			return report, err
		}
	}
	n.adding.Lock()
	defer n.adding.Unlock()
	i, err := n.store.Import(n.cohortRule(), time.Now())
	if err != nil {
		return report, fmt.Errorf("node: %w", err)
	}
	defer func() {
		if dropped := i.Drop(); dropped != nil {
			err = errors.Join(err, fmt.Errorf("node: %w", dropped))
		}
	}()
	count, whole := 0, sha256.New()
	var noted learner.Tally
	err = readCSV(io.TeeReader(r, whole), n.files.task, &report, func(record learner.Record) error {
		if err := o.room(ctx); err != nil {
			return err
		}
		noted.Add(record.Cells)
		if count++; report.Bad > 0 && !o.SkipBad {
			return nil // nothing will be stored
		}
		return i.Add(record)
	})
	report.Cells = n.files.task.Tally(noted)
	file := storage.Digest(whole.Sum(nil))
	switch {
	case err != nil:
		return report, err
	case report.Bad > 0 && !o.SkipBad:
		return report, ErrBadLines
	case !o.Again:
		if err := n.refuse(file); err != nil {
			return report, err
		}
	}
	if err := n.commit(i, file, noted); err != nil {
		return report, err
	}
	p := n.plan()
	report.Records, report.NeverShared = count, p != nil && p.Left == 0
	return report, nil
}

// room is an error when the next record is not to be taken.
func (o *ImportOptions) room(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("node: import: %w", err)
	}
	if o.Room == nil {
		return nil
	}
	return o.Room()
}

// commit makes the records of an import count, and hands them over.
func (n *Node) commit(i *storage.Import, file storage.Digest, noted learner.Tally) error {
	n.storing.Lock()
	defer n.storing.Unlock()
	first, err := i.Commit(file)
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	n.fits.recordsAdded()
	for {
		some, err := n.some(first)
		if err != nil || len(some) == 0 {
			return err
		}
		if err := n.added(some, noted); err != nil {
			return err
		}
		noted = nil // are those of all
		first = some[len(some)-1].Seq + 1
	}
}

// some reads a few of the stored records from a number on. Nobody may wait for anything
// while the file is being read: who wants to write may wait for that.
func (n *Node) some(first learner.Seq) ([]learner.Record, error) {
	var some learner.Rows
	err := n.store.EachRecord(first, func(r learner.Record) error {
		if some.Len() == handOver {
			return errEnough
		}
		some.Add(r)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("node: %w", err)
	}
	return slices.Collect(some.All()), nil
}

// refuseKnown asks whether a file that can be read twice is refused for its digest.
func refuseKnown(r io.Reader, refuse func(storage.Digest) error) error {
	file, ok := r.(io.ReadSeeker)
	if !ok {
		return nil
	}
	start, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil // a pipe: its digest is known when it ends
	}
	whole := sha256.New()
	if _, err = io.Copy(whole, file); err == nil {
		_, err = file.Seek(start, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("node: read the file: %w", err)
	}
	return refuse(storage.Digest(whole.Sum(nil)))
}

// refuse returns [ErrImported] for a file that was imported before.
func (n *Node) refuse(file storage.Digest) error {
	earlier, found, err := n.store.Imported(file)
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	if !found {
		return nil
	}
	return &Advised{
		fmt.Errorf("%w, on %s, %d records from number %d on; nothing was stored, as its records would get a second budget and could be seen twice as well",
			ErrImported, earlier.Time.Format("2006-01-02 15:04"), earlier.Records, earlier.First),
		"if that is meant, say --again",
	}
}
