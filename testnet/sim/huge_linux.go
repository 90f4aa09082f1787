package sim

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// inLargePages asks the system to keep the memory of v, not used yet, in pages of
// megabytes: what is read at random from many small ones waits longer for their
// addresses than for the numbers. It is a wish, and changes no result.
func inLargePages[T any](v []T) []T {
	if size := len(v) * int(unsafe.Sizeof(*new(T))); size >= 4<<20 {
		_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), size), unix.MADV_HUGEPAGE)
	}
	return v
}
