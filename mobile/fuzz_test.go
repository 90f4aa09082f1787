package mobile

import "testing"

// Whatever an app says of itself and of its surroundings, it is told what is wrong with it,
// and what is taken can be used.
func FuzzConfiguration(f *testing.F) {
	f.Add(`{"task":"movies","bootstrap":["/ip4/192.0.2.1/tcp/1/p2p/12D3KooWQoPFZHjbYqWacLniFGVHMrEyBUtujLqU223AH4jyuhJi"],"listen":["/ip4/0.0.0.0/tcp/0"],"min_battery_percent":30}`)
	f.Add(`[{"name":"wlan0","index":3,"addrs":["192.168.1.5","fe80::1%wlan0"],"multicast":true}]`)
	f.Add(`["192.168.1.1","::1"]`)
	f.Add(`[{"name":"","index":-1,"addrs":[""]}] x`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfig(text)
		if (err == nil) == (c == nil) && err == nil || err != nil && errorCode(err) != CodeInput {
			t.Fatalf("%q: %v, %v", text, c, err)
		}
		if err == nil && (c.MinBatteryPercent < 0 || c.MinBatteryPercent > 100 || c.QueueLimit < 1) {
			t.Fatalf("accepted %+v", c)
		}
		list, err := parseInterfaces(text)
		if err != nil && errorCode(err) != CodeInput {
			t.Fatalf("%q: %v", text, err)
		}
		for _, i := range list {
			for _, a := range i.Addrs {
				if i.Name == "" || i.Index < 1 || !a.IsValid() {
					t.Fatalf("accepted %+v", i)
				}
			}
		}
		servers, err := parseServers(text)
		if err != nil && errorCode(err) != CodeInput {
			t.Fatalf("%q: %v", text, err)
		}
		for _, s := range servers {
			if !s.IsValid() {
				t.Fatalf("accepted %v", s)
			}
		}
	})
}
