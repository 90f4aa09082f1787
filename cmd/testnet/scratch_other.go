//go:build !linux

package main

import "os"

// scratch is where the nodes keep their directories.
func scratch() string { return os.TempDir() }
