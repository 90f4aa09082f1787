package storage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/learner"
)

// written encodes rows of a task with one number, so that each has cells.
func written(t testing.TB, cells ...string) (recs []learner.Record) {
	t.Helper()
	task := &learner.Task{
		Loss: "squared", Features: []learner.Feature{{Name: "a", Kind: "number", Min: -1, Max: 1}},
		Target: learner.Target{Name: "y", Min: -1, Max: 1},
	}
	for _, text := range cells {
		r, err := task.Encode(func(name string) (string, bool) {
			return map[string]string{"a": text, "y": "0.5"}[name], true
		})
		require.NoError(t, err)
		r.X = append(r.X, make([]float64, dim-1)...)
		recs = append(recs, r)
	}
	return recs
}

// kept is what a store keeps of cells.
func kept(t *testing.T, s *Store, from, to learner.Seq) map[learner.Seq]string {
	t.Helper()
	found := map[learner.Seq]string{}
	require.NoError(t, s.EachCells(from, to, func(q learner.Seq, c learner.Cells) {
		for i, cell := range c.All() {
			if i == 0 {
				found[q] = cell.Text
			}
		}
	}))
	return found
}

// Cells are stored with their record, counted and read for their owner only, and are
// deleted with their record.
func TestCellsLiveAndDieWithTheRecord(t *testing.T) {
	s, _ := open(t, newPath(t))
	_, err := s.AppendRecords(written(t, "0.25", "7"), full(100), today)
	require.NoError(t, err)
	_, err = s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 33)), 1), full(100), today) // without cells
	require.NoError(t, err)
	_, err = s.AppendRecords(written(t, "", "-9"), full(100), today)
	require.NoError(t, err)
	s, _ = reopen(t, s)
	if got, want := kept(t, s, 1, 9), map[learner.Seq]string{1: "0.25", 2: "7", 4: "", 5: "-9"}; !reflect.DeepEqual(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
	if got := kept(t, s, 2, 4); len(got) != 2 || got[2] != "7" {
		t.Errorf("from 2 to 4: %v", got)
	}
	live, _, err := s.Records()
	require.NoError(t, err)
	for _, r := range live {
		if r.Cells != "" {
			t.Errorf("record %d brings its cells into memory", r.Seq)
		}
	}
	for _, c := range []struct {
		delete learner.Seq
		want   learner.Tally
	}{
		{0, learner.Tally{{Empty: 1, Clamped: 2}}},
		{2, learner.Tally{{Empty: 1, Clamped: 1}}},
		{4, learner.Tally{{Clamped: 1}}},
		{1, learner.Tally{{Clamped: 1}}},
	} {
		if c.delete > 0 {
			require.NoError(t, s.DeleteRecord(c.delete))
		}
		counted, err := s.Count()
		require.NoError(t, err)
		if !reflect.DeepEqual(counted.Noted, c.want) {
			t.Errorf("without %d: counted %+v, want %+v", c.delete, counted.Noted, c.want)
		}
	}
	if got, want := kept(t, s, 1, 9), map[learner.Seq]string{5: "-9"}; !reflect.DeepEqual(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
}

// No byte of the file holds a deleted record's cells, and a copy holds those of the
// others.
func TestDeletedCellsAreErased(t *testing.T) {
	path := newPath(t)
	s, _ := open(t, path)
	var cells []string
	for i := range 300 {
		cells = append(cells, fmt.Sprintf("0.%05d", 10001+i))
	}
	_, err := s.AppendRecords(written(t, cells...), full(1000), today)
	require.NoError(t, err)
	_, err = s.AppendRecords(written(t, cells...), full(1000), today) // so that pages move
	require.NoError(t, err)
	var gone []learner.Seq
	for _, i := range []int{7, 150, 299} {
		gone = append(gone, learner.Seq(i+1), learner.Seq(i+301))
	}
	require.NoError(t, s.DeleteRecords(gone...))
	var backup bytes.Buffer
	require.NoError(t, s.Backup(&backup))
	require.NoError(t, s.Close())
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, data := range map[string][]byte{"file": file, "backup": backup.Bytes()} {
		for i, text := range cells {
			if there, deleted := bytes.Contains(data, []byte(text)), i == 7 || i == 150 || i == 299; there == deleted {
				t.Errorf("%s: cell %q of record %d: there %v, deleted %v", name, text, i+1, there, deleted)
			}
		}
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, os.WriteFile(copied, backup.Bytes(), 0o600))
	back := newPath(t)
	_, err = Restore(copied, back, with(policy(t)), nil, 0)
	require.NoError(t, err)
	s, _ = open(t, back)
	if got := kept(t, s, 1, 600); len(got) != 594 || got[7] != cells[6] {
		t.Errorf("the restored copy keeps the cells of %d records, those of record 7 are %q", len(got), got[7])
	}
}
