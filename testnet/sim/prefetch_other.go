//go:build !amd64 && !arm64

package sim

import "unsafe"

// Nothing is fetched here.
func prefetch(unsafe.Pointer, int) {}
func prefetchFirst([]piece)        {}
