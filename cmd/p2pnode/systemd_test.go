package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/local"
)

// manager is a service manager's end of the socket that daemons tell it things on.
type manager struct {
	socket *net.UnixConn
	path   string
}

func newManager(t *testing.T) manager {
	t.Helper()
	path := filepath.Join(shortTemp(t), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return manager{socket, path}
}

// await reads until a message contains text, and returns it.
func (m manager) await(t *testing.T, text string) string {
	t.Helper()
	if err := m.socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	var heard []string
	for buffer := make([]byte, 4096); ; {
		n, err := m.socket.Read(buffer)
		if err != nil {
			t.Fatalf("%q was not said: %v; only %q", text, err, heard)
		}
		heard = append(heard, string(buffer[:n]))
		if strings.Contains(heard[len(heard)-1], text) {
			return heard[len(heard)-1]
		}
	}
}

// supervise starts the daemon of dir under m, whose watchdog has the given patience.
func (m manager) supervise(t *testing.T, dir, watchdog string) *daemon {
	t.Helper()
	cmd := exec.Command("p2pnode", "run", "--json", "--dir", dir)
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+m.path, "WATCHDOG_USEC="+watchdog)
	return startWith(t, dir, cmd)
}

// A service manager is told when the node is ready, how it is doing, again and again that
// its loop turns, and when it stops.
func TestServiceManagerIsInformed(t *testing.T) {
	m := newManager(t)
	d := m.supervise(t, initNode(t), "600000")
	m.await(t, "READY=1")
	for range 3 {
		if said := m.await(t, "WATCHDOG=1"); !strings.Contains(said, "STATUS=") || !strings.Contains(said, "of the privacy budget spent") {
			t.Errorf("the watchdog heard %q", said)
		}
	}
	d.interrupt(t, syscall.SIGTERM)
	m.await(t, "STOPPING=1")
}

// A watchdog whose patience is no number ends the daemon, rather than letting it be killed.
func TestServiceManagerWithoutSense(t *testing.T) {
	m := newManager(t)
	cmd := exec.Command("p2pnode", "run", "--dir", initNode(t))
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+m.path, "WATCHDOG_USEC=soon")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "watchdog") {
		t.Errorf("%v: %s", err, out)
	}
}

// activated starts the daemon of dir with the file of a socket, as a service manager does.
func activated(t *testing.T, dir string, socket *os.File) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec p2pnode run --json --dir "$0"`, dir)
	cmd.Env = append(os.Environ(), "LISTEN_FDS=1")
	cmd.ExtraFiles = []*os.File{socket}
	return cmd
}

// A socket that the service manager opened serves the owner, and outlives the daemon.
func TestSocketOfTheServiceManager(t *testing.T) {
	dir := initNode(t)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: local.SocketPath(dir), Net: "unix"})
	require.NoError(t, err)
	defer listener.Close()
	file, err := listener.File()
	require.NoError(t, err)
	defer file.Close()
	d := startWith(t, dir, activated(t, dir, file))
	s, err := d.owner.Progress(t.Context())
	require.NoError(t, err)
	if !s.Running || s.Peer != d.id {
		t.Errorf("the socket answers %+v", s)
	}
	d.interrupt(t, syscall.SIGTERM)
	if _, err := os.Stat(local.SocketPath(dir)); err != nil {
		t.Errorf("the daemon removed a socket that is not its own: %v", err)
	}
}

// What is no socket of an owner's is refused.
func TestWhatIsNoSocketOfTheServiceManager(t *testing.T) {
	tcp, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer tcp.Close()
	file, err := tcp.File()
	require.NoError(t, err)
	defer file.Close()
	out, err := activated(t, initNode(t), file).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "unix socket") {
		t.Errorf("%v: %s", err, out)
	}
}

// A paused daemon is ready and alive for the service manager.
func TestServiceManagerOfAPausedNode(t *testing.T) {
	m, dir := newManager(t), initNode(t)
	cli(t, nil, "pause", "--dir", dir, "--reason", "on a train")
	d := m.supervise(t, dir, "600000")
	m.await(t, "READY=1")
	for range 2 {
		if said := m.await(t, "WATCHDOG=1"); !strings.Contains(said, "STATUS=paused since") {
			t.Errorf("the watchdog heard %q", said)
		}
	}
	cli(t, nil, "resume", "--dir", dir)
	m.await(t, "of the privacy budget spent")
	d.interrupt(t, syscall.SIGTERM)
}
