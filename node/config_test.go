package node

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/privacy"
)

func TestConfigErrorsNameTheKey(t *testing.T) {
	for key, change := range map[string]func(*Config){
		"listen":       func(c *Config) { c.Listen = []string{"localhost:80"} },
		"bootstrap":    func(c *Config) { c.Bootstrap = []string{"/ip4/127.0.0.1/tcp/4001"} },
		"relays":       func(c *Config) { c.Relays = []string{"/ip4/127.0.0.1/tcp/4001"} },
		"announce":     func(c *Config) { c.Announce = []string{"example.org:4001"} },
		"dht":          func(c *Config) { c.DHT = "no" },
		"epsilon":      func(c *Config) { c.Epsilon = 11 },
		"delta":        func(c *Config) { c.Delta = 0 },
		"releases":     func(c *Config) { c.Releases = 0 },
		"wake_seconds": func(c *Config) { c.WakeSeconds = 0 },
		"profile":      func(c *Config) { c.Profile = []float64{1, 2} },
		"unprotected":  func(c *Config) { c.Unprotected = "yes" },
	} {
		c := DefaultConfig(lineTask())
		change(&c)
		if err := c.Validate(lineTask()); err == nil || !strings.Contains(err.Error(), `"`+key+`"`) {
			t.Errorf("%s: error %v does not name the key", key, err)
		}
	}
	c := DefaultConfig(lineTask())
	if err := c.Validate(lineTask()); err != nil {
		t.Errorf("the default is refused: %v", err)
	}
	for _, wrong := range []string{"/ip4/127.0.0.1/tcp/443/wss", "/ip4/127.0.0.1", "/dns4/example.org/tcp/4001", "/ip4/127.0.0.1/tcp/0/http"} {
		c.Listen = []string{wrong}
		if err := c.Validate(lineTask()); err == nil || !strings.Contains(err.Error(), `"`+wrong+`" cannot be listened on`) {
			t.Errorf("%s: error %v", wrong, err)
		}
	}
	c.Listen, c.Announce = []string{"/ip4/0.0.0.0/tcp/0/ws", "/ip6/::/udp/0/quic-v1"}, []string{"/dns4/example.org/tcp/4001"}
	if err := c.Validate(lineTask()); err != nil {
		t.Errorf("good addresses are refused: %v", err)
	}
	c.Announce = []string{"/ip4/198.51.100.7"}
	if err := c.Validate(lineTask()); err == nil || !strings.Contains(err.Error(), `key "announce": "/ip4/198.51.100.7" has no port`) {
		t.Errorf("an address without a port: error %v", err)
	}
	if _, err := ParseConfig([]byte("epsilom = 1"), lineTask()); err == nil || !strings.Contains(err.Error(), "epsilom") {
		t.Errorf("unknown key: error %v does not name it", err)
	}
}

func TestInitAndOpen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "node")
	discard := slog.New(slog.DiscardHandler)
	if _, err := Open(dir, discard); err == nil || !strings.Contains(err.Error(), "p2pnode init") {
		t.Errorf("Open before Init: %v does not say what to do", err)
	}
	if err := Init(dir, lineTask(), DefaultConfig(lineTask())); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, keyFile)
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("identity key: %v, %v; want mode 0600", info, err)
	}
	if err := Init(dir, lineTask(), DefaultConfig(lineTask())); err == nil {
		t.Error("a second Init overwrites the node")
	}
	first := openNode(t, dir)
	if _, err := Open(dir, discard); err == nil || !strings.Contains(err.Error(), "another p2pnode") {
		t.Errorf("a second Open: %v", err)
	}
	id := first.ID()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if again := openNode(t, dir); again.ID() != id {
		t.Error("the identity changed")
	} else if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// What is damaged or does not belong together is refused with a reason.
func TestOpenRefuses(t *testing.T) {
	other := lineTask()
	other.Mu = 2
	otherText, err := FormatTask(other)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file, want string
		text       []byte
	}{
		"damaged key":    {keyFile, "damaged", []byte("x")},
		"another key":    {keyFile, "another identity", otherKey(t)},
		"another task":   {taskFile, "another task", otherText},
		"no task":        {taskFile, "task", []byte("name = 'x'")},
		"bad config":     {configFile, "colour", []byte("colour = 'red'")},
		"damaged store":  {storeFile, "damaged", []byte(strings.Repeat("x", 1<<16))},
		"changed budget": {configFile, "its epsilon is 1 and now it is 2", []byte("epsilon = 2.0")},
	} {
		n := testNode(t, lineTask(), nil, nil)
		if name == "changed budget" { // only a ledger that has begun is bound to its budget
			if _, err := newDoor(n).release(query(mechanism(n), 1, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(n.dir, c.file), c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		if again, err := Open(n.dir, slog.New(slog.DiscardHandler)); err == nil {
			again.Close()
			t.Errorf("%s: opened", name)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %q does not say %q", name, err, c.want)
		}
	}
}

// otherKey is the identity file of another node.
func otherKey(t *testing.T) []byte {
	t.Helper()
	other := testNode(t, lineTask(), nil, nil)
	text, err := os.ReadFile(filepath.Join(other.dir, keyFile))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A directory of an earlier wire version is taken along to the network of this one;
// that of a later version, or of another task, is not.
func TestDirectoryOfAnEarlierWireVersion(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	for version := 1; version <= gossip.Version+1; version++ {
		if err := n.store.PutMeta(networkKey, networkName(lineTask(), version)); err != nil {
			t.Fatal(err)
		}
		err := n.claim()
		if version > gossip.Version {
			if err == nil || !strings.Contains(err.Error(), "another task") {
				t.Errorf("a directory of a later version: %v", err)
			}
			continue
		}
		if made, metaErr := n.store.Meta(networkKey); err != nil || metaErr != nil || made != NetworkName(lineTask()) {
			t.Errorf("version %d: the directory is of network %s, %v", version, made, err)
		}
	}
}

// What the comments of config.toml name is what the keys take.
func TestCommentsNameEveryNoise(t *testing.T) {
	text, err := encodeTOML(DefaultConfig(learner.Movies()))
	if err != nil {
		t.Fatal(err)
	}
	for _, noise := range privacy.Noises() {
		if !strings.Contains(string(text), string(noise)) {
			t.Errorf("no comment of config.toml names the noise %q", noise)
		}
	}
}
