//go:build !linux && !darwin

package datadir

// hold does nothing here.
func hold(string) (release func() error, err error) { return func() error { return nil }, nil }
