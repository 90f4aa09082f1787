//go:build !linux

package sim

// inLargePages is for systems that can be asked.
func inLargePages[T any](v []T) []T { return v }
