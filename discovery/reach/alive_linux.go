package reach

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unanswered sets how long sent data may wait for an acknowledgement: while some does, the
// system sends no probes, and its own patience is a quarter of an hour.
func unanswered(raw syscall.RawConn, most time.Duration) {
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(most.Milliseconds()))
	})
}
