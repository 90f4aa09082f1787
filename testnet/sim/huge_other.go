//go:build !linux

package sim

import "unsafe"

// inLargePages is for systems that can be asked.
func inLargePages[T any](v []T) []T { return v }

func adviseLargePages(_ unsafe.Pointer, _ uintptr) {}
