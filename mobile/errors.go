package mobile

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Codes of errors.
const (
	CodeInput   = "input"   // an argument is wrong
	CodeFull    = "full"    // no room: the queue, the node, or the disk
	CodeBusy    = "busy"    // in use, or not done in time; try again
	CodeStopped = "stopped" // the node was stopped; make a new one
	CodeTask    = "task"    // the directory belongs to another task
	CodeBudget  = "budget"  // the configuration contradicts what the ledger has promised
	CodeStorage = "storage" // the directory is damaged, an old copy, or cannot be written
	CodeFailed  = "failed"  // anything else
	CodeDefect  = "defect"  // a defect of the node; please report it
)

// ErrorCode returns the code that an error's message begins with, or "".
func ErrorCode(message string) string { return "" }

var errNotBuilt = errors.New("failed: not built yet")

// guard turns a panic into an error: unguarded, it would end the app.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%s: %v\n%s", CodeDefect, r, debug.Stack())
	}
}
