//go:build unix

package testnet

import (
	"math"
	"syscall"
)

// openFiles is how many files and sockets this process may have open. Go raises
// the soft limit to the hard one when it starts.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64 // unknown: assume that there are enough
	}
	return uint64(limit.Cur)
}
