package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
)

// maxSocketPath is the longest path that a unix socket can have on every system.
const maxSocketPath = 103

// Listen opens the unix socket of a data directory that the caller holds. Only the user who
// owns the directory can reach it.
func Listen(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("server: the path of the socket, %s, has more than %d characters; choose a shorter data directory", path, maxSocketPath)
	}
	// The caller holds the directory, so a socket in it was left behind by a process that
	// ended.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("server: remove the old socket: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("server: listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// mostConnections is how many connections a network may hold at a time. spareConnections
// is how many of them tokens do not keep.
const (
	mostConnections  = 256
	spareConnections = 32
)

// ListenNetwork opens a listener that others than the user who runs the daemon can reach.
// With a certificate it uses TLS.
func ListenNetwork(address string, c *tls.Certificate) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("server: offer the owner's interface at %s: %w", address, err)
	}
	listener = newHall(listener, mostConnections, spareConnections)
	if c != nil {
		listener = tls.NewListener(listener, overTLSWith(*c))
	}
	return listener, nil
}
