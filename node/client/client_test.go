package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// shortDir is a directory whose path is short enough for a socket everywhere.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p2pnode")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// A daemon that takes connections and says nothing does not hold its owner up for
// ever, whether it fell silent before or after the request began. One that gives
// signs of life may take its time.
func TestSilentDaemon(t *testing.T) {
	dir := shortDir(t)
	listener, err := net.Listen("unix", filepath.Join(dir, "p2pnode.sock"))
	if err != nil {
		t.Fatal(err)
	}
	var silent atomic.Bool
	var signs atomic.Int64
	daemon := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" && !silent.Load() {
			signs.Add(1)
			return
		}
		for r.Context().Err() == nil && (silent.Load() || signs.Load() < 3) {
			select {
			case <-r.Context().Done():
			case <-time.After(time.Millisecond):
			}
		}
		fmt.Fprint(w, "{}")
	})}
	served := make(chan error, 1)
	go func() { served <- daemon.Serve(listener) }()
	defer func() { _ = daemon.Close(); <-served }()
	c := New(Socket(filepath.Join(dir, "p2pnode.sock")))
	c.timeout = 100 * time.Millisecond
	defer c.Close()

	if _, err := c.Peers(t.Context()); err != nil || signs.Load() < 3 {
		t.Errorf("a slow answer: %v after %d signs of life", err, signs.Load())
	}
	silent.Store(true)
	_, peersErr := c.Peers(t.Context())
	backupErr := c.Backup(t.Context(), io.Discard)
	for what, err := range map[string]error{"a request": peersErr, "a backup": backupErr, "a sign of life": c.Alive(t.Context())} {
		if !errors.Is(err, api.ErrSilent) || runtime.GOOS == "linux" && !strings.Contains(err.Error(), fmt.Sprintf("(pid %d)", os.Getpid())) {
			t.Errorf("%s: %v, want ErrSilent and the process", what, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Alive(cancelled); err == nil || errors.Is(err, api.ErrSilent) {
		t.Errorf("a cancelled question: %v", err)
	}
}

// A copy that cannot be written here is no matter of the daemon, whose log says nothing of it.
func TestBackupThatCannotBeWritten(t *testing.T) {
	socket := filepath.Join(shortDir(t), "p2pnode.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	daemon := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a database") })}
	served := make(chan error, 1)
	go func() { served <- daemon.Serve(listener) }()
	defer func() { _ = daemon.Close(); <-served }()
	c := New(Socket(socket))
	defer c.Close()
	if err := c.Backup(t.Context(), fullDisk{}); !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "log") {
		t.Errorf("got %v", err)
	}
}

// A file that cannot be read to its end is no matter of the daemon either.
func TestImportOfAFileThatCannotBeRead(t *testing.T) {
	socket := filepath.Join(shortDir(t), "p2pnode.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	daemon := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })}
	served := make(chan error, 1)
	go func() { served <- daemon.Serve(listener) }()
	defer func() { _ = daemon.Close(); <-served }()
	c := New(Socket(socket))
	defer c.Close()
	broken := io.MultiReader(strings.NewReader("x,y\n1,2\n"), iotest.ErrReader(syscall.EIO))
	if _, err := c.Import(t.Context(), broken, api.ImportOptions{}); !errors.Is(err, syscall.EIO) || strings.Contains(err.Error(), "daemon") {
		t.Errorf("got %v", err)
	}
}

// fullDisk takes nothing.
type fullDisk struct{}

// Write implements [io.Writer].
func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// Without a daemon there is nobody to wait for, and what is asked says that it has ended.
func TestNoDaemonIsNotSilent(t *testing.T) {
	c := New(Socket(filepath.Join(shortDir(t), "p2pnode.sock")))
	if err := c.Alive(t.Context()); err == nil || errors.Is(err, api.ErrSilent) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Peers(t.Context()); err == nil || !strings.Contains(err.Error(), "the daemon does not answer: it has ended, and its log says why: ") {
		t.Errorf("got %v", err)
	}
}

// A server that sends its clients elsewhere gets no token there.
func TestATokenGoesNowhereElse(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer server.Close()
	c, err := NewRemote(Remote{URL: server.URL, Token: "secret"})
	require.NoError(t, err)
	if _, err = c.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "302") || asked {
		t.Errorf("%v; the other server was asked: %v", err, asked)
	}
}
