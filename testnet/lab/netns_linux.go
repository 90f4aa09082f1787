package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownSpace is the namespace of the calling thread.
const ownSpace = "/proc/thread-self/ns/net"

// newNamespace makes a network namespace. It exists as long as the file is open or a
// process is in it.
func newNamespace() (space *os.File, err error) {
	err = away(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		space, err = os.Open(ownSpace)
		return err
	})
	return space, err
}

// within calls f on a thread in a namespace.
func within(space *os.File, f func() error) error {
	return away(func() error {
		if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("lab: enter a namespace: %w", err)
		}
		return f()
	})
}

// away calls f on a thread of its own and brings the thread back to its namespace. A
// thread that cannot come back stays locked, and ends with its goroutine.
func away(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open(ownSpace)
		if err != nil {
			runtime.UnlockOSThread()
			result <- err
			return
		}
		err = f()
		back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET)
		if back == nil {
			runtime.UnlockOSThread()
		}
		result <- errors.Join(err, back, home.Close())
	}()
	return <-result
}

// Tie makes a command that has not started yet end with this process, in whatever way
// this process ends. The signal that a terminal sends for Ctrl-C does not reach the
// command: this process ends it in good order.
func Tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// tap makes a TAP device on the host. The device is removed when the file is closed. A
// read returns one Ethernet frame, a write takes one.
func (h *Host) tap(device string) (tap *os.File, err error) {
	err = h.Do(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		request, err := unix.NewIfreq(device)
		if err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		tap = os.NewFile(uintptr(fd), device)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("lab: make a TAP device on %s: %w", h.Name, err)
	}
	return tap, nil
}
