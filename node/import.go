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
	"p2pnode/node/api"
	"p2pnode/storage"
)

// Import reads records from CSV with a header row and stores them, all or none. It fails
// with ErrBadLines, and returns the report, if the file has bad lines and o does not skip
// them. It fails with ErrImported if the same file, byte for byte, was imported before and
// o does not say again; where r can be read twice, it does so before anything is written.
// Its memory does not grow with the file. Other records wait until it has ended.
func (n *Node) Import(ctx context.Context, r io.Reader, o api.ImportOptions) (report api.ImportReport, err error) {
	if !o.Again {
		if err := api.CheckKnown(r, func(file api.Digest) error { return n.Imported(ctx, file) }); err != nil {
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
	err = readRows(io.TeeReader(r, whole), n.files.Task, &report, func(record learner.Record) error {
		if err := room(ctx, o); err != nil {
			return err
		}
		noted.Add(record.Cells)
		if count++; report.Bad > 0 && !o.SkipBad {
			return nil // nothing will be stored
		}
		return i.Add(record)
	})
	report.Cells = n.files.Task.Tally(nil) // what is refused has none
	file := storage.Digest(whole.Sum(nil))
	switch {
	case err != nil:
		return report, err
	case report.Bad > 0 && !o.SkipBad:
		return report, api.ErrBadLines
	case !o.Again:
		if err := n.Imported(ctx, file); err != nil {
			return report, err
		}
	}
	if err := n.commit(i, file, noted); err != nil {
		return report, err
	}
	p := n.plan()
	report.Records, report.NeverShared = count, p != nil && p.Left == 0
	report.Cells = n.files.Task.Tally(noted)
	return report, nil
}

// room returns an error when the next record must not be taken.
func room(ctx context.Context, o api.ImportOptions) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("node: import: %w", err)
	}
	if o.Room == nil {
		return nil
	}
	return o.Room()
}

// commit makes the records of an import visible and hands them to the agent.
func (n *Node) commit(i *storage.Import, file storage.Digest, noted learner.Tally) error {
	n.storing.Lock()
	defer n.storing.Unlock()
	first, err := i.Commit(file)
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	n.fits.outdated()
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

// some reads a few of the stored records from a number on. It must not wait for anything
// while it reads the file, because a writer may be waiting for the read to end.
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

// Imported returns [ErrImported] for a file that was imported before.
func (n *Node) Imported(_ context.Context, file api.Digest) error {
	earlier, found, err := n.store.Imported(file)
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	if !found {
		return nil
	}
	return api.Advise(
		fmt.Errorf("%w, on %s, %d records from number %d on; nothing was stored, because its records would get a second budget and others could learn twice as much about them",
			api.ErrImported, earlier.Time.Format("2006-01-02 15:04"), earlier.Records, earlier.First),
		"to import it all the same, say --again",
	)
}
