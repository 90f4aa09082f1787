//go:build !linux && !darwin

package durable

// Free returns -1: it is not known on this system.
func Free(string) int64 { return -1 }
