//go:build !unix

package paper

import "os"

// lock does nothing: locks are not used on this system.
func lock(*os.File) error { return nil }
