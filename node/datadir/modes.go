package datadir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Rights that other users must not have.
const (
	readOrWrite fs.FileMode = 0o077
	write       fs.FileMode = 0o022
)

// forOwner returns an error if other users have any of these rights to an existing file
// or directory. harm says what they can do with the right; mode is the chmod mode that
// takes the right away.
func forOwner(path string, rights fs.FileMode, harm, mode string) error {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&rights == 0 {
		return nil // Windows has no such rights
	}
	return fmt.Errorf("node: others can "+harm+"; take their rights away with: chmod %s %s", path, mode, path)
}

// directoryForOwner checks a directory. Each file in it is closed to others by itself, so
// it only matters whether others can replace the files.
func directoryForOwner(dir string) error {
	return forOwner(dir, write, "change which files are in %s and could put back an old database or take another identity there", "700")
}

// TokensForOwner checks the file that says which programs may ask the node over a network.
func TokensForOwner(dir string) error {
	return forOwner(filepath.Join(dir, TokensFile), readOrWrite, "read or change %s and could let themselves ask this node with it", "600")
}

// storeForOwner checks the database of a directory.
func storeForOwner(dir string) error {
	return forOwner(filepath.Join(dir, StoreFile), readOrWrite, "read %s and could see your records with it", "600")
}
