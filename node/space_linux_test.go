package node

import (
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/storage"
)

// smallDisk mounts a file system of that many megabytes.
func smallDisk(t *testing.T, megabytes string) string {
	t.Helper()
	if os.Getenv("P2PNODE_LAB") == "" {
		t.Skip("runs in a step of its own: set P2PNODE_LAB=yes and run as root, as it mounts a file system")
	}
	disk := t.TempDir()
	require.NoError(t, syscall.Mount("none", disk, "tmpfs", 0, "size="+megabytes+"m"))
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	return disk
}

// fill takes all space of a disk but so many bytes, until free is called.
func fill(t *testing.T, disk string, but int64) (free func()) {
	t.Helper()
	var s syscall.Statfs_t
	require.NoError(t, syscall.Statfs(disk, &s))
	name := filepath.Join(disk, "filler")
	require.NoError(t, os.WriteFile(name, make([]byte, int64(s.Bavail)*s.Bsize-but), 0o600))
	return func() { require.NoError(t, os.Remove(name)) }
}

// When the disk is nearly full, records are refused with words, and what the node pays still
// fits. When it is full to the last byte, nothing leaves unpaid and nothing is lost, and the
// node goes on where there is room again.
func TestLabFullDisk(t *testing.T) {
	disk := smallDisk(t, "64")
	dir := filepath.Join(disk, "node")
	task := lineTask()
	c := datadir.DefaultConfig(task)
	c.Listen, c.MDNS = []string{"/ip4/127.0.0.1/tcp/0"}, false
	require.NoError(t, datadir.Init(dir, task, c))
	n := openNode(t, dir)
	const rows = "a,b,y\n0.5,0.25,1\n0.25,0.5,-1\n"
	_, err := n.Import(t.Context(), strings.NewReader(rows), api.ImportOptions{})
	require.NoError(t, err)
	require.NoError(t, n.Add(t.Context(), lineRecords(rand.New(rand.NewPCG(1, 2)), 50)))
	before := listed(t, n, true)

	free := fill(t, disk, reserve/2)
	for name, refused := range map[string]func() error{
		"a file": func() error {
			_, err := n.Import(t.Context(), strings.NewReader(rows), api.ImportOptions{Again: true})
			return err
		},
		"a file with keys": func() error {
			_, err := n.Import(t.Context(), strings.NewReader("id,"+strings.ReplaceAll(rows, "\n0", "\nx,0")), api.ImportOptions{ID: "id"})
			return err
		},
		"a record": func() error { return n.Add(t.Context(), lineRecords(rand.New(rand.NewPCG(1, 3)), 1)) },
	} {
		if err := refused(); !errors.Is(err, api.ErrFull) || !storage.DiskFull(err) || !strings.Contains(err.Error(), "free some, then try again") {
			t.Errorf("%s: %v, want %v", name, err, api.ErrFull)
		}
	}
	if err := n.Backup(t.Context(), io.Discard); !errors.Is(err, api.ErrFull) || !strings.Contains(err.Error(), "there is no room for a copy of the database: it takes ") || !strings.Contains(err.Error(), " kB beside the 32 MB") {
		t.Errorf("a copy: %v", err)
	}
	payAndCommit(t, n, 1, 0.5)
	free()

	free = fill(t, disk, 0)
	d, err := n.Doctor(t.Context())
	require.NoError(t, err)
	wantProblem(t, d, "the disk of "+dir+", or your share of it, is full: free at least 32 MB")
	const words = "the disk is full: free space, then start again; what was stored is there"
	if err := n.store.PutMeta("state", strings.Repeat("more than is free in the file", 1<<16)); err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("a save on a full disk: %v", err)
	}
	if _, err := newDoor(n.ledger, &n.files.Config).release(query(mechanism(n), 2, 1)); err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("a release after it: %v", err)
	}
	if err := n.Delete(t.Context(), []uint64{1}); err == nil || !strings.Contains(err.Error(), words) || strings.Count(err.Error(), "delete records") != 1 {
		t.Errorf("a deletion after it: %v", err)
	}
	require.NoError(t, n.Close())
	free()

	n = openNode(t, dir)
	if after := listed(t, n, true); !reflect.DeepEqual(after, before) {
		t.Errorf("%d records and before %d", len(after), len(before))
	}
	_, err = n.Verify(t.Context())
	require.NoError(t, err)
	if round, _ := n.ledger.Outgoing(); round != 1 || n.ledger.Round() != 1 {
		t.Errorf("round %d of %d is kept, and 1 was paid and published", round, n.ledger.Round())
	}
	payAndCommit(t, n, 2, 0.5)
	require.NoError(t, n.Add(t.Context(), lineRecords(rand.New(rand.NewPCG(1, 3)), 1)))
	require.NoError(t, n.Close())
}

// The directory of a disk that has become read-only is refused with what to do, as the doctor of
// a running node says too. A copy of it on another disk goes on.
func TestLabReadOnlyDisk(t *testing.T) {
	disk := smallDisk(t, "64")
	dir, other := filepath.Join(disk, "node"), filepath.Join(t.TempDir(), "node")
	require.NoError(t, datadir.Init(dir, lineTask(), datadir.DefaultConfig(lineTask())))
	n := openNode(t, dir)
	require.NoError(t, n.Add(t.Context(), lineRecords(rand.New(rand.NewPCG(1, 2)), 5)))
	before := listed(t, n, true)
	require.NoError(t, n.Close(), syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	if _, err := Open(dir, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), storage.ReadOnlyDisk) {
		t.Errorf("the directory opens: %v", err)
	}
	wantProblem(t, api.Diagnosis{Problems: n.diskProblem(1 << 30)}, storage.ReadOnlyDisk+"; until then nothing can be released")

	if out, err := exec.Command("cp", "-a", dir, other).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	n = openNode(t, other)
	if after := listed(t, n, true); !reflect.DeepEqual(after, before) {
		t.Errorf("the copy has %d records, and the directory %d", len(after), len(before))
	}
}

// On a full disk a write that fails ends the run, whoever wrote, and the owner is told the
// truth about what is stored. Which write fails depends on the room inside the file.
func TestLabFullDiskEndsTheRun(t *testing.T) {
	disk := smallDisk(t, "64")
	for name, do := range map[string]func(*Node) error{
		"deletions": func(n *Node) (err error) {
			for q := uint64(1); err == nil; q++ {
				err = n.Delete(t.Context(), []uint64{q})
			}
			return err
		},
		"a pause": func(n *Node) error { return n.Pause(t.Context(), "") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(disk, name)
			task := lineTask()
			c := datadir.DefaultConfig(task)
			c.Listen, c.MDNS = []string{"/ip4/127.0.0.1/tcp/0"}, false
			require.NoError(t, datadir.Init(dir, task, c))
			n := openNode(t, dir)
			require.NoError(t, n.Add(t.Context(), lineRecords(rand.New(rand.NewPCG(1, 2)), 500)))
			ended := make(chan error, 1)
			go func() { ended <- n.Run(t.Context()) }()
			_, err := n.Addrs(t.Context())
			require.NoError(t, err)
			free := fill(t, disk, 0)
			const words = "the disk is full: free space, then start again; what was stored is there"
			told := do(n)
			if told == nil || !strings.Contains(told.Error(), words) {
				t.Fatalf("the owner is told: %v", told)
			}
			if err := <-ended; !errors.Is(err, storage.ErrPoisoned) || !strings.Contains(err.Error(), words) {
				t.Errorf("the run ended with %v", err)
			}
			require.NoError(t, n.Close())
			free()
			if paused := openNode(t, dir).Paused(); strings.Contains(told.Error(), "the pause is stored") != (len(paused) > 0) {
				t.Errorf("told: %v; then it is paused for %v", told, paused)
			}
		})
	}
}
