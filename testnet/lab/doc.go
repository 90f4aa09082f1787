// Package lab builds small networks inside this machine for tests and for the testnet:
// hosts, cables, routers that masquerade, and faults. Each host is a network namespace
// of Linux that contains only what the lab puts there; no lab can reach the machine's
// own network, or another lab.
//
// The namespaces have no names. They live as long as the process that made the lab, or
// a command in them, and [Host.Command] ties its commands to that process, so that
// nothing is left behind even if it is killed.
package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Available reports why there can be no lab here, or nil.
func Available() error {
	for _, tool := range []string{"ip", "nft", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("lab: the program %s is missing; it is in the package %s", tool,
				map[string]string{"ip": "iproute2", "nft": "nftables", "nsenter": "util-linux"}[tool])
		}
	}
	if os.Geteuid() != 0 {
		return errors.New("lab: network namespaces need root; run this as root")
	}
	l, err := New()
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.wire.rules("table bridge probe"); err != nil {
		return fmt.Errorf("lab: this kernel does not filter frames on bridges: %w", err)
	}
	return nil
}
