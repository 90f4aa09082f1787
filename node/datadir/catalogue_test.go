package datadir

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/learner"
)

// itemsTask is lineTask with sums by the keys of a catalogue.
func itemsTask(t testing.TB, catalogue string) *learner.Task {
	t.Helper()
	task := lineTask()
	sum := sha256.Sum256([]byte(catalogue))
	task.Features = append(task.Features, learner.Feature{Name: "place", Kind: "key", Catalogue: hex.EncodeToString(sum[:])})
	task.Learner = "sums"
	task.Sums = learner.Sums{
		Recipes: []learner.Recipe{{Kind: "items", Share: 1}}, Colluding: 1, Contributors: 10, Records: 10, Epochs: 1, CloseSeconds: 60,
	}
	for range 4 {
		task.Sums.Committee = append(task.Sums.Committee, randomPeer(t).String())
	}
	return task
}

// A task that sums up by a catalogue of keys needs that very file, in a new directory and in
// an old one; another task takes none.
func TestCatalogue(t *testing.T) {
	const places = "place,a,b\nhall,0.5,0\nroof,-1,1\n"
	task := itemsTask(t, places)
	made := func(task *learner.Task, catalogue string) (string, error) {
		dir := filepath.Join(t.TempDir(), "node")
		return dir, Make(dir, New{Task: task, Config: DefaultConfig(task), Catalogue: []byte(catalogue)})
	}
	for catalogue, want := range map[string]string{
		"":                      "needs the file that lists its keys, with the SHA-256 " + task.SumsCatalogue(),
		places + "cellar,0,0\n": "the catalogue is another file than the task \"line\" names",
	} {
		if dir, err := made(task, catalogue); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %q: %v", catalogue, err)
		} else if _, err := os.Stat(dir); err == nil {
			t.Errorf("with %q there is a directory", catalogue)
		}
	}
	if _, err := made(lineTask(), places); err == nil || !strings.Contains(err.Error(), "adds up nothing by a catalogue of keys: leave the file out") {
		t.Errorf("a task without keys: %v", err)
	}

	dir, err := made(task, places)
	require.NoError(t, err)
	files, err := Read(dir)
	if err != nil || files.Catalogue.Keys() != 2 {
		t.Fatalf("read back: %+v, %v", files.Catalogue, err)
	}
	path := filepath.Join(dir, CatalogueFile)
	require.NoError(t, os.WriteFile(path, []byte(places+"\n"), 0o600))
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "is another file") {
		t.Errorf("another file: %v", err)
	}
	require.NoError(t, os.Remove(path))
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), path+" is missing: put the file back") {
		t.Errorf("no file: %v", err)
	}
	if files, err := ReadSharing(dir, files.Catalogue); err != nil || files.Catalogue.Keys() != 2 {
		t.Errorf("with a shared catalogue: %v", err)
	}
}

// A committee is of peers whose IDs hold their keys.
func TestCommitteeOfATask(t *testing.T) {
	task := itemsTask(t, "")
	task.Sums.Recipes[0].Kind = "mean"
	for member, want := range map[string]string{
		"nobody": `sums.committee[0] of the task is "nobody": no peer ID`,
		"QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N": "the peer ID has no Ed25519 key in it",
	} {
		wrong := *task
		wrong.Sums.Committee = append([]string{member}, task.Sums.Committee[1:]...)
		if _, err := Plan(&wrong, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", member, err)
		}
	}
	plan, err := Plan(task, nil)
	if err != nil || plan.Recipes() != 1 || len(plan.Members()) != 4 || plan.Members()[2].String() != task.Sums.Committee[2] {
		t.Errorf("a plan with members %v, %v", plan.Members(), err)
	}
}

// A node of a task whose whole budget goes into private sums has noise for certain.
func TestSumsAreProtected(t *testing.T) {
	task := itemsTask(t, "")
	c := DefaultConfig(task)
	c.Unprotected = Consent
	if err := c.Validate(task); err == nil || !strings.Contains(err.Error(), `key "unprotected": remove it`) {
		t.Errorf("without protection: %v", err)
	}
}
