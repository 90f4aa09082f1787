package mobile

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"p2pnode/node"
)

// surroundings is what the app has said about the network and the battery.
type surroundings struct {
	network         int // NetNone, NetUnmetered, NetMetered
	battery         int // percent; -1: the device has none
	charging, saver bool
}

// announced is what the app said in its last call of SetNetwork.
type announced struct {
	kind            int
	interfaces, dns string
}

// unknownSurroundings returns the surroundings before the app has told anything.
func unknownSurroundings() surroundings {
	return surroundings{network: NetNone, battery: -1, charging: true}
}

// obstacle returns why a node may not take part in the network, in words for a user, or ""
// if it may.
func (c *Config) obstacle(s surroundings) string {
	switch {
	case s.network == NetNone:
		return "waiting for a network"
	case s.network == NetMetered && !c.AllowMetered:
		return "waiting for Wi-Fi"
	case c.RequireCharging && !s.charging:
		return "waiting for the charger"
	case s.saver && !c.AllowPowerSaver:
		return "power saver is on"
	case s.battery >= 0 && s.battery < c.MinBatteryPercent && !s.charging:
		return fmt.Sprintf("battery below %d %%", c.MinBatteryPercent)
	}
	return ""
}

// SetNetwork tells the node what the system's ConnectivityManager or NWPathMonitor
// says: the kind, one of NetNone, NetUnmetered, NetMetered; the interfaces as JSON,
//
//	[{"name":"wlan0","index":3,"addrs":["192.168.1.5","fe80::1%wlan0"],"multicast":true}]
//
// or "" where the system names them to everybody (not Android 11 and later); and the
// servers that resolve names, ["192.168.1.1"], or "". Call it before Start and at
// every change: until the first call the kind is NetNone. Repeating a call changes nothing.
// If a text is wrong, the kind still takes effect, because it may cost money.
func (n *Node) SetNetwork(kind int, interfacesJSON, dnsServersJSON string) error {
	return n.do(func() error {
		if kind < NetNone || kind > NetMetered {
			return wrongInput("the kind of network must be 0 (none), 1 (unmetered) or 2 (metered), not %d", kind)
		}
		interfaces, err := parseInterfaces(interfacesJSON)
		servers, err2 := parseServers(dnsServersJSON)
		err = cmp.Or(err, err2)
		now := announced{kind, interfacesJSON, dnsServersJSON}
		n.driver.update(func() {
			if n.announced == now {
				return // systems also call back for smaller changes, and a node that looks again dials again
			}
			n.announced.kind = kind
			n.driver.around.network = kind
			n.driver.again() // what failed in the last network may work in this one
			if err == nil {
				n.announced = now
				n.node.SetInterfaces(interfaces)
				n.node.SetDNS(servers)
			}
		})
		return err
	})
}

// SetPower tells the node the state of the battery, 0 to 100 or -1 for a device without
// one, and whether the system saves power. Until the first call it is charging. If the
// percentage is wrong, the rest still takes effect.
func (n *Node) SetPower(batteryPercent int, charging, saver bool) error {
	return n.do(func() error {
		var err error
		if batteryPercent < -1 || batteryPercent > 100 {
			err = wrongInput("a battery of %d %% is outside 0 to 100; -1 is a device without one", batteryPercent)
		}
		n.driver.update(func() {
			a := &n.driver.around
			a.charging, a.saver = charging, saver
			if err == nil {
				a.battery = batteryPercent
			}
		})
		return err
	})
}

// parseInterfaces reads the interfaces that an app names; nil means "ask the system".
func parseInterfaces(text string) ([]node.Interface, error) {
	if text == "" {
		return nil, nil
	}
	var list []struct {
		Name      string       `json:"name"`
		Index     int          `json:"index"`
		Addrs     []netip.Addr `json:"addrs"`
		Multicast bool         `json:"multicast"`
	}
	if err := decodeJSON(text, &list); err != nil {
		return nil, wrongInput(`the interfaces are no JSON list as [{"name":"wlan0","index":3,"addrs":["192.168.1.5"]}]: %w`, err)
	}
	out := make([]node.Interface, 0, len(list)) // not nil: the app has said that there are none
	for _, i := range list {
		if i.Name == "" || i.Index < 1 {
			return nil, wrongInput("the interfaces: each needs a name and an index from 1 on, and one has %q and %d", i.Name, i.Index)
		}
		if slices.ContainsFunc(i.Addrs, func(a netip.Addr) bool { return !a.IsValid() }) {
			return nil, wrongInput("the interfaces: %s has an address that is empty", i.Name)
		}
		out = append(out, node.Interface{Name: i.Name, Index: i.Index, Addrs: i.Addrs, Multicast: i.Multicast})
	}
	return out, nil
}

// dnsPort is the port of name servers.
const dnsPort = 53

// parseServers reads the servers that resolve names; nil means "ask the system".
func parseServers(text string) ([]netip.AddrPort, error) {
	if text == "" {
		return nil, nil
	}
	var list []netip.Addr
	if err := decodeJSON(text, &list); err != nil {
		return nil, wrongInput(`the servers for names are no JSON list as ["192.168.1.1"]: %w`, err)
	}
	var out []netip.AddrPort
	for _, a := range list {
		if !a.IsValid() {
			return nil, wrongInput("the servers for names: an address is empty")
		}
		out = append(out, netip.AddrPortFrom(a, dnsPort))
	}
	return out, nil
}
