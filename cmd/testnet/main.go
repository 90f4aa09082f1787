// Command testnet lets many people learn together on one machine, each with a
// node of her own, and shows what it bought them: nodes over real libp2p, or
// the same agents under virtual time.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
)

// Exit codes beside 0.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // as a shell reports it
)

func main() {
	dir, release, err := workplace(scratch(), os.Stderr)
	if err != nil {
		fmt.Fprintf(os.Stderr, "testnet: make a directory for the nodes: %v\n", err)
		os.Exit(exitFailed)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var ending sync.Mutex // the goroutine that holds it ends the process
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		fmt.Fprintln(os.Stderr, "\ntestnet: stopping; the results so far follow, if there are any. Once more stops at once.")
		cancel()
		<-signals
		ending.Lock()
		removeInUse(dir)
		os.Exit(exitInterrupted)
	}()
	code := run(ctx, os.Args[1:], dir, os.Stdout, os.Stderr)
	ending.Lock()
	if ctx.Err() != nil {
		removeInUse(dir) // nodes of an experiment are not waited for
	} else if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintf(os.Stderr, "testnet: remove the nodes' directory: %v\n", err)
	}
	_ = release() // it is kept until here, since the lock ends with what holds it
	os.Exit(code)
}

// removeInUse removes a directory that nodes still write into. It moves it aside
// first and puts a file in its place: so they find no room for new files, which
// could keep it from going.
func removeInUse(dir string) {
	aside := dir + "-stopped"
	for os.Rename(dir, aside) == nil && os.WriteFile(dir, nil, 0o600) != nil {
		os.RemoveAll(aside) // a node has just made the directory anew
	}
	os.RemoveAll(aside)
	os.Remove(dir)
}

// errInterrupted says that the results are complete only up to an interruption.
var errInterrupted = errors.New("interrupted")

// finish reports what was measured when the measurement ended with err, unless that is
// more than an interruption.
func finish(err error, report func() error) error {
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if failed := report(); failed != nil {
		return failed
	}
	if err != nil {
		return errInterrupted
	}
	return nil
}

// run is the command with its surroundings handed in; dir is an empty directory
// for the nodes. It returns the exit code.
func run(ctx context.Context, args []string, dir string, stdout, stderr io.Writer) int {
	return execute(ctx, newCommand(dir), args, stdout, stderr)
}

// packages matches the names of the packages that an error came through, beside those
// that [api.Plain] knows.
var packages = regexp.MustCompile(`^(?:(?:testnet|paper): )+`)

// execute runs a command and says what its error means.
func execute(ctx context.Context, cmd *cobra.Command, args []string, stdout, stderr io.Writer) int {
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	asked, err := cmd.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "testnet: %s\n", packages.ReplaceAllString(api.Plain(err.Error()), ""))
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(stderr, "Run '%s --help' for the flags.\n", asked.CommandPath())
		return exitUsage
	}
	return exitFailed
}

// usageError is a mistake in the command line.
type usageError struct{ error }

// Unwrap lets errors.Is see the mistake itself.
func (e usageError) Unwrap() error { return e.error }
