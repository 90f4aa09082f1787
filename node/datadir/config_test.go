package datadir

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/gossip"
	"p2pnode/internal/require"
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
		"keep_records": func(c *Config) { c.KeepRecords = -1 },
		"keep_days":    func(c *Config) { c.KeepDays = math.NaN() },
		"profile":      func(c *Config) { c.Profile = []float64{1, 2} },
		"unprotected":  func(c *Config) { c.Unprotected = "yes" },

		"max_megabytes": func(c *Config) { c.MaxMegabytes = -1 },
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
	if _, err := parseConfig(ConfigFile, []byte("epsilom = 1"), lineTask(), nil); err == nil || !strings.Contains(err.Error(), "epsilom") {
		t.Errorf("unknown key: error %v does not name it", err)
	}
}

// A directory of an earlier wire version is taken along to the network of this one;
// that of a later version, or of another task, is not.
func TestDirectoryOfAnEarlierWireVersion(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	require.NoError(t, Init(dir, lineTask(), DefaultConfig(lineTask())))
	files, err := Read(dir)
	require.NoError(t, err)
	s := openStore(t, dir)
	defer s.Close()
	for version := 1; version <= gossip.Version+1; version++ {
		if err := s.PutMeta(networkKey, networkName(lineTask(), version)); err != nil {
			t.Fatal(err)
		}
		err := s.claim(dir, files)
		if version > gossip.Version {
			if err == nil || !strings.Contains(err.Error(), "another task") {
				t.Errorf("a directory of a later version: %v", err)
			}
			continue
		}
		if made, metaErr := s.Meta(networkKey); err != nil || metaErr != nil || made != NetworkName(lineTask()) {
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

func TestLowPowerGoesWithWhatItNeeds(t *testing.T) {
	c := DefaultConfig(lineTask())
	if err := c.Use(LowPower); err != nil || c.MDNS || c.DHT != "client" || c.Power != PowerLow {
		t.Errorf("mdns %v, dht %q", c.MDNS, c.DHT)
	}
	if err := c.Use("high"); err == nil || !strings.Contains(err.Error(), "there are server, laptop, lowpower, test") {
		t.Errorf("a profile that is none: %v", err)
	}
	for _, p := range Profiles() {
		if err := c.Use(p.Name); err != nil {
			t.Error(err)
		}
		if err := c.Validate(lineTask()); err != nil {
			t.Errorf("profile %s: %v", p.Name, err)
		}
	}
}
