package datadir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"p2pnode/csvfile"
	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/node/summing"
)

// Plan returns the plan of a task's private sums, with the catalogue of the task's key.
// The plan of a task without private sums has no recipes.
func Plan(t *learner.Task, catalogue *learner.Catalogue) (*summing.Plan, error) {
	p, err := summing.NewPlan(t, catalogue, taskHash(t, gossip.Version))
	if err != nil {
		return nil, fmt.Errorf("node: %w", err)
	}
	return p, nil
}

// catalogueIn reads the catalogue by which a directory's task adds up. It returns nil if
// the task adds up nothing by keys.
func catalogueIn(dir string, t *learner.Task) (*learner.Catalogue, error) {
	if t.SumsCatalogue() == "" {
		return ReadCatalogue(t, nil)
	}
	path := filepath.Join(dir, CatalogueFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("node: %s is missing: put the file back that lists the keys of the task; it is the same on every node", path)
	}
	if err != nil {
		return nil, fmt.Errorf("node: read the catalogue: %w", err)
	}
	c, err := ReadCatalogue(t, content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ReadCatalogue compares the hash of the file that lists a task's keys, and reads its
// content. It returns nil for a task that adds up nothing by keys.
func ReadCatalogue(t *learner.Task, content []byte) (*learner.Catalogue, error) {
	want := t.SumsCatalogue()
	if want == "" && len(content) > 0 {
		return nil, fmt.Errorf("node: the task %q adds up nothing by a catalogue of keys: leave the file out", t.Name)
	}
	if want == "" {
		return t.Hashed(), nil
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != want {
		if len(content) == 0 {
			return nil, fmt.Errorf("node: the task %q needs the file that lists its keys, with the SHA-256 %s", t.Name, want)
		}
		return nil, fmt.Errorf("node: the catalogue is another file than the task %q names: its SHA-256 is %x and should be %s", t.Name, sum, want)
	}
	table, err := csvfile.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("node: the catalogue: %w", err)
	}
	var rows []learner.Row
	var bad error
	err = table.Each(func(line int, cells []string) error {
		rows = append(rows, row(table, slices.Clone(cells), line))
		return nil
	}, func(line int, reason error) { bad = errors.Join(bad, fmt.Errorf("line %d: %w", line, reason)) })
	if err = errors.Join(err, bad); err != nil {
		return nil, fmt.Errorf("node: the catalogue: %w", err)
	}
	return t.NewCatalogue(slices.Values(rows))
}

// row returns a line of a table as a row of the catalogue.
func row(table *csvfile.Reader, cells []string, line int) learner.Row {
	return learner.Row{Line: line, Cell: func(column string) (string, bool) {
		at, ok := table.Column(column)
		if !ok {
			return "", false
		}
		return cells[at], true
	}}
}
