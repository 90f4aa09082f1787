package mobile

import (
	"net/netip"
	"strings"
	"testing"
)

// Every combination of what an app can allow and say, against what the words of
// Config promise, one after the other.
func TestObstacles(t *testing.T) {
	flags := []bool{false, true}
	for _, network := range []int{NetNone, NetUnmetered, NetMetered} {
		for _, battery := range []int{-1, 0, 19, 20, 100} {
			for bits := range 1 << 5 {
				bit := func(i int) bool { return flags[bits>>i&1] }
				c := Config{AllowMetered: bit(0), RequireCharging: bit(1), AllowPowerSaver: bit(2), MinBatteryPercent: 20}
				s := surroundings{network: network, battery: battery, charging: bit(3), saver: bit(4)}
				low := battery == 0 || battery == 19
				reasons := []struct {
					holds bool
					text  string
				}{
					{network == NetNone, "waiting for a network"},
					{network == NetMetered && !c.AllowMetered, "waiting for Wi-Fi"},
					{c.RequireCharging && !s.charging, "waiting for the charger"},
					{s.saver && !c.AllowPowerSaver, "power saver is on"},
					{low && !s.charging, "battery below 20 %"},
				}
				want := ""
				for _, r := range reasons {
					if r.holds {
						want = r.text
						break
					}
				}
				if got := c.obstacle(s); got != want {
					t.Errorf("%+v, %+v: %q, want %q", c, s, got, want)
				}
			}
		}
	}
}

func TestNothingKnownIsNoNetwork(t *testing.T) {
	if got := NewConfig("", "").obstacle(unknownSurroundings()); got != "waiting for a network" {
		t.Errorf("%q", got)
	}
	told := unknownSurroundings()
	told.network = NetUnmetered
	if got := NewConfig("", "").obstacle(told); got != "" {
		t.Errorf("with Wi-Fi and nothing said of the battery: %q", got)
	}
}

func TestParseInterfaces(t *testing.T) {
	list, err := parseInterfaces(`[{"name":"wlan0","index":3,"addrs":["192.168.1.5","fe80::1%wlan0"],"multicast":true},{"name":"rmnet0","index":9}]`)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if got := list[0]; got.Name != "wlan0" || got.Index != 3 || !got.Multicast || len(got.Addrs) != 2 || got.Addrs[1].Zone() != "wlan0" {
		t.Errorf("%+v", got)
	}
	if list, err := parseInterfaces(""); list != nil || err != nil {
		t.Errorf("nothing said: %v, %v", list, err)
	}
	if list, err := parseInterfaces("[]"); list == nil || len(list) != 0 || err != nil {
		t.Errorf("there are none: %v, %v", list, err)
	}
	for text, want := range map[string]string{
		`{}`:             "the interfaces",
		`[{"nam":"x"}]`:  `unknown field "nam"`,
		`[{"index":3}]`:  "needs a name",
		`[{"name":"w"}]`: "needs a name and an index",
		`[{"name":"w","index":1,"addrs":["192.168.1"]}]`: "192.168.1",
		`[{"name":"w","index":1,"addrs":[""]}]`:          "empty",
		`[] []`:                                          "follows",
	} {
		if _, err := parseInterfaces(text); errorCode(err) != CodeInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestParseServers(t *testing.T) {
	list, err := parseServers(`["192.168.1.1","fe80::1%wlan0"]`)
	want := netip.MustParseAddrPort("192.168.1.1:53")
	if err != nil || len(list) != 2 || list[0] != want || list[1].Addr().Zone() != "wlan0" {
		t.Errorf("%v, %v", list, err)
	}
	for _, text := range []string{`"192.168.1.1"`, `["dns.example"]`, `[""]`, `["192.168.1.1:53"]`, `[`} {
		if _, err := parseServers(text); errorCode(err) != CodeInput {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// An app that describes the phone wrongly hears of it, and spends no metered data or
// battery meanwhile.
func TestWrongWordsDoNotHideTheConditions(t *testing.T) {
	n := open(t, testConfig(t), nil)
	waits := func(err error, reason string) {
		t.Helper()
		if errorCode(err) != CodeInput || n.driver.now().Reason != reason {
			t.Errorf("%v, and the state is %+v, want %q", err, n.driver.now(), reason)
		}
	}
	check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start())
	waits(n.SetNetwork(NetMetered, `[{"name":"rmnet0"}]`, ""), "waiting for Wi-Fi")
	waits(n.SetNetwork(NetNone, "", "nonsense"), "waiting for a network")
	check(t, n.SetNetwork(NetUnmetered, "", ""))
	if n.driver.now().State == stateWaiting {
		t.Errorf("the state is %+v", n.driver.now())
	}
	waits(n.SetPower(101, false, true), "power saver is on")
}
