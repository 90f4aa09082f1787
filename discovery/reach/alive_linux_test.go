package reach

import (
	"os"
	"strconv"
	"testing"

	"github.com/multiformats/go-multiaddr"
	"golang.org/x/sys/unix"

	"p2pnode/internal/require"
)

// Both ends of a connection over TCP ask the system to notice when the other vanishes, and
// libp2p asks for nothing else after that.
func TestTheSystemWatchesConnections(t *testing.T) {
	for _, wide := range []bool{true, false} {
		from, _ := newHost(t, wide)
		to, _ := newHost(t, wide)
		require.NoError(t, from.Connect(t.Context(), info(to)))
		port, err := listening(to).ValueForProtocol(multiaddr.P_TCP)
		require.NoError(t, err)
		ends := connected(t, port)
		if len(ends) != 2 {
			t.Fatalf("wide %v: %d ends of one connection", wide, len(ends))
		}
		for _, fd := range ends {
			for option, want := range map[int]int{unix.TCP_KEEPIDLE: 6, unix.TCP_KEEPINTVL: 2, unix.TCP_KEEPCNT: 3, unix.TCP_USER_TIMEOUT: 12_000} {
				if got, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, option); err != nil || got != want {
					t.Errorf("wide %v: option %d of TCP is %d, %v; want %d", wide, option, got, err, want)
				}
			}
		}
	}
}

// connected returns the sockets of this process that are connected to or from a port.
func connected(t *testing.T, port string) (list []int) {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, n := range names {
		fd, err := strconv.Atoi(n.Name())
		require.NoError(t, err)
		near, errNear := unix.Getsockname(fd)
		far, errFar := unix.Getpeername(fd)
		if errNear == nil && errFar == nil && (portOf(near) == port || portOf(far) == port) {
			list = append(list, fd)
		}
	}
	return list
}

func portOf(a unix.Sockaddr) string {
	if a, ok := a.(*unix.SockaddrInet4); ok {
		return strconv.Itoa(a.Port)
	}
	return ""
}
