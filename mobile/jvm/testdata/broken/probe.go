// Package broken has a signature that gobind stops at.
package broken

// Largest has a second result that is no error.
func Largest(a, b int) (int, string) { return max(a, b), "" }
