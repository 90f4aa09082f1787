package testnet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/local"
)

// daemon is a node in a process of its own, p2pnode run, which it is asked over
// its socket. Its directory has been made.
type daemon struct {
	dir     string
	records []byte // its person's, as CSV
	// command prepares p2pnode with these arguments where the daemon is to run.
	command func(ctx context.Context, args ...string) *exec.Cmd

	halt  context.Context // ends when the process is to stop
	stop  context.CancelFunc
	ready chan struct{} // closed when addrs and owner are set
	ended chan struct{} // closed when footprint is, and the process is gone

	addrs     []string
	owner     *local.Connection
	pid       int // from ready on
	footprint Footprint
}

func newDaemon(dir string, records []byte, command func(ctx context.Context, args ...string) *exec.Cmd) *daemon {
	d := &daemon{dir: dir, records: records, command: command, ready: make(chan struct{}), ended: make(chan struct{})}
	d.halt, d.stop = context.WithCancel(context.Background())
	return d
}

// farewell is how long a daemon may take to stop before it is killed.
const farewell = 20 * time.Second

// Run runs the process until ctx ends or stop is called. One that ends by itself
// is an error with the end of its log.
func (d *daemon) Run(ctx context.Context) (err error) {
	defer close(d.ended)
	defer d.stop()
	defer context.AfterFunc(ctx, d.stop)()
	log, err := os.Create(filepath.Join(d.dir, "log"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	cmd := d.command(d.halt, "run", "--json", "--dir", d.dir)
	cmd.Stderr = log
	cmd.Cancel = func() error {
		d.footprint = memoryOf(cmd.Process.Pid)
		return cmd.Process.Signal(os.Interrupt)
	}
	cmd.WaitDelay = farewell
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("testnet: start a daemon: %w", err)
	}
	d.pid = cmd.Process.Pid
	connected := d.connect(ctx, out)
	_ = cmd.Wait() // its state says more than the error
	d.footprint.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if d.halt.Err() == nil || !cmd.ProcessState.Success() {
		return fmt.Errorf("testnet: the daemon of %s ended (%v); its log ends with: %s", d.dir, cmd.ProcessState, tail(log.Name()))
	}
	return connected
}

// connect reads what the daemon says when it is ready, and connects to its
// socket. It returns when the daemon has closed its output.
func (d *daemon) connect(ctx context.Context, out io.Reader) error {
	lines := json.NewDecoder(out)
	var said struct{ Addresses []string }
	if lines.Decode(&said) != nil {
		return nil // it has ended, and its log says why
	}
	owner, err := local.Connect(ctx, d.dir, slog.New(slog.DiscardHandler))
	if err != nil {
		d.stop()
		return err
	}
	d.addrs, d.owner = said.Addresses, owner
	close(d.ready)
	_, _ = io.Copy(io.Discard, out)
	return nil
}

// tail is the end of a text file.
func tail(path string) string {
	text, _ := os.ReadFile(path) // nothing is said of one that cannot be read
	const enough = 1000
	return strings.TrimSpace(string(text[max(0, len(text)-enough):]))
}

// await waits until the daemon can be asked.
func (d *daemon) await(ctx context.Context) error {
	select {
	case <-d.ready:
		return nil
	case <-d.ended:
		return errors.New("testnet: a daemon ended before it was ready")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Addrs waits until the daemon is ready.
func (d *daemon) Addrs(ctx context.Context) ([]string, error) {
	err := d.await(ctx)
	return d.addrs, err
}

// AddPeer has the daemon connect to a peer.
func (d *daemon) AddPeer(ctx context.Context, address string) (api.Addition, error) {
	if err := d.await(ctx); err != nil {
		return api.Addition{}, err
	}
	return d.owner.AddPeer(ctx, address)
}

func (d *daemon) feed(ctx context.Context) error {
	if err := d.await(ctx); err != nil {
		return err
	}
	_, err := d.owner.Import(ctx, bytes.NewReader(d.records), api.ImportOptions{})
	return err
}

// Progress asks the daemon how far it is.
func (d *daemon) Progress(ctx context.Context) (api.Status, error) {
	if err := d.await(ctx); err != nil {
		return api.Status{}, err
	}
	return d.owner.Progress(ctx)
}

// Personal stops the daemon and fits the model to what it left on disk: no daemon
// hands out its owner's model.
func (d *daemon) Personal(ctx context.Context) (m node.Fitted, err error) {
	d.stop()
	select {
	case <-d.ended:
	case <-ctx.Done():
		return m, ctx.Err()
	}
	n, err := node.Open(d.dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	return n.Personal(ctx)
}

// Close drops the connection to the socket.
func (d *daemon) Close() error {
	if d.owner == nil {
		return nil
	}
	return d.owner.Close()
}
