package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// workplacePrefix begins the names of the directories of nodes.
const workplacePrefix = "p2pnode-testnet-"

// lockName is the file in such a directory that is locked for as long as its process lives.
const lockName = "lock"

// workplace makes a directory for the nodes in parent, which stays theirs until release is
// called or the process ends. Those that killed runs left there, with the records of people in
// them, it removes and names.
func workplace(parent string, stderr io.Writer) (dir string, release func() error, err error) {
	left, err := filepath.Glob(filepath.Join(parent, workplacePrefix+"*"))
	if err != nil {
		return "", nil, err
	}
	for _, l := range left {
		if !abandoned(l) {
			continue
		}
		removeInUse(l) // its nodes may run
		fmt.Fprintf(stderr, "testnet: removed %s, which a run that was killed had left, with the records of its nodes\n", l)
	}
	if dir, err = os.MkdirTemp(parent, workplacePrefix); err != nil {
		return "", nil, err
	}
	release, err = occupy(dir)
	return dir, release, err
}
