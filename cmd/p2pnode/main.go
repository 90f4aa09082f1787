// Command p2pnode is the daemon that learns a personal model with its
// neighbours, and the tool its owner talks to it with.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
)

func main() {
	if os.Getenv("GOGC") == "" {
		// Records take most of the memory and stay there. This bounds the garbage beside
		// them to a share of it. With few records it costs nothing.
		debug.SetGCPercent(30)
	}
	o := &options{}
	if err := newCommand(o).Execute(); err != nil {
		// Flags that stand behind a wrong one were not read.
		os.Exit(fail(os.Stderr, o.json || slices.Contains(os.Args, "--json"), err))
	}
}

// fail tells the user what went wrong and returns the exit code: 2 for a
// mistake in the command line itself, else 1.
func fail(w io.Writer, asJSON bool, err error) int {
	if code, silent := errors.AsType[exitCode](err); silent {
		return int(code)
	}
	code, hint := 1, ""
	if usage, ok := errors.AsType[usageError](err); ok {
		code, hint = 2, usage.hint()
	}
	if asJSON {
		_ = json.NewEncoder(w).Encode(map[string]string{"error": message(err)}) // there is nowhere else to report it
	} else {
		fmt.Fprintf(w, "p2pnode: %s\n%s", printable(message(err)), hint)
	}
	return code
}

// message returns the text of an error for the user: what is wrong and what to do, without
// the names of the packages that it came through, and with flags where programs that ask the
// daemon have parameters.
func message(err error) string { return messageOf(err, "--again") }

// messageOf is message, with how to import a file all the same.
func messageOf(err error, again string) string {
	text := err.Error()
	if advised, ok := errors.AsType[*api.Advised](err); ok {
		flags := strings.NewReplacer("again=true", again, "skip_bad=true", "--skip-bad", "id=COLUMN", "--id COLUMN")
		text = strings.Replace(text, advised.Advice, flags.Replace(advised.Advice), 1)
	}
	return api.Plain(text)
}

// exitCode ends a command that has already printed everything.
type exitCode int

// Error implements [error].
func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// usageError is a mistake in the command line of a command.
type usageError struct {
	error
	of *cobra.Command
}

// Unwrap lets [errors.Is] and [errors.AsType] look inside.
func (e usageError) Unwrap() error { return e.error }

func (e usageError) hint() string {
	line := e.of.UseLine()
	if e.of.HasSubCommands() {
		line += " COMMAND"
	}
	return fmt.Sprintf("Usage: %s\nRun '%s --help' for more.\n", line, e.of.CommandPath())
}

// untilInterrupted returns a context that ends at an interrupt, so that what is at work can
// stop cleanly, and also when the terminal is closed, unless nohup says otherwise. A second
// signal ends the process at once.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(ctx, ends...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
