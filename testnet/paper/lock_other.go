//go:build !unix

package paper

import "os"

// lock does nothing: this system is not asked for locks.
func lock(*os.File) error { return nil }
