//go:build !linux

package lab

import (
	"errors"
	"os"
	"os/exec"
)

var errLinux = errors.New("network namespaces are a thing of Linux")

func newNamespace() (*os.File, error) { return nil, errLinux }

func within(*os.File, func() error) error { return errLinux }

// Tie does nothing: only Linux ends a command with the process that started it.
func Tie(*exec.Cmd) {}

func (h *Host) tap(string) (*os.File, error) { return nil, errLinux }
