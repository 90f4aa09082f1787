package main

import (
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// A backup that is interrupted leaves no file that looks like one.
func TestInterruptedBackupLeavesNothing(t *testing.T) {
	dir := shortTemp(t)
	listener, err := net.Listen("unix", filepath.Join(dir, "p2pnode.sock"))
	if err != nil {
		t.Fatal(err)
	}
	daemon := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/backup" {
			_, _ = w.Write([]byte("[]"))
			return
		}
		_, _ = w.Write([]byte("the first page"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})}
	served := make(chan error, 1)
	go func() { served <- daemon.Serve(listener) }()
	defer func() { _ = daemon.Close(); <-served }()

	name := filepath.Join(dir, "copy.db")
	cmd := exec.Command("p2pnode", "backup", name, "--dir", dir)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	require.Within(t, patience, "the copy has begun", func() bool {
		info, err := os.Stat(name)
		return err == nil && info.Size() > 0
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	if err := cmd.Wait(); err == nil || said.String() != "p2pnode: interrupted; the copy is not whole, so make another one\n" {
		t.Errorf("the interrupted command ends with %v and says %q", err, said.String())
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a part of a copy is left: %v", err)
	}
}
