//go:build !linux

package client

import "net"

// peerProcess would be the ID of the process at the other end: not known here.
func peerProcess(*net.UnixConn) int { return 0 }
