package mobile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"p2pnode/learner"
	"p2pnode/node/api"
)

const (
	// exampleMemory is the memory that examples may take by default, in bytes.
	exampleMemory = 32 << 20
	// exampleOverhead is the memory of one example beside its features.
	exampleOverhead = 64
	// longestPage is the most examples that ExamplesJSON lists.
	longestPage = 1000
)

// mostExamples is how many examples the node keeps.
func mostExamples(c *Config, t *learner.Task) int {
	if c.MaxExamples > 0 {
		return c.MaxExamples
	}
	return exampleMemory / (8*t.Width() + exampleOverhead)
}

// AddExample queues one example: its features as little-endian float64, laid out as
// [Node.TaskJSON] says, and its label: a number, 1 or 0 for two classes, the number of
// the class from 0 for several. A value outside its range counts as the nearest end, and a
// number closer to 0 than 2.2e-308 that is not 0 (a subnormal one) is [CodeInput]: no
// measurement is one, and many are whose bytes are in another order. The example is written
// within a second; the event "stored" says so, and [Node.Flush] waits for it. A full queue or
// a full node is [CodeFull], and the example is not taken. While the disk has no room, which
// the event "error" reports once, queued examples wait, and are written as soon as it has.
// After a write that failed on the way no example is accepted any more: make room, stop the
// node and make a new one.
func (n *Node) AddExample(featuresLE []byte, label float64) error {
	return n.do(func() error {
		r, err := n.example(featuresLE, label)
		if err != nil {
			return coded(CodeInput, withoutValue(err))
		}
		return n.queue.add(r)
	})
}

// example encodes an example from the app.
func (n *Node) example(featuresLE []byte, label float64) (learner.Record, error) {
	raw, err := decodeVector(featuresLE)
	if err != nil {
		return learner.Record{}, err
	}
	return n.node.Task().EncodeExample(raw, label)
}

// AddExampleJSON is AddExample with the values by column, the target among them, as
// text or numbers, null for what is unknown: {"outside": 3.5, "day": "work",
// "power": 1.2}. The values of a set are written as in a CSV, "red|blue", a class by its
// name, and a vector as a list of numbers or as in a CSV.
func (n *Node) AddExampleJSON(rowJSON string) error {
	return n.do(func() error {
		row, err := parseRow(n.node.Task(), rowJSON)
		if err != nil {
			return err
		}
		r, err := n.node.Task().Encode(row)
		if err != nil {
			return coded(CodeInput, withoutValue(err))
		}
		return n.queue.add(r)
	})
}

// AddExamples stores examples, all or none, and returns when they are on disk. rowsLE
// has rows of features and label, one after the other. Queued examples are written
// first. It takes as long as the disk does.
func (n *Node) AddExamples(rowsLE []byte) error {
	return n.do(func() error {
		width := 8 * (n.node.Task().VectorLength() + 1)
		if len(rowsLE)%width != 0 {
			return wrongInput("%d bytes are no rows of features and a label: each takes %d", len(rowsLE), width)
		}
		if count := len(rowsLE) / width; count > n.queue.most {
			return coded(CodeFull, fmt.Errorf("%d examples, and the node keeps at most %d", count, n.queue.most))
		}
		var records []learner.Record
		for at := 0; at < len(rowsLE); at += width {
			features, label := rowsLE[at:at+width-8], rowsLE[at+width-8:at+width]
			y, err := decodeVector(label)
			if err != nil {
				return wrongInput("row %d: the label: %w", at/width+1, err)
			}
			r, err := n.example(features, y[0])
			if err != nil {
				return wrongInput("row %d: %w", at/width+1, withoutValue(err))
			}
			records = append(records, r)
		}
		return n.queue.append(n.ctx, records)
	})
}

// ImportCSV stores the examples of a CSV file with a header, all or none, and returns
// the daemon's report as JSON. skipBad leaves bad lines out; without it they are an
// error that names the first; the report says what is wrong with each. A file that was
// imported before, byte for byte, or that begins with all of one, is an error, because its
// examples would get a second budget; with again it is imported all the same. A file
// without a line that names the columns, and a device, are [CodeInput]. It takes as long as
// reading and writing do, and queued examples wait meanwhile, but not for a slow pipe.
func (n *Node) ImportCSV(path string, skipBad, again bool) (reportJSON string, err error) {
	return n.json(func() (any, error) {
		report, err := n.importCSV(path, api.ImportOptions{SkipBad: skipBad, Again: again})
		if n.ctx.Err() != nil {
			return nil, errStopped
		}
		return report, describeBadLines(err, report)
	})
}

func (n *Node) importCSV(path string, o api.ImportOptions) (report api.ImportReport, err error) {
	file, err := openFile(n.ctx, path)
	if err != nil {
		return report, coded(CodeInput, err)
	}
	defer file.Close()
	defer context.AfterFunc(n.ctx, func() { _ = file.Close() })() // a pipe may never end
	info, err := file.Stat()
	if err != nil {
		return report, err
	}
	switch {
	case info.IsDir():
		return report, wrongInput("%s is a directory; give the path of a CSV file", path)
	case info.Mode()&os.ModeCharDevice != 0: // it may never end
		return report, wrongInput("%s is a device; give the path of a CSV file", path)
	}
	rows := io.ReadSeeker(file)
	if !info.Mode().IsRegular() { // it may be slow, and nothing else is written while rows are read
		var drop func() error
		if rows, drop, err = n.node.Receive(file, o); err != nil {
			return report, err
		}
		defer func() { err = errors.Join(err, drop()) }()
	}
	err = n.queue.appendFrom(n.ctx, func(room func() error) (err error) {
		o.Room = room
		report, err = n.node.Import(n.ctx, rows, o)
		return err
	})
	return report, err
}

// openFile opens a file to read it, until ctx ends: opening a pipe takes until somebody
// writes to it.
func openFile(ctx context.Context, path string) (*os.File, error) {
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		file, err := os.Open(path)
		done <- opened{file, err}
	}()
	select {
	case o := <-done:
		return o.file, o.err
	case <-ctx.Done():
		go func() { _ = (<-done).file.Close() }() // of no file, after an error, this is an error
		return nil, ctx.Err()
	}
}

// describeBadLines adds the first bad line to an error, because the bindings cannot
// return a report beside an error.
func describeBadLines(err error, report api.ImportReport) error {
	if err == nil || len(report.Lines) == 0 {
		return err
	}
	return fmt.Errorf("%w (%d bad lines, the first is line %d)", err, report.Bad, report.Lines[0].Line)
}

// Flush waits until every queued example is on disk, as long as that takes.
func (n *Node) Flush() error {
	return n.do(func() error { return n.queue.write(n.ctx) })
}

// ExamplesJSON lists stored examples with their content, in order of their numbers,
// which start at 1: from the number from on, at most count, 1 to 1000. Deleted examples
// are listed without content. It looks at all examples: call it in the background.
func (n *Node) ExamplesJSON(from, count int) (listJSON string, err error) {
	return n.json(func() (any, error) {
		if from < 1 || count < 1 || count > longestPage {
			return nil, wrongInput("%d examples from number %d: numbers start at 1, and a page has 1 to %d", count, from, longestPage)
		}
		return n.node.RecordsFrom(n.ctx, uint64(from), count)
	})
}

// DeleteExamples erases the content of stored examples, given by their numbers as a
// JSON list, all or none. The personal model forgets them at once. What was released
// with them stays public. It takes as long as the disk does.
func (n *Node) DeleteExamples(numbersJSON string) error {
	return n.do(func() error {
		var numbers []uint64
		if err := decodeJSON(numbersJSON, &numbers); err != nil {
			return wrongInput("the numbers of examples are not a JSON list as [3,17]: %w", err)
		}
		if len(numbers) == 0 {
			return nil
		}
		err := n.node.Delete(n.ctx, numbers)
		if errorCode(err) == CodeInput {
			return err // nothing was deleted
		}
		n.queue.recount()
		err = errors.Join(err, n.models.drop()) // a model that may still know the deleted examples must not be used
		n.comparison.Store(nil)
		return err
	})
}
