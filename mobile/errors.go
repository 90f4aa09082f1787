package mobile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"p2pnode/learner"
	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/storage"
)

// Codes of errors.
const (
	CodeInput   = "input"   // an argument is wrong
	CodeFull    = "full"    // no room in the queue, in the node, or on the disk
	CodeBusy    = "busy"    // in use, or not finished in time; try again
	CodeStopped = "stopped" // the node was stopped; make a new one
	CodeTask    = "task"    // the directory belongs to another task
	CodeBudget  = "budget"  // the configuration contradicts what the ledger has promised
	CodeStorage = "storage" // the directory is damaged, an old copy, or cannot be written
	CodeFailed  = "failed"  // anything else
	CodeDefect  = "defect"  // a defect of the node; please report it
)

// ErrorCode returns the code that an error's message begins with, or "".
func ErrorCode(message string) string {
	code, _, _ := strings.Cut(message, ": ")
	known := []string{CodeInput, CodeFull, CodeBusy, CodeStopped, CodeTask, CodeBudget, CodeStorage, CodeFailed, CodeDefect}
	if slices.Contains(known, code) {
		return code
	}
	return ""
}

// codedError is an error with the code that its text begins with.
type codedError struct {
	code  string
	cause error
}

// Error implements [error].
func (e *codedError) Error() string { return e.code + ": " + inApp(e.cause, e.code) }

// Unwrap lets [errors.Is] and [errors.AsType] look inside.
func (e *codedError) Unwrap() error { return e.cause }

// coded gives an error a code, unless its text begins with its own.
func coded(code string, err error) error {
	if err == nil {
		return nil
	}
	if e, has := errors.AsType[*codedError](err); has && strings.HasPrefix(err.Error(), e.code+": ") {
		return err
	}
	return &codedError{code, err}
}

// wrongInput is the error of a wrong argument.
func wrongInput(format string, args ...any) error {
	return coded(CodeInput, fmt.Errorf(format, args...))
}

// withoutValue returns the error for an example or features that the task does not
// accept, without any of the user's data, because apps send errors to their makers.
func withoutValue(err error) error {
	if e, has := errors.AsType[*learner.ValueError](err); has {
		return fmt.Errorf("column %q: a value %s", e.Column, e.Reason)
	}
	return err
}

// inApp returns an error's text with advice that fits an app instead of the daemon.
func inApp(err error, code string) string {
	text := err.Error()
	if a, has := errors.AsType[*api.Advised](err); has {
		told := a.Err.Error()
		switch code {
		case CodeStorage:
			told += "; put the newest copy of the directory back, or erase it"
		case CodeTask:
			told += "; take the task that the directory was made for, another directory, or erase this one"
		}
		text = strings.Replace(text, a.Error(), told, 1)
	}
	if errors.Is(err, storage.ErrLocked) {
		text = strings.Replace(text, storage.ErrLocked.Error(), "a node that was not stopped, of this app or of another process, uses this directory", 1)
	}
	return text
}

// errorCode returns the code of an error: its own, or that of its cause.
func errorCode(err error) string {
	if e, has := errors.AsType[*codedError](err); has {
		return e.code
	}
	if _, has := errors.AsType[*api.Defect](err); has {
		return CodeDefect
	}
	switch {
	case err == nil:
		return ""
	case storage.DiskFull(err), is(err, api.ErrFull):
		return CodeFull
	case is(err, storage.ErrBudget):
		return CodeBudget
	case is(err, datadir.ErrOtherTask):
		return CodeTask
	case is(err, api.ErrRequest, api.ErrBadLines, api.ErrImported, api.ErrChanged, storage.ErrNoRecord):
		return CodeInput
	case lasting(err), is(err, fs.ErrPermission, syscall.EROFS, syscall.EIO):
		return CodeStorage
	case is(err, storage.ErrLocked, context.DeadlineExceeded, context.Canceled):
		return CodeBusy
	case is(err, fs.ErrNotExist):
		return CodeInput
	}
	return CodeFailed
}

// lasting reports whether only opening the directory again, or restoring its newest
// copy, can end an error.
func lasting(err error) bool {
	return is(err, node.ErrRolledBack, storage.ErrRolledBack, storage.ErrPoisoned, storage.ErrClosed, storage.ErrDamaged, storage.ErrMissing, storage.ErrBudget)
}

// is reports whether an error is one of the targets.
func is(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(t error) bool { return errors.Is(err, t) })
}

// guard is deferred by every exported function, most methods of a Node by way of answer: it
// gives the error its code, and turns a panic, which would end the app, into an error.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = defect(r)
		return
	}
	*err = coded(errorCode(*err), *err)
}

// guard does the same for methods and logs the whole stack of a panic.
func (n *Node) guard(err *error) {
	if r := recover(); r != nil {
		*err = defect(r)
		n.report("a method", *err)
		return
	}
	if errors.Is(*err, context.Canceled) && n.ctx.Err() != nil {
		*err = errStopped
	}
	*err = coded(errorCode(*err), *err)
}

// report logs a defect.
func (n *Node) report(where string, err error) {
	d, has := errors.AsType[*api.Defect](err)
	if has && n.log != nil { // n is nil in a Node that NewNode has not made
		n.log.Error("defect in "+where, "error", err, "stack", strings.Join(d.Stack, " < "))
	}
}

// defect returns the error of a panic. It must be called while the panic's stack is
// still there.
func defect(panicked any) error { return coded(CodeDefect, api.NewDefect(panicked)) }

// unpanicked returns f's error, or the error of a panic in f.
func unpanicked(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = defect(r)
		}
	}()
	return f()
}
