package mobile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/storage"
)

func TestErrorCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{coded(CodeTask, storage.ErrDamaged), CodeTask}, // the first code stays
		{storage.ErrLocked, CodeBusy},
		{context.DeadlineExceeded, CodeBusy},
		{fmt.Errorf("%w: %w", storage.ErrPoisoned, syscall.ENOSPC), CodeFull},
		{fmt.Errorf("%w: %w", storage.ErrPoisoned, syscall.EIO), CodeStorage},
		{syscall.EDQUOT, CodeFull},
		{storage.ErrClosed, CodeStorage},
		{storage.ErrDamaged, CodeStorage},
		{storage.ErrMissing, CodeStorage},
		{storage.ErrRolledBack, CodeStorage},
		{node.ErrRolledBack, CodeStorage},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, CodeStorage},
		{syscall.EROFS, CodeStorage},
		{storage.ErrBudget, CodeBudget},
		{datadir.ErrOtherTask, CodeTask},
		{&api.Defect{Said: "a test"}, CodeDefect},
		{api.ErrBadLines, CodeInput},
		{api.ErrRequest, CodeInput},
		{storage.ErrNoRecord, CodeInput},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, CodeInput},
		{errors.New("whatever"), CodeFailed},
	} {
		wrapped := fmt.Errorf("node: around it: %w", c.err)
		if got := errorCode(wrapped); got != c.want {
			t.Errorf("%v: code %q, want %q", c.err, got, c.want)
		}
		got := func() (err error) { defer guard(&err); return wrapped }()
		if code := ErrorCode(got.Error()); code != c.want && code != "" || !errors.Is(got, c.err) {
			t.Errorf("%v: guard made %q", c.err, got)
		}
	}
}

func TestErrorCodeOfText(t *testing.T) {
	for text, want := range map[string]string{
		"full: the disk": CodeFull, "defect: x: y": CodeDefect, "full": CodeFull, "": "", "node: full: x": "", "fuller: x": "",
	} {
		if got := ErrorCode(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// An error around one with a code begins with a code all the same.
func TestErrorAroundAnother(t *testing.T) {
	full := coded(CodeFull, errors.New("the disk"))
	for _, err := range []error{full, fmt.Errorf("3 examples: %w", full), errors.Join(errors.New("first"), full)} {
		if got := func() (out error) { defer guard(&out); return err }(); ErrorCode(got.Error()) != CodeFull {
			t.Errorf("%v became %v", err, got)
		}
	}
}

func TestNoErrorHasNoCode(t *testing.T) {
	if err := func() (err error) { defer guard(&err); return nil }(); err != nil {
		t.Error(err)
	}
}

func stumble(list []int) int { return list[len(list)] }

// A user can only copy what a dialog shows: it must name the place.
func TestPanicsBecomeErrorsThatNameThePlace(t *testing.T) {
	for name, panics := range map[string]func(){
		"mobile.stumble errors_test.go": func() { stumble(nil) },
		"own words":                     func() { panic("own words") },
		"nil pointer":                   func() { var n *codedError; _ = n.code },
	} {
		err := func() (err error) { defer guard(&err); panics(); return nil }()
		if err == nil || ErrorCode(err.Error()) != CodeDefect || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: want %q in it", err, name)
		}
		err = unpanicked(func() error { panics(); return nil })
		if errorCode(err) != CodeDefect || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: want one line", err)
		}
	}
}
