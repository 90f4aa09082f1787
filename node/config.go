package node

import (
	"errors"
	"fmt"
	"math"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// Consent is the sentence an operator must write into the configuration's key
// "unprotected" to send models without any privacy guarantee.
const Consent = "send my models without privacy"

// Config is a node's own part of the configuration: the file config.toml of
// its data directory. What the network must agree on is the task.
type Config struct {
	Listen    []string `toml:"listen" comment:"multiaddresses to listen on"`
	Bootstrap []string `toml:"bootstrap" comment:"peers to start from, as /ip4/.../tcp/.../p2p/ID"`
	MDNS      bool     `toml:"mdns" comment:"look for peers on the local network"`
	DHT       string   `toml:"dht" comment:"server, or client (asks others and answers nobody: a phone, a metered link)"`

	Epsilon     float64 `toml:"epsilon" comment:"the privacy budget of each record, for its whole life"`
	Delta       float64 `toml:"delta"`
	Releases    int     `toml:"releases" comment:"how many releases share that budget"`
	WakeSeconds float64 `toml:"wake_seconds" comment:"mean time between two releases"`

	Profile     []float64 `toml:"profile,omitempty" comment:"public profile, for tasks with the graph rule profile; everybody can read it"`
	Unprotected string    `toml:"unprotected,omitempty" comment:"the consent to send models without any guarantee"`
}

// DefaultConfig is what `p2pnode init` writes for a task.
func DefaultConfig(t *learner.Task) Config {
	return Config{
		Listen:      []string{"/ip4/0.0.0.0/tcp/0", "/ip6/::/tcp/0"},
		MDNS:        true,
		DHT:         "server",
		Epsilon:     t.Release.Epsilon,
		Delta:       t.Release.Delta,
		Releases:    t.Release.Releases,
		WakeSeconds: t.Release.WakeSeconds,
	}
}

// ParseConfig reads a configuration from TOML and checks it against the task.
func ParseConfig(text []byte, t *learner.Task) (Config, error) {
	c := DefaultConfig(t)
	if err := decodeTOML(text, &c); err != nil {
		return Config{}, fmt.Errorf("config: %w", err)
	}
	return c, c.Validate(t)
}

// Validate checks every key; an error names it.
func (c *Config) Validate(t *learner.Task) error {
	return errors.Join(c.validateNetwork(t), c.validatePrivacy(t))
}

func (c *Config) validateNetwork(t *learner.Task) error {
	for _, a := range c.Listen {
		if _, err := multiaddr.NewMultiaddr(a); err != nil {
			return fmt.Errorf("config: key \"listen\": %q: %w", a, err)
		}
	}
	if _, err := c.bootstrapPeers(); err != nil {
		return err
	}
	if c.DHT != "server" && c.DHT != "client" {
		return fmt.Errorf("config: key \"dht\": %q is neither server nor client", c.DHT)
	}
	if t.Graph.Rule == "profile" && len(c.Profile) != t.Graph.Profile {
		return fmt.Errorf("config: key \"profile\": has %d numbers, the task wants %d", len(c.Profile), t.Graph.Profile)
	}
	if t.Graph.Rule != "profile" && len(c.Profile) > 0 {
		return errors.New("config: key \"profile\": this task's graph uses no profile; remove it, it would be public")
	}
	for _, v := range c.Profile {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("config: key \"profile\": holds a number that is not finite")
		}
	}
	return nil
}

func (c *Config) validatePrivacy(t *learner.Task) error {
	r := t.Release
	switch {
	case !(c.WakeSeconds >= r.MinWake) || c.WakeSeconds > 1e7:
		return fmt.Errorf("config: key \"wake_seconds\": %v is outside the task's [%v, 1e7]", c.WakeSeconds, r.MinWake)
	case c.Releases < 0 || c.Releases > r.MaxReleases:
		return fmt.Errorf("config: key \"releases\": %d is outside the task's [1, %d]", c.Releases, r.MaxReleases)
	case c.Unprotected == Consent:
		return nil
	case c.Unprotected != "":
		return fmt.Errorf("config: key \"unprotected\": write exactly %q to give up the privacy guarantee, or remove the key", Consent)
	case c.Releases == 0:
		return errors.New("config: key \"releases\": must be at least 1")
	case !(c.Epsilon > 0) || c.Epsilon > r.MaxEpsilon:
		return fmt.Errorf("config: key \"epsilon\": %v is outside the task's (0, %v]", c.Epsilon, r.MaxEpsilon)
	case !(c.Delta > 0) || c.Delta > r.MaxDelta:
		return fmt.Errorf("config: key \"delta\": %v is outside the task's (0, %v]", c.Delta, r.MaxDelta)
	}
	return nil
}

func (c *Config) protected() bool { return c.Unprotected == "" }

func (c *Config) budget() privacy.Budget {
	return privacy.Budget{Epsilon: c.Epsilon, Delta: c.Delta}
}

func (c *Config) bootstrapPeers() ([]peer.AddrInfo, error) {
	var out []peer.AddrInfo
	for _, a := range c.Bootstrap {
		info, err := peer.AddrInfoFromString(a)
		if err != nil {
			return nil, fmt.Errorf("config: key \"bootstrap\": %q: %w (it should end in /p2p/ and a peer ID)", a, err)
		}
		out = append(out, *info)
	}
	return out, nil
}
