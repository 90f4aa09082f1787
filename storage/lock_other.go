//go:build !android

package storage

import "os"

// exclude does nothing: bbolt's own lock keeps other Stores of this process out too.
func exclude(*os.File, int) error { return nil }
