package api

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// Defect is a panic as an error. Except for what the panic itself says, it contains no
// values that functions were called with: the runtime's text of a stack does, and they
// may be a record's.
type Defect struct {
	Said  any
	Stack []string // functions and lines, innermost first
}

// shownFrames is how much of the stack the error's text shows: enough for a report, and
// not too much for a dialog.
const shownFrames = 4

// Error implements [error], in one line.
func (d *Defect) Error() string {
	return fmt.Sprintf("%v (%s)", d.Said, strings.Join(d.Stack[:min(shownFrames, len(d.Stack))], " < "))
}

// NewDefect turns a recovered value into an error. The deferred function must call it,
// directly or through another function, while the panic's stack is still there.
func NewDefect(recovered any) *Defect {
	d := &Defect{Said: recovered}
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	for unwinding := false; ; {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			unwinding, d.Stack = true, nil
		case unwinding && !strings.HasPrefix(f.Function, "runtime."):
			d.Stack = append(d.Stack, fmt.Sprintf("%s %s:%d", path.Base(f.Function), path.Base(f.File), f.Line))
		}
		if !more {
			return d
		}
	}
}
