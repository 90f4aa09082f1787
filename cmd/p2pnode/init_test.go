package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
)

// A flag that decides keys beside its own leaves those alone that --set or the environment says.
func TestInitKeepsWhatIsSaid(t *testing.T) {
	t.Parallel()
	environment := []datadir.Setting{{Key: "contraction", Value: "0.7", From: "P2PNODE_CONTRACTION"}}
	for _, c := range []struct {
		flags, key, want string
		environment      []datadir.Setting
	}{
		{"--pace growing", "contraction", "0.9", nil},
		{"--pace growing --set contraction=0.8", "contraction", "0.8", nil},
		{"--pace growing", "contraction", "0.7", environment},
		{"--pace one-shot", "releases", "1", nil},
		{"--pace one-shot --set releases=3", "releases", "3", nil},
		{"--noise laplace", "accounting", "", nil},
		{"--noise laplace --set accounting=renyi", "accounting", "renyi", nil},
		{"--noise laplace --set accounting=renyi --accounting pure", "accounting", "pure", nil},
		{"--noise truncated-laplace", "accounting", "plan", nil},
		{"--noise truncated-laplace --set accounting=renyi", "accounting", "renyi", nil},
		{"--batch 50", "accounting", "plan", nil},
	} {
		var f initFlags
		cmd := &cobra.Command{}
		f.register(cmd)
		require.NoError(t, cmd.ParseFlags(strings.Fields(c.flags)))
		conf := datadir.DefaultConfig(learner.Movies())
		require.NoError(t, f.change(&conf, c.environment, cmd.Flags().Changed))
		keys := datadir.Keys()
		at := slices.IndexFunc(keys, func(k datadir.Key) bool { return k.Name == c.key })
		if got := keys[at].Text(&conf); got != c.want {
			t.Errorf("%s %v: %s is %q, want %q", c.flags, c.environment, c.key, got, c.want)
		}
	}
}
