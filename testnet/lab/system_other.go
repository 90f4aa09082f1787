//go:build !(linux && amd64)

package lab

import (
	"errors"
	"os/exec"
	"time"
)

// System exists only on Linux on amd64.
type System struct{}

// NewSystem fails: only on Linux on amd64 can a process answer the system calls of
// another.
func NewSystem(*exec.Cmd, string) (*System, error) {
	return nil, errors.New("lab: a clock and a disk that are wrong are a thing of Linux on amd64")
}

// Run is never called.
func (*System) Run() error { return nil }

// SetAhead is never called.
func (*System) SetAhead(time.Duration) {}

// Stall is never called.
func (*System) Stall(time.Duration) {}

// Held is never called.
func (*System) Held() int { return 0 }

// RunUnder is never called.
func RunUnder() {}
