//go:build !linux

package reach

import (
	"syscall"
	"time"
)

// unanswered does nothing: only Linux, and so Android, can be asked for it.
func unanswered(syscall.RawConn, time.Duration) {}
