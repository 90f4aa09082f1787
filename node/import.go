package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"time"

	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/storage"
)

// Import reads records from CSV with a header row, or from lines of JSON, and stores
// them, all or none. If the file has bad lines and o does not skip them, it fails with
// [api.ErrBadLines] and returns the report. If the same file, byte for byte, was imported
// before and o does not say again, it fails with [api.ErrImported], before it stores
// anything, and with [api.ErrChanged] if the file begins with all of such a file. A file
// without a line for a record is an [api.ErrRequest]. Its memory does not grow with the file.
// Other records wait while the records are stored, but not for a slow r: what cannot be read
// twice is written to the disk first.
//
// If o names a column of IDs, Import stores a part of the records at a time. If there are
// bad lines, it then fails with [api.ErrSomeBad] and returns the report.
func (n *Node) Import(ctx context.Context, r io.Reader, o api.ImportOptions) (report api.ImportReport, err error) {
	if _, ok := r.(io.Seeker); ok {
		return n.importFile(ctx, r, o)
	}
	whole, drop, err := n.Receive(r, o)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	return n.importFile(ctx, whole, o)
}

// importFile is Import of a file that can be read twice.
func (n *Node) importFile(ctx context.Context, r io.Reader, o api.ImportOptions) (report api.ImportReport, err error) {
	n.adding.Lock()
	defer n.adding.Unlock()
	if !o.Again {
		if err := api.ReadAhead(r, func(file io.Reader) error { return n.importedBefore(ctx, file, o) }); err != nil {
			return report, err
		}
	}
	if o.ID != "" {
		return n.importKnown(ctx, r, o)
	}
	i, err := n.store.Import(n.cohortRule(), time.Now())
	if err != nil {
		return report, fmt.Errorf("node: %w", err)
	}
	defer func() {
		if dropped := i.Drop(); dropped != nil {
			err = errors.Join(err, fmt.Errorf("node: %w", dropped))
		}
	}()
	count, whole := 0, newMeasure()
	var noted learner.Tally
	err = readRows(io.TeeReader(r, whole), n.files.Task, "", &report, func(a storage.Arrival) error {
		if err := n.room(ctx, o, count); err != nil {
			return err
		}
		noted.Add(a.Cells)
		if count++; report.Bad > 0 && !o.SkipBad {
			return nil // nothing will be stored
		}
		return i.Add(a.Record)
	})
	report.Cells = n.files.Task.Tally(nil) // a file that is refused has no notes on cells
	file := whole.digest()
	switch {
	case err != nil:
		return report, err
	case report.Bad > 0 && !o.SkipBad:
		return report, api.ErrBadLines
	case count == 0: // all lines are bad and left out; the file may come again with others
		return report, nil
	case !o.Again:
		if err := n.Imported(ctx, o.File(file)); err != nil {
			return report, err
		}
	}
	if err := n.commit(i, file, whole.size, noted); err != nil {
		return report, err
	}
	report.Records, report.NeverShared, report.Missing = count, n.neverShared(), n.awaited()
	n.diary.Gather(api.Event{Kind: api.EventImported, Text: "records stored", Records: count, Missing: report.Missing})
	report.Cells = n.files.Task.Tally(noted)
	return report, n.name(o.File(file))
}

// measure is the digest and the size of what is written to it.
type measure struct {
	hash.Hash
	size int64
	last byte
}

func newMeasure() *measure { return &measure{Hash: sha256.New()} }

// Write implements [io.Writer].
func (m *measure) Write(p []byte) (int, error) {
	if m.size += int64(len(p)); len(p) > 0 {
		m.last = p[len(p)-1]
	}
	return m.Hash.Write(p)
}

func (m *measure) digest() storage.Digest { return storage.Digest(m.Sum(nil)) }

// importedBefore returns [api.ErrImported] if a file was imported before, and [api.ErrChanged] if it
// begins with all of another one that was, as the same list does a month later, and its lines
// have no IDs.
func (n *Node) importedBefore(ctx context.Context, file io.Reader, o api.ImportOptions) error {
	var sizes []int64
	if o.ID == "" {
		var err error
		if sizes, err = n.store.ImportSizes(); err != nil {
			return fmt.Errorf("node: look for files that were imported: %w", err)
		}
	}
	var grown error
	whole := newMeasure()
	read := func(most int64) error {
		if _, err := io.CopyN(whole, file, most); err != nil && err != io.EOF {
			return fmt.Errorf("node: read the file: %w", err)
		}
		return nil
	}
	for _, size := range sizes {
		if err := read(size - whole.size); err != nil {
			return err
		}
		if whole.size < size {
			break
		}
		earlier, found, err := n.store.Imported(whole.digest())
		if err != nil {
			return fmt.Errorf("node: %w", err)
		}
		if found && whole.last != '\n' { // the line may go on
			if err := read(1); err != nil {
				return err
			}
			found = whole.last == '\n' || whole.last == '\r'
		}
		if found && earlier.Records > 0 {
			grown = api.Advise(
				fmt.Errorf("%w: it begins with all of what was imported on %s, %s%s; nothing was stored, because these would be records twice, with a second budget",
					api.ErrChanged, earlier.Time.Format("2006-01-02 15:04"), api.Count(earlier.Records, "record"), from(earlier.First)),
				"import the new rows alone, or name the column with your own key of each row: id=COLUMN; to import it all the same, say again=true")
			break
		}
	}
	if err := read(math.MaxInt64); err != nil {
		return err
	}
	if err := n.Imported(ctx, o.File(whole.digest())); err != nil {
		return err
	}
	return grown
}

// putTogether is how many records of a file with IDs are stored in one transaction.
const putTogether = 4096

// importKnown stores the records of a file with IDs, a part at a time. The caller holds
// n.adding.
func (n *Node) importKnown(ctx context.Context, r io.Reader, o api.ImportOptions) (report api.ImportReport, err error) {
	var some []storage.Arrival
	var noted learner.Tally
	store := func() error {
		changes, err := n.putLocked(ctx, some)
		if err != nil {
			return err
		}
		count(&report, changes.Outcomes)
		noted, some = noted.Plus(notes(some)), some[:0]
		return nil
	}
	whole := newMeasure()
	err = readRows(io.TeeReader(r, whole), n.files.Task, o.ID, &report, func(a storage.Arrival) error {
		if err := n.room(ctx, o, len(some)); err != nil {
			return err
		}
		if some = append(some, a); len(some) < putTogether {
			return nil
		}
		return store()
	})
	lost := errors.Is(err, api.ErrBadLines)
	if err == nil || lost {
		err = store()
	}
	report.Cells, report.NeverShared, report.Missing = n.files.Task.Tally(noted), n.neverShared(), n.awaited()
	switch {
	case err != nil:
		return report, err
	case lost, report.Bad > 0 && !o.SkipBad:
		return report, api.ErrSomeBad
	}
	file := whole.digest()
	err = n.noteImport(file, storage.Imported{Records: report.Records + report.Same, Time: time.Now(), Size: whole.size})
	return report, errors.Join(err, n.name(o.File(file)))
}

// count adds outcomes to a report.
func count(r *api.ImportReport, outcomes []storage.Outcome) {
	for _, o := range outcomes {
		switch o {
		case storage.Same:
			r.Same++
		case storage.Replaced:
			r.Replaced++
			r.Records++
		default:
			r.Records++
		}
	}
}

// room returns an error if the next record must not be stored. taken is how many were
// taken before.
func (n *Node) room(ctx context.Context, o api.ImportOptions, taken int) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("node: import: %w", err)
	}
	if taken%spaceEvery == 0 {
		if err := n.space(); err != nil {
			return err
		}
	}
	if o.Room == nil {
		return nil
	}
	return o.Room()
}

// commit makes the records of an import visible and hands them to the agent.
func (n *Node) commit(i *storage.Import, file storage.Digest, size int64, noted learner.Tally) error {
	n.storing.Lock()
	defer n.storing.Unlock()
	first, err := i.Commit(file, size)
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	defer n.fits.outdated() // a fit that begins meanwhile may not know all of them
	for {
		some, err := n.some(first)
		if err == nil && len(some) == 0 {
			return n.retain(time.Now())
		}
		if err == nil {
			err = n.added(some, noted)
		}
		if err != nil {
			n.records.forget() // the rest of the file is stored, too
			return err
		}
		noted = nil // they were the notes of all records
		first = some[len(some)-1].Seq + 1
	}
}

// some reads a few of the stored records, from a number on. It must not wait for anything
// while it reads the file, because a writer may be waiting until the file was read.
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

// Imported returns [api.ErrImported] for a file that was imported before, and notes its
// present name. It returns [api.ErrChanged] if its name is that of another file that was
// imported.
func (n *Node) Imported(_ context.Context, file api.File) error {
	earlier, found, err := n.store.Imported(file.Digest)
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	if !found {
		return n.unchanged(file)
	}
	if err := n.name(file); err != nil {
		return err
	}
	return api.Advise(
		fmt.Errorf("%w, on %s, %s%s; nothing was stored, because its records would get a second budget and others could learn twice as much about them",
			api.ErrImported, earlier.Time.Format("2006-01-02 15:04"), api.Count(earlier.Records, "record"), from(earlier.First)),
		"to import it all the same, say again=true",
	)
}

// unchanged returns [api.ErrChanged] if a file with this name was imported with other
// content, and its lines have no IDs by which the old ones can be recognised.
func (n *Node) unchanged(file api.File) error {
	if file.Name == "" || file.ByID {
		return nil
	}
	digest, err := n.store.Meta(nameKey(file.Name))
	if err != nil {
		return fmt.Errorf("node: look for the file's name: %w", err)
	}
	if digest == "" || digest == hex.EncodeToString(file.Digest[:]) {
		return nil
	}
	return api.Advise(
		fmt.Errorf("%w: a file of this name was imported with other content; nothing was stored, because rows that were in it would be records twice, with a second budget", api.ErrChanged),
		"give each file a name of its own, as readings-2026-11-29.csv, or name the column with your own key of each row: id=COLUMN; if no row is in both, import it with again=true")
}

// name notes the name of a file that was imported, if it has one.
func (n *Node) name(file api.File) error {
	if file.Name == "" {
		return nil
	}
	if err := n.store.PutMeta(nameKey(file.Name), hex.EncodeToString(file.Digest[:])); err != nil {
		return fmt.Errorf("node: note the file's name: %w", err)
	}
	return nil
}

// nameKey is the key under which the digest of the file with this name is stored. The key
// does not contain the name.
func nameKey(name string) string { return fmt.Sprintf("file/%x", sha256.Sum256([]byte(name))) }

// from says with which number the records of an import begin, if their numbers follow
// each other.
func from(first learner.Seq) string {
	if first == 0 {
		return ""
	}
	return fmt.Sprintf(" from number %d on", first)
}
