package node

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// Defect is a panic as an error. Beside what the panic itself says it has none of the
// values that functions were handed, as the runtime's text of a stack has: they may be
// a record's.
type Defect struct {
	Said  any
	Stack []string // functions and lines, the innermost first
}

// shownFrames is how much of the stack the error's text has: enough for a report, and
// not too much for a dialog.
const shownFrames = 4

// Error implements [error], in one line.
func (d *Defect) Error() string {
	return fmt.Sprintf("%v (%s)", d.Said, strings.Join(d.Stack[:min(shownFrames, len(d.Stack))], " < "))
}

// NewDefect makes an error of what was recovered. It is called by the deferred function,
// or one that that calls, while the panic's stack is there.
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
