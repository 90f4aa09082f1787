//go:build unix

package mobile

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"p2pnode/internal/require"
)

// pipe makes a named pipe.
func pipe(t *testing.T) (path string) {
	path = filepath.Join(t.TempDir(), "pipe")
	check(t, syscall.Mkfifo(path, 0o600))
	return path
}

// Nobody writes to the pipe, so that opening it takes for ever.
func TestStopEndsTheOpeningOfAPipe(t *testing.T) {
	n, path := open(t, linearConfig(t), nil), pipe(t)
	imported := importing(n, path)
	require.Eventually(t, "the pipe is being opened", func() bool {
		stacks := make([]byte, 1<<20)
		return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("os.OpenFile("))
	})
	check(t, n.Stop())
	if err := <-imported; errorCode(err) != CodeStopped {
		t.Errorf("the import: %v", err)
	}
	writer, err := os.OpenFile(path, os.O_WRONLY, 0) // ends the opening
	check(t, err, writer.Close())
}

// importing imports a file, and tells the error.
func importing(n *Node, path string) <-chan error {
	imported := make(chan error, 1)
	go func() {
		_, err := n.ImportCSV(path, false, false)
		imported <- err
	}()
	return imported
}

// While a pipe is slow, everything else goes on.
func TestNobodyWaitsForAPipe(t *testing.T) {
	n, path := open(t, linearConfig(t), nil), pipe(t)
	imported := importing(n, path)
	writer, err := os.OpenFile(path, os.O_WRONLY, 0) // waits until it is being read
	check(t, err)
	defer writer.Close()
	columns := strings.Join(n.node.Task().Columns(), ",") + "\n"
	row := strings.Repeat("0.5,", strings.Count(columns, ",")) + "1\n"
	_, err = writer.WriteString(columns + row)
	check(t, err)
	x, label := example(fixed(1))
	check(t, n.AddExample(encodeVector(x), label), n.Pause(""))
	if stored, queued := n.queue.lengths(); stored != 1 || queued != 0 {
		t.Errorf("%d stored and %d wait, want the one that was added", stored, queued)
	}
	text, err := n.Train(1)
	parse(t, text, err)
	_, err = n.ExportModel()
	check(t, err, writer.Close(), <-imported)
	if stored, _ := n.queue.lengths(); stored != 2 {
		t.Errorf("%d stored, want the one of the pipe too", stored)
	}
}

func TestADeviceIsNotImported(t *testing.T) {
	n := open(t, linearConfig(t), nil)
	if err := <-importing(n, os.DevNull); errorCode(err) != CodeInput || !strings.Contains(err.Error(), "is a device") {
		t.Error(err)
	}
}

func TestCrashFileIsNoPipe(t *testing.T) {
	if err := SetCrashFile(pipe(t)); errorCode(err) != CodeInput {
		t.Error(err)
	}
}

// A file that never ends, as a pipe whose writer sleeps, does not keep the node from stopping.
func TestStopEndsAnImport(t *testing.T) {
	n, path := open(t, linearConfig(t), nil), pipe(t)
	imported := importing(n, path)
	writer, err := os.OpenFile(path, os.O_WRONLY, 0) // waits until it is being read
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	check(t, n.Stop())
	if err := <-imported; errorCode(err) != CodeStopped {
		t.Errorf("the import: %v", err)
	}
}
