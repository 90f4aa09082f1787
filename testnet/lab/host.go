package lab

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
)

// Host is a machine of the lab: a network namespace. It shares files and
// processes with the real machine.
type Host struct {
	Name  string
	lab   *Lab
	space *os.File
	links int // number of interfaces eth0, eth1, ...; under Lab.mu
}

// path names the host's namespace for tools like nsenter and ip, while this
// process lives.
func (h *Host) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), h.space.Fd()) }

// Command prepares a command that runs on this host. It is killed when ctx ends, when
// the lab is closed, and when this process ends in any way; processes that it starts
// itself must end with it.
func (h *Host) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(h.lab.ctx, cancel)
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + h.path(), "--", name}, args...)...)
	Tie(cmd)
	return cmd
}

// Run runs a command on this host to its end and returns its output. If it fails, the
// error contains the output.
func (h *Host) Run(name string, args ...string) (string, error) {
	return run(h.Command(h.lab.ctx, name, args...))
}

func run(cmd *exec.Cmd) (string, error) {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("lab: %s: %w: %s", strings.Join(cmd.Args[3:], " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// Do calls f on a thread that is on this host. Sockets that f itself opens belong to
// the host; those of goroutines that it starts do not.
func (h *Host) Do(f func() error) error { return within(h.space, f) }

// Route sends packets for networks that are not the host's own through a router.
func (h *Host) Route(router netip.Addr) error {
	return h.ip("route add default via " + router.String())
}

// ip runs the program ip with several commands on this host.
func (h *Host) ip(commands ...string) error {
	cmd := h.Command(h.lab.ctx, "ip", "-batch", "-")
	return feed(cmd, strings.Join(commands, "\n")+"\n")
}

// rules gives the program nft a set of rules on this host, all or none.
func (h *Host) rules(text string) error {
	cmd := h.Command(h.lab.ctx, "nft", "-f", "-")
	return feed(cmd, text+"\n")
}

func feed(cmd *exec.Cmd, input string) error {
	cmd.Stdin = strings.NewReader(input)
	if _, err := run(cmd); err != nil {
		return fmt.Errorf("%w (it was told %q)", err, input)
	}
	return nil
}
