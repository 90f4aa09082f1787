// Command p2pnode is the daemon that learns a personal model with its
// neighbours, and the tool its owner talks to it with.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func main() {
	if os.Getenv("GOGC") == "" {
		// Records are most of the memory, and there for good: what may be garbage beside
		// them is bounded by this share of it. With few records it costs nothing.
		debug.SetGCPercent(30)
	}
	o := &options{}
	if err := newCommand(o).Execute(); err != nil {
		os.Exit(fail(os.Stderr, o.json, err))
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
		_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()}) // nowhere left to complain
	} else {
		fmt.Fprintf(w, "p2pnode: %v\n%s", err, hint)
	}
	return code
}

// exitCode ends a command that has said everything already.
type exitCode int

// Error implements [error].
func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// usageError is a mistake in the command line of a command.
type usageError struct {
	error
	of *cobra.Command
}

// Unwrap is for [errors.Is] and its kin.
func (e usageError) Unwrap() error { return e.error }

func (e usageError) hint() string {
	line := e.of.UseLine()
	if e.of.HasSubCommands() {
		line += " COMMAND"
	}
	return fmt.Sprintf("Usage: %s\nRun '%s --help' for more.\n", line, e.of.CommandPath())
}
