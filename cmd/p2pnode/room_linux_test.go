package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"p2pnode/internal/require"
)

// holding is what a process holds.
type holding struct{ goroutines, files, memory int }

func held(t *testing.T, d *daemon) (h holding) {
	t.Helper()
	h.goroutines = d.status(t).Goroutines
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.cmd.Process.Pid))
	require.NoError(t, err)
	h.files = len(files)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	require.NoError(t, err)
	_, rest, _ := bytes.Cut(text, []byte("VmRSS:"))
	_, err = fmt.Sscan(string(rest), &h.memory)
	require.NoError(t, err)
	return h
}

// smallDisk mounts a file system of a few megabytes.
func smallDisk(t *testing.T) string {
	t.Helper()
	disk := shortTemp(t)
	require.NoError(t, syscall.Mount("none", disk, "tmpfs", 0, "size=64m"))
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	return disk
}

// How much memory the kernel lets the cramped daemon have: enough, or little, and hardly
// enough to begin.
const roomy = 256 << 20

var cramping = []int{64 << 20, 48 << 20, 16 << 20}

// smallMemory makes a control group whose memory can be limited; "" if that is impossible here.
func smallMemory(t *testing.T) string {
	t.Helper()
	for _, root := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup"} {
		group := filepath.Join(root, fmt.Sprintf("p2pnode-chaos-%d", os.Getpid()))
		if os.Mkdir(group, 0o700) != nil {
			continue
		}
		t.Cleanup(func() {
			require.Eventually(t, "the control group is empty", func() bool { return os.Remove(group) == nil })
		})
		if limitFile(group) != "" {
			return group
		}
	}
	t.Log("there is no control group of memory here: GOMEMLIMIT alone limits it")
	return ""
}

// limitFile is the file of a control group with the limit of its memory; "" if it has none.
func limitFile(group string) string {
	for _, name := range []string{"memory.limit_in_bytes", "memory.max"} {
		file := filepath.Join(group, name)
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}

// limit sets how much memory the cramped daemon may have.
func (s *storm) limit(t *testing.T, size int) {
	t.Helper()
	if s.group == "" {
		return
	}
	// It may have ended, and the kernel may refuse a limit that it cannot reach: then it is
	// less cramped.
	_ = os.WriteFile(filepath.Join(s.group, "cgroup.procs"), []byte(strconv.Itoa(s.nodes[cramped].cmd.Process.Pid)), 0)
	_ = os.WriteFile(limitFile(s.group), []byte(strconv.Itoa(size)), 0)
}
