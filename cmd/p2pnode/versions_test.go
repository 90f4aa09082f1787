package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// ofVersion builds p2pnode with another wire version.
func ofVersion(t *testing.T, version int) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", "..", "gossip", "codec.go"))
	require.NoError(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	this, other := fmt.Appendf(nil, "\nconst Version = %d\n", gossip.Version), fmt.Appendf(nil, "\nconst Version = %d\n", version)
	if bytes.Count(text, this) != 1 {
		t.Fatalf("%s does not say %q", file, this)
	}
	dir := shortTemp(t)
	changed, overlay, program := filepath.Join(dir, "codec.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "p2pnode")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(changed, bytes.Replace(text, this, other, 1), 0o600), os.WriteFile(overlay, replace, 0o600))
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// Two nodes of an earlier version learn together. One of this version and they refuse each
// other, in words that say why. When one of them gets this version it comes to the new one,
// and its ledger goes on where it was.
func TestTwoVersions(t *testing.T) {
	if os.Getenv("P2PNODE_VERSIONS") == "" {
		t.Skip("runs nightly: set P2PNODE_VERSIONS to build another version of the program, and to run both")
	}
	t.Parallel()
	earlier := ofVersion(t, gossip.Version-1)
	old := func(flags ...string) *daemon {
		dir := shortTemp(t)
		for _, args := range [][]string{
			append([]string{"init", "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0", "--wake", "0.3", "--releases", "1000", "--dir", dir}, flags...),
			{"data", "import", filepath.Join("testdata", "files", "ratings.csv"), "--dir", dir},
		} {
			if out, err := exec.Command(earlier, args...).CombinedOutput(); err != nil {
				t.Fatalf("%q: %v\n%s", args, err, out)
			}
		}
		return startWith(t, dir, exec.Command(earlier, "run", "--json", "--dir", dir))
	}
	first := old()
	second := old("--bootstrap", first.address)
	require.Eventually(t, "the nodes of the earlier version learn", func() bool {
		return second.heard(t, first.id) > 2 && first.heard(t, second.id) > 2
	})
	newer := start(t, initNode(t, "--bootstrap", first.address))
	const words = "another version of p2pnode, which speaks version %d of the protocol, and this one version %d: install the same version on both"
	refuses(t, newer, second, fmt.Sprintf(words, gossip.Version-1, gossip.Version))
	refuses(t, second, newer, fmt.Sprintf(words, gossip.Version, gossip.Version-1))
	d, err := newer.owner.Doctor(t.Context())
	require.NoError(t, err)
	if len(d.Bootstrap) != 1 || d.Bootstrap[0].Reached || !strings.Contains(d.Bootstrap[0].Why, "another version of p2pnode") {
		t.Errorf("doctor says %+v", d.Bootstrap)
	}
	second.interrupt(t, os.Interrupt)
	before, heard := exact(t, second.dir, first.heard(t, second.id)), first.heard(t, second.id)
	upgraded := startWith(t, second.dir, exec.Command("p2pnode", "run", "--json", "--dir", second.dir, "--set", "bootstrap="+newer.address))
	require.Eventually(t, "the upgraded node learns with the new one", func() bool {
		return newer.heard(t, upgraded.id) > heard && upgraded.heard(t, newer.id) > 0
	})
	require.Eventually(t, "the upgraded node says why it does not hear its old neighbour", func() bool {
		d, err := upgraded.owner.Doctor(t.Context())
		return err == nil && strings.Contains(strings.Join(d.Problems, "\n"), "does not hear "+first.id+" (it has this task and another version of p2pnode")
	})
	upgraded.interrupt(t, os.Interrupt)
	if after := exact(t, second.dir, newer.heard(t, upgraded.id)); after <= before {
		t.Errorf("%d releases, and %d before the upgrade", after, before)
	}
	if n := newer.heard(t, first.id); n > 0 {
		t.Errorf("a node of an earlier version was heard: round %d", n)
	}
}

// refuses checks that a daemon does not take another one as a peer, and why.
func refuses(t *testing.T, d, other *daemon, words string) {
	t.Helper()
	var added api.Addition
	added, err := d.owner.AddPeer(t.Context(), other.address)
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%+v, %v; want an error that says %q", added, err, words)
	}
}
