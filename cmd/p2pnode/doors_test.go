package main

import (
	"testing"

	"p2pnode/node/datadir"
	"p2pnode/node/server"
)

// Errors on held-out records go to other machines in an experiment only.
func TestNetworkGuard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config datadir.Config
		keeps  bool
	}{
		{datadir.Config{}, false},
		{datadir.Config{Experiment: true}, false},
		{datadir.Config{APIPublic: true}, true},
		{datadir.Config{APIPublic: true, Experiment: true}, false},
	} {
		if _, keeps := networkGuard(&c.config, nil).(server.Discreet); keeps != c.keeps {
			t.Errorf("public %v, experiment %v: errors are kept here: %v", c.config.APIPublic, c.config.Experiment, keeps)
		}
	}
}
