package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
)

// keyText is a network key made of one byte.
func keyText(digits string) string {
	return "/key/swarm/psk/1.0.0/\n/base16/\n" + strings.Repeat(digits, 32) + "\n"
}

// with is a private network of the key and the authorities; "" and none leave it out.
func with(t *testing.T, key, name string, authorities ...peer.ID) (p PrivateNetwork) {
	t.Helper()
	if key != "" {
		require.NoError(t, p.SetKey(key))
	}
	if name != "" {
		var ids []string
		for _, id := range authorities {
			ids = append(ids, id.String())
		}
		require.NoError(t, p.Join(name, ids, nil))
	}
	return p
}

// A directory takes on the private network that a program brings, and stays in it.
func TestConfigurePrivate(t *testing.T) {
	t.Parallel()
	one, two := randomPeer(t), randomPeer(t)
	task := learner.Movies()
	made := New{Task: task, Config: DefaultConfig(task)}
	configure := func(dir string, p PrivateNetwork) error {
		made.Private = p
		return Configure(dir, made)
	}
	garden, both := with(t, "", "garden", one, two), with(t, keyText("a5"), "garden", two, one)
	for name, begin := range map[string]PrivateNetwork{"new": both, "open until now": {}} {
		dir := filepath.Join(t.TempDir(), "x")
		require.NoError(t, configure(dir, begin), configure(dir, garden), configure(dir, both))
		kept, err := os.ReadFile(filepath.Join(dir, networkKeyFile))
		require.NoError(t, err)
		require.NoError(t, configure(dir, both), configure(dir, PrivateNetwork{}))
		n := reopened(t, dir)
		if n.private.Key == nil || n.private.Book == nil || n.private.Book.Network() != "garden" || len(n.private.Book.Authorities()) != 2 {
			t.Errorf("%s: %+v", name, n.private)
		}
		for what, c := range map[string]struct {
			private PrivateNetwork
			says    string
		}{
			"another key":       {with(t, keyText("00"), ""), "remove it first"},
			"another network":   {with(t, "", "field", one, two), "remove it and " + membersFile},
			"fewer authorities": {with(t, "", "garden", one), "remove it and " + membersFile},
			"other authorities": {with(t, "", "garden", one, randomPeer(t)), "remove it and " + membersFile},
		} {
			if err := configure(dir, c.private); !errors.Is(err, api.ErrRequest) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		if text, err := os.ReadFile(filepath.Join(dir, networkKeyFile)); err != nil || string(text) != string(kept) {
			t.Errorf("%s: the key has changed: %v", name, err)
		}
	}
}

// QUIC and a network key exclude each other, in either order.
func TestConfigurePrivateOverQUIC(t *testing.T) {
	t.Parallel()
	task := learner.Movies()
	tcp, quic := DefaultConfig(task), DefaultConfig(task)
	quic.Listen = []string{"/ip4/127.0.0.1/udp/0/quic-v1"}
	key := with(t, keyText("a5"), "")
	dir := filepath.Join(t.TempDir(), "x")
	refused := func(p PrivateNetwork) {
		t.Helper()
		if err := Configure(dir, New{Task: task, Config: quic, Private: p}); !errors.Is(err, api.ErrRequest) || !strings.Contains(err.Error(), "use TCP") {
			t.Errorf("%v", err)
		}
	}
	refused(key)
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was refused made the directory: %v", err)
	}
	require.NoError(t, Configure(dir, New{Task: task, Config: quic}))
	refused(key)
	require.NoError(t, Configure(dir, New{Task: task, Config: tcp, Private: key}))
	refused(PrivateNetwork{}) // the directory has the key
	if n := reopened(t, dir); !slices.Equal(n.Config.Listen, tcp.Listen) {
		t.Errorf("it listens on %v", n.Config.Listen)
	}
}
