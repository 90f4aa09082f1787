//go:build !amd64 && !arm64

package sim

import "unsafe"

// prefetch does nothing here.
func prefetch(unsafe.Pointer, int) {}
