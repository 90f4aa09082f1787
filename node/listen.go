package node

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/node/datadir"
)

// portProblems says, for each address at which a node does not listen, why it cannot and
// what to do, as far as trying the address shows. running means that the node runs
// without these addresses.
func portProblems(listen []string, running bool) (problems []string) {
	for _, text := range listen {
		err := tryPort(text)
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			problems = append(problems, fmt.Sprintf("another program listens on %s: end it, or change the port in \"listen\" of %s", text, datadir.ConfigFile))
		case strings.HasPrefix(text, "/ip6/::/") && (errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)):
			// The machine has no IPv6, so there is nothing to listen on.
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			problems = append(problems, fmt.Sprintf("this machine does not have the address of %s now: change \"listen\" of %s", text, datadir.ConfigFile))
		case errors.Is(err, syscall.EACCES):
			problems = append(problems, fmt.Sprintf("this user may not listen on %s: choose a port above 1023 in \"listen\" of %s", text, datadir.ConfigFile))
		case running && err != nil:
			problems = append(problems, fmt.Sprintf("%s could not be opened (%v): change \"listen\" of %s", text, err, datadir.ConfigFile))
		case running:
			problems = append(problems, fmt.Sprintf("%s could not be opened when the node started, and is free now: restart the node", text))
		}
	}
	return problems
}

// tryPort listens at an address for a moment.
func tryPort(text string) error {
	a, err := multiaddr.NewMultiaddr(text)
	if err != nil {
		return err // the configuration would have been refused
	}
	network, address, err := manet.DialArgs(a)
	if err != nil {
		return err
	}
	if strings.HasPrefix(network, "udp") {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			return err
		}
		return c.Close()
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	return l.Close()
}
