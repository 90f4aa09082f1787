package sim

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// inLargePages asks the system to keep the memory of v, not used yet, in pages of
// megabytes: what is read at random from many small ones waits longer for their
// addresses than for the numbers. It is a wish, and changes no result.
func inLargePages[T any](v []T) []T {
	if len(v) > 0 {
		adviseLargePages(unsafe.Pointer(&v[0]), uintptr(len(v))*unsafe.Sizeof(v[0]))
	}
	return v
}

// adviseLargePages is inLargePages for memory of any kind.
func adviseLargePages(at unsafe.Pointer, size uintptr) {
	if size >= 4<<20 {
		_ = unix.Madvise(unsafe.Slice((*byte)(at), size), unix.MADV_HUGEPAGE)
	}
}
