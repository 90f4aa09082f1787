package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// workplacePrefix begins the names of the directories of nodes.
const workplacePrefix = "p2pnode-testnet-"

// lockName is the file in such a directory that is locked for as long as its process lives.
const lockName = "lock"

// workplace makes a directory for the nodes in parent, which stays theirs until release is
// called or the process ends. Those that killed runs left there, with the records of people in
// them, it removes and names.
func workplace(parent string, stderr io.Writer) (dir string, release func() error, err error) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return "", nil, err
	}
	for _, e := range entries {
		left := filepath.Join(parent, e.Name())
		if !strings.HasPrefix(e.Name(), workplacePrefix) || !abandoned(left) {
			continue
		}
		removeInUse(left) // its nodes may run
		if _, err := os.Lstat(left); errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(stderr, "testnet: removed %s, which a run that was killed had left, with the records of its nodes\n", left)
		}
	}
	if dir, err = os.MkdirTemp(parent, workplacePrefix); err != nil {
		return "", nil, err
	}
	if release, err = occupy(dir); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, release, nil
}
