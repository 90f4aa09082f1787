package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
)

// Reason says in plain words and one line why a peer could not be reached, given the error
// of the dial. Among the errors of several addresses it picks the most informative.
func Reason(err error) string {
	var wrong sec.ErrPeerIDMismatch
	var name *net.DNSError
	switch {
	case errors.As(err, &wrong):
		return fmt.Sprintf("another node answers at that address, %s", wrong.Actual)
	case errors.Is(err, swarm.ErrDialToSelf):
		return "that is this node itself"
	case errors.Is(err, swarm.ErrGaterDisallowedConnection):
		return "this node refuses connections with it"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at that address: the node is not running, or listens on another port"
	case errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH):
		return "there is no route to that address: this machine is offline, or in another network"
	case errors.As(err, &name):
		return fmt.Sprintf("the name %s cannot be resolved", name.Name)
	case errors.Is(err, swarm.ErrNoTransport):
		return "that kind of address needs a transport this node does not have"
	case errors.Is(err, swarm.ErrDialBackoff):
		return "it could not be reached a moment ago"
	case errors.Is(err, swarm.ErrNoAddresses) || errors.Is(err, swarm.ErrNoGoodAddresses): // libp2p keeps why a name could not be resolved
		return "none of its addresses can be dialled from here: it has none, a name in them is not known, or they need a transport this node does not have"
	case os.IsTimeout(err) || errors.Is(err, context.DeadlineExceeded):
		return "no answer: the machine is off, the address is wrong, a router or firewall lets nothing in, or only one end has a network key"
	case errors.Is(err, errHungUp) || errors.Is(err, syscall.ECONNRESET) || strings.Contains(err.Error(), "failed to negotiate security protocol"):
		return "the program that listens there hangs up: it is not p2pnode, has another network key, or does not let this node in"
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
