package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
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

// A restore whose terminal is closed at its question leaves no copy of the records behind.
func TestQuestionOfRestoreEndsAtSIGHUP(t *testing.T) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP) // else, under nohup, what the test starts ignores the signal as the test does
	defer signal.Stop(heard)
	dir, backup := emptyNode(t), filepath.Join(t.TempDir(), "copy.db")
	cli(t, nil, "backup", backup, "--dir", dir)
	before, err := os.ReadDir(dir)
	require.NoError(t, err)
	cmd := exec.Command("p2pnode", "restore", backup, "--dir", dir)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	said, err := cmd.StderrPipe()
	require.NoError(t, err, cmd.Start())
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	text, buffer := "", make([]byte, 1<<10)
	for !strings.HasSuffix(text, "Write yes: ") {
		n, err := said.Read(buffer)
		require.NoError(t, err)
		text += string(buffer[:n])
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	rest, err := io.ReadAll(said)
	require.NoError(t, err)
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(rest), "interrupted; nothing has changed") {
		t.Errorf("it ends with %v, and says %q", err, rest)
	}
	_ = in.Close() // Wait has closed it
	after, err := os.ReadDir(dir)
	require.NoError(t, err)
	if fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%v, and %v before", after, before)
	}
}
