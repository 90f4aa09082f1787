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

// Daemon is a node in a process of its own, p2pnode run, which is asked over its
// socket. Its directory must exist. Run may be called once; the other methods are safe
// for concurrent use, and wait until the daemon answers.
type Daemon struct {
	dir     string
	records []byte // records of its person, as CSV
	// command prepares p2pnode with these arguments on the daemon's host.
	command func(ctx context.Context, args ...string) *exec.Cmd

	halt  context.Context // ends when the process should stop
	stop  context.CancelFunc
	ready chan struct{} // closed when addrs and owner are set
	ended chan struct{} // closed when footprint is set and the process has ended

	addrs     []string
	owner     *local.Connection
	pid       int // set when ready is closed
	footprint Footprint
}

// NewDaemon prepares the node of a directory. command prepares p2pnode with these
// arguments on the daemon's host; feed imports records, which are CSV.
func NewDaemon(dir string, records []byte, command func(ctx context.Context, args ...string) *exec.Cmd) *Daemon {
	d := &Daemon{dir: dir, records: records, command: command, ready: make(chan struct{}), ended: make(chan struct{})}
	d.halt, d.stop = context.WithCancel(context.Background())
	return d
}

// stopTimeout is how long a daemon may take to stop before it is killed.
const stopTimeout = 20 * time.Second

// Run runs the process until ctx ends or stop is called. If the process ends by itself,
// Run returns an error with the end of its log.
func (d *Daemon) Run(ctx context.Context) (err error) {
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
	cmd.WaitDelay = stopTimeout
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("testnet: start a daemon: %w", err)
	}
	d.pid = cmd.Process.Pid
	connected := d.connect(ctx, out)
	_ = cmd.Wait() // the state of the process says more than the error
	d.footprint.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if d.halt.Err() == nil || !cmd.ProcessState.Success() {
		return fmt.Errorf("testnet: the daemon of %s ended (%v); its log ends with: %s", d.dir, cmd.ProcessState, tail(log.Name()))
	}
	return connected
}

// connect reads what the daemon prints when it is ready, and connects to its socket. It
// returns when the daemon has closed its output.
func (d *Daemon) connect(ctx context.Context, out io.Reader) error {
	lines := json.NewDecoder(out)
	var said struct{ Addresses []string }
	if lines.Decode(&said) != nil {
		return nil // the daemon has ended, and its log says why
	}
	owner, err := d.reach(ctx)
	if err != nil {
		d.stop()
		return err
	}
	d.addrs, d.owner = said.Addresses, owner
	close(d.ready)
	_, _ = io.Copy(io.Discard, out)
	return nil
}

// startTimeout is how long a daemon that says that it is ready may take to answer. Many
// start at once, on a machine that may be busy with more.
const startTimeout = time.Minute

// reach connects to the socket of the daemon.
func (d *Daemon) reach(ctx context.Context) (*local.Connection, error) {
	for began := time.Now(); ; {
		owner, err := local.Connect(ctx, d.dir, slog.New(slog.DiscardHandler))
		if !errors.Is(err, api.ErrSilent) || time.Since(began) > startTimeout {
			return owner, err
		}
	}
}

// tail is the end of a text file.
func tail(path string) string {
	text, _ := os.ReadFile(path) // a file that cannot be read has no tail
	const enough = 1000
	return strings.TrimSpace(string(text[max(0, len(text)-enough):]))
}

// await waits until the daemon can be asked.
func (d *Daemon) await(ctx context.Context) error {
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
func (d *Daemon) Addrs(ctx context.Context) ([]string, error) {
	err := d.await(ctx)
	return d.addrs, err
}

// Owner waits until the daemon is ready, and returns the connection to its socket, which
// [Daemon.Close] drops.
func (d *Daemon) Owner(ctx context.Context) (*local.Connection, error) {
	err := d.await(ctx)
	return d.owner, err
}

// PID waits until the daemon is ready, and returns the number of its process.
func (d *Daemon) PID(ctx context.Context) (int, error) {
	err := d.await(ctx)
	return d.pid, err
}

// AddPeer makes the daemon connect to a peer.
func (d *Daemon) AddPeer(ctx context.Context, address string) (api.Addition, error) {
	if err := d.await(ctx); err != nil {
		return api.Addition{}, err
	}
	return d.owner.AddPeer(ctx, address)
}

// feed gives the daemon its records.
func (d *Daemon) feed(ctx context.Context) error {
	if err := d.await(ctx); err != nil {
		return err
	}
	_, err := d.owner.Import(ctx, bytes.NewReader(d.records), api.ImportOptions{})
	return err
}

// Progress asks the daemon about its progress.
func (d *Daemon) Progress(ctx context.Context) (api.Status, error) {
	if err := d.await(ctx); err != nil {
		return api.Status{}, err
	}
	return d.owner.Progress(ctx)
}

// Personal stops the daemon and fits the model to the data it left on disk, because no
// daemon gives out its owner's model.
func (d *Daemon) Personal(ctx context.Context) (m node.Fitted, err error) {
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

// Close closes the connection to the socket.
func (d *Daemon) Close() error {
	if d.owner == nil {
		return nil
	}
	return d.owner.Close()
}
