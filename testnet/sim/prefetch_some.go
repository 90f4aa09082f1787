//go:build amd64 || arm64

package sim

import "unsafe"

// prefetch asks the processor to bring lines of 64 bytes, 1 at least, into its cache. It
// reads nothing and changes no result.
//
//go:noescape
func prefetch(p unsafe.Pointer, lines int)

// prefetchFirst asks for the first line of each piece.
//
//go:noescape
func prefetchFirst(list []piece)
