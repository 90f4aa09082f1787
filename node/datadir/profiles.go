package datadir

import (
	"fmt"
	"strings"
)

// Profile is a kind of machine, with the values of keys that suit it. Each value can be
// changed afterwards.
type Profile struct {
	Name  string
	About string
	Keys  []Setting
}

// LowPower is the profile for devices that run on a battery.
const LowPower = "lowpower"

// Profiles lists the profiles.
func Profiles() []Profile {
	keys := func(power, dht, mdns, upnp string) []Setting {
		return []Setting{{Key: "power", Value: power}, {Key: "dht", Value: dht}, {Key: "mdns", Value: mdns}, {Key: "upnp", Value: upnp}}
	}
	return []Profile{
		{"server", "a machine with an address of its own that always runs: answers others, and asks neither a router nor the local network", keys(PowerNormal, "server", "false", "false")},
		{"laptop", "comes and goes: asks others and answers nobody", keys(PowerNormal, "client", "true", "true")},
		{LowPower, "runs on a battery: as laptop, does less while idle, and looks at the local network only when asked to", keys(PowerLow, "client", "false", "true")},
		{"test", "tries things out on this machine alone", append(keys(PowerNormal, "server", "false", "false"), Setting{Key: "listen", Value: "/ip4/127.0.0.1/tcp/0"})},
	}
}

// ProfileNamed finds a profile by its name.
func ProfileNamed(name string) (Profile, error) {
	var names []string
	for _, p := range Profiles() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Profile{}, fmt.Errorf("config: no profile %q; there are %s", name, strings.Join(names, ", "))
}

// Use applies the values of a profile.
func (c *Config) Use(name string) error {
	p, err := ProfileNamed(name)
	if err != nil {
		return err
	}
	return c.Found(p.Keys)
}
