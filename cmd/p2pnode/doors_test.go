package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"p2pnode/internal/require"
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

// The flags of run count more than config.toml, also where they take something back.
func TestAccessFlags(t *testing.T) {
	t.Parallel()
	dir := initNode(t)
	cli(t, nil, "config", "set", "api_listen=0.0.0.0:8467", "api_public=true", "--dir", dir)
	for _, c := range []struct {
		flags, listen string
		public        bool
	}{
		{"", "0.0.0.0:8467", true},
		{"--api 127.0.0.1:1 --api-public=false", "127.0.0.1:1", false},
		{"--api=", "", false},
		{"--api= --api-public=false", "", false},
	} {
		var f accessFlags
		cmd := &cobra.Command{}
		f.register(cmd)
		require.NoError(t, cmd.ParseFlags(strings.Fields(c.flags)))
		files, err := datadir.Read(dir, f.settings(cmd.Flags().Changed)...)
		require.NoError(t, err)
		if got := files.Config; got.APIListen != c.listen || got.APIPublic != c.public {
			t.Errorf("%q: at %q, public %v", c.flags, got.APIListen, got.APIPublic)
		}
	}
}
