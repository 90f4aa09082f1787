// Command p2pnode is the daemon that learns a personal model with its
// neighbours, and the tool its owner talks to it with.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	o := &options{}
	if err := newCommand(o).Execute(); err != nil {
		os.Exit(fail(os.Stderr, o.json, err))
	}
}

// fail tells the user what went wrong and returns the exit code: 2 for a
// mistake in the command line itself, else 1.
func fail(w io.Writer, asJSON bool, err error) int {
	code, hint := 1, ""
	if usage, ok := errors.AsType[usageError](err); ok {
		code, hint = 2, fmt.Sprintf("Run '%s --help' for usage.\n", usage.command)
	}
	if asJSON {
		_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()}) // nowhere left to complain
	} else {
		fmt.Fprintf(w, "p2pnode: %v\n%s", err, hint)
	}
	return code
}

// usageError is a mistake in the command line of the named command.
type usageError struct {
	error
	command string
}

func (e usageError) Unwrap() error { return e.error }
