//go:build unix

package mobile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file that never ends, as a pipe whose writer sleeps, does not keep the node from stopping.
func TestStopEndsAnImport(t *testing.T) {
	n := open(t, linearConfig(t), nil)
	path := filepath.Join(t.TempDir(), "pipe")
	check(t, syscall.Mkfifo(path, 0o600))
	imported := make(chan error, 1)
	go func() {
		_, err := n.ImportCSV(path, false, false)
		imported <- err
	}()
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
