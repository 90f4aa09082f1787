package datadir

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

// put writes a file into a directory.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// names are the files of a directory.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// crowded makes a directory of a node at rest with a file of every kind.
func crowded(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "node")
	require.NoError(t, Init(dir, lineTask(), DefaultConfig(lineTask())))
	require.NoError(t, openStore(t, dir).Close())
	if _, err := CreateNetworkKey(dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Restore(dir, "", nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{SocketFile, TokensFile, "tokens.json.21", "spool.22", PrivateFile, membersFile, "members.toml.17", "config.toml.18", "identity.key.19", "private.toml.20", "swarm.key.21", "catalogue.csv.23", "doctor-4711", "p2pnode.db.restoring", "p2pnode.db.restoring.anchor", "p2pnode.db.restoring.lock", "p2pnode.db.before-schema-5", "p2pnode.db.before-schema-5.unfinished", "p2pnode.db.compacting"} {
		put(t, dir, name, "left")
	}
	if err := os.Chmod(filepath.Join(dir, KeyFile), 0o400); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Everything that the node wrote is overwritten and removed, and the directory with it.
func TestErase(t *testing.T) {
	dir := crowded(t)
	want := []string{
		"catalogue.csv.23", ConfigFile, "config.toml.18", "doctor-4711", KeyFile, "identity.key.19", membersFile, "members.toml.17",
		"p2pnode.db", "p2pnode.db.anchor", "p2pnode.db.before-schema-5", "p2pnode.db.before-schema-5.unfinished", "p2pnode.db.compacting", "p2pnode.db.replaced-1",
		"p2pnode.db.replaced-1.anchor", "p2pnode.db.replaced-2", "p2pnode.db.replaced-2.anchor", "p2pnode.db.restoring", "p2pnode.db.restoring.anchor", "p2pnode.db.restoring.lock",
		SocketFile, PrivateFile, "private.toml.20", "spool.22", networkKeyFile, "swarm.key.21", TaskFile, TokensFile, "tokens.json.21",
	}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Fatalf("the directory has %q, want %q", got, want)
	}
	second := t.TempDir() // other names of the same files show what became of the content
	for _, name := range want {
		if err := os.Link(filepath.Join(dir, name), filepath.Join(second, name)); err != nil {
			t.Fatal(err)
		}
	}
	left, err := Erase(dir)
	if err != nil || len(left) > 0 {
		t.Fatalf("left %q, %v", left, err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is there still: %v", err)
	}
	for _, name := range want {
		text, err := os.ReadFile(filepath.Join(second, name))
		if err != nil || len(text) == 0 || len(bytes.Trim(text, "\x00")) > 0 {
			t.Errorf("%s: %d bytes, %v; want zeros", name, len(text), err)
		}
	}
}

// What the node did not write stays, however similar its name, and is named.
func TestEraseLeavesTheRest(t *testing.T) {
	dir := crowded(t)
	others := []string{
		"backup.db", "doctor-notes", "members.toml.old", "members.toml.17~", "p2pnode.db.replaced-", "p2pnode.db.replaced-1.bak",
		"p2pnode.db2", "xp2pnode.db", "relay.key", "config.toml.save",
	}
	for _, name := range others {
		put(t, dir, name, "mine")
	}
	if err := os.Mkdir(filepath.Join(dir, "notes"), 0o700); err != nil {
		t.Fatal(err)
	}
	others = append(others, "notes")
	slices.Sort(others)
	left, err := Erase(dir)
	slices.Sort(left)
	if err != nil || !slices.Equal(left, others) || !slices.Equal(names(t, dir), others) {
		t.Fatalf("left %q, %v; want %q", left, err, others)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "backup.db")); string(text) != "mine" {
		t.Errorf("a file of the owner's now says %q, %v", text, err)
	}
	if _, err := Erase(dir); err == nil || !strings.Contains(err.Error(), "holds no node") {
		t.Errorf("erased again: %v", err)
	}
}

// While a node has the directory open nothing is touched.
func TestEraseRefusesAnOpenDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "node")
	require.NoError(t, Init(dir, lineTask(), DefaultConfig(lineTask())))
	opened := openStore(t, dir)
	before := names(t, dir)
	if _, err := Erase(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("erased under a node: %v", err)
	}
	if after := names(t, dir); !slices.Equal(before, after) {
		t.Errorf("the directory has %q, want %q", after, before)
	}
	require.NoError(t, opened.Close())
}

// Nothing is touched where there is no node, and where a link would lead elsewhere.
func TestEraseRefuses(t *testing.T) {
	away := filepath.Join(t.TempDir(), "away")
	for name, c := range map[string]struct {
		prepare func(dir string) error
		want    string
	}{
		"nothing":  {func(dir string) error { return os.Remove(dir) }, "holds no node"},
		"empty":    {func(string) error { return nil }, "holds no node"},
		"key only": {func(dir string) error { put(t, dir, KeyFile, "k"); return nil }, "holds no node"},
		"a project": {func(dir string) error {
			put(t, dir, ConfigFile, "c")
			put(t, dir, TaskFile, "t")
			return nil
		}, "holds no node"},
		"a link": {func(dir string) error {
			put(t, dir, KeyFile, "k")
			return errors.Join(os.WriteFile(away, []byte("elsewhere"), 0o600), os.Symlink(away, filepath.Join(dir, StoreFile)))
		}, "p2pnode.db is a directory, a link or a device"},
		"a directory": {func(dir string) error {
			put(t, dir, StoreFile, "d")
			return os.Mkdir(filepath.Join(dir, ConfigFile), 0o700)
		}, "config.toml is a directory, a link or a device"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := c.prepare(dir); err != nil {
				t.Fatal(err)
			}
			before := names(t, dir)
			if _, err := Erase(dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if after := names(t, dir); !slices.Equal(before, after) {
				t.Errorf("the directory has %q, want %q", after, before)
			}
		})
	}
	if text, err := os.ReadFile(away); string(text) != "elsewhere" {
		t.Errorf("what a link leads to now says %q, %v", text, err)
	}
}

// A directory that is a link itself is emptied; a damaged database keeps nobody from
// erasing it.
func TestEraseDamagedThroughALink(t *testing.T) {
	dir := crowded(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	put(t, dir, StoreFile, strings.Repeat("no database", 10_000))
	if left, err := Erase(link); err != nil || len(left) > 0 {
		t.Fatalf("left %q, %v", left, err)
	}
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("the directory has %q", got)
	}
	if _, err := os.Lstat(link); err != nil {
		t.Errorf("the link: %v", err)
	}
}

// Wherever an erasure is interrupted, the directory is refused and says why, and can be
// erased to the end.
func TestEraseInterrupted(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 8 {
		dir := crowded(t)
		e := &erasure{dir: dir}
		var err error
		if e.root, err = os.OpenRoot(dir); err != nil {
			t.Fatal(err)
		}
		if err = e.mark(); err != nil {
			t.Fatal(err)
		}
		files, err := e.files()
		if err != nil || files[0] != KeyFile {
			t.Fatalf("%q, %v", files, err)
		}
		overwritten := random.IntN(len(files) + 1)
		for _, name := range files[:overwritten] {
			err = errors.Join(err, e.overwrite(name))
		}
		if overwritten == len(files) || random.IntN(2) == 0 {
			for _, name := range files[:random.IntN(overwritten+1)] {
				err = errors.Join(err, e.root.Remove(name))
			}
		}
		if err = errors.Join(err, e.root.Close()); err != nil {
			t.Fatal(err)
		}
		for what, do := range map[string]func() error{
			"opened":   func() error { _, err := Read(dir); return err },
			"restored": func() error { _, err := Restore(dir, "", nil); return err },
			"begun":    func() error { return Init(dir, lineTask(), DefaultConfig(lineTask())) },
		} {
			if err := do(); err == nil || !strings.Contains(err.Error(), "p2pnode erase --dir "+dir) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if left, err := Erase(dir); err != nil || len(left) > 0 || len(names(t, dir)) > 0 {
			t.Errorf("left %q, %v, %q", left, err, names(t, dir))
		}
	}
}

// A daemon that stops removes its socket while the directory is looked at. The socket
// here comes and goes until a thousand looks are done. When a file that is gone was an
// error, each of fifty runs met it.
func TestEraseWhileTheSocketGoes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	require.NoError(t, Init(dir, lineTask(), DefaultConfig(lineTask())))
	over, ended := make(chan struct{}), make(chan error)
	go func() {
		defer close(ended)
		for path := filepath.Join(dir, SocketFile); ; {
			if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Remove(path)); err != nil {
				ended <- err
				return
			}
			select {
			case <-over:
				return
			default:
			}
		}
	}()
	for range 1000 {
		if err := Erasable(dir); err != nil {
			t.Error(err)
			break
		}
	}
	close(over)
	require.NoError(t, <-ended)
	if _, err := Erase(dir); err != nil {
		t.Error(err)
	}
}
