package main

import (
	"errors"
	"os"
	"testing"

	"p2pnode/node/api"
)

// A daemon that is told to erase its directory does so, and ends.
func TestDaemonErasesItself(t *testing.T) {
	dir := initNode(t)
	d := start(t, dir)
	if _, err := d.owner.Erase(t.Context(), "somebody else"); !errors.Is(err, api.ErrRequest) {
		t.Errorf("with another name: %v; want a wrong request", err)
	}
	if _, err := d.owner.Erase(t.Context(), d.id); err != nil {
		t.Error(err)
	}
	if state := d.end(t); !state.Success() {
		t.Errorf("the daemon ended with %v", state)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is there: %v", err)
	}
}
