package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"p2pnode/discovery/reach"
	"p2pnode/internal/require"
	"p2pnode/testnet/lab"
)

// The tables miniupnpd writes into, and how it is told so.
const (
	upnpTables = `table inet upnp {
chain miniupnpd { }
chain prerouting_miniupnpd { }
chain postrouting_miniupnpd { }
chain prerouting {
type nat hook prerouting priority dstnat
jump prerouting_miniupnpd
}
}
`
	upnpConfig = `ext_ifname=eth1
listening_ip=eth0
http_port=5000
upnp_table_name=upnp
upnp_nat_table_name=upnp
secure_mode=yes
uuid=0b54a4a8-7e4e-4f6c-9d0c-5d5f4a8a3c11
`
)

// upnp is a router's program that maps ports for those who ask.
type upnp struct {
	router         *lab.Host
	tables, config string
}

func newUPnP(t *testing.T, router *lab.Host) *upnp {
	t.Helper()
	dir := shortTemp(t)
	u := &upnp{router: router, tables: filepath.Join(dir, "tables"), config: filepath.Join(dir, "config")}
	require.NoError(t, os.WriteFile(u.tables, []byte(upnpTables), 0o600))
	require.NoError(t, os.WriteFile(u.config, []byte(upnpConfig), 0o600))
	return u
}

// start begins with no mappings, and returns what ends the program and takes them
// away.
func (u *upnp) start(t *testing.T) (stop func()) {
	t.Helper()
	_, err := u.router.Run("nft", "-f", u.tables)
	require.NoError(t, err)
	cmd := u.router.Command(t.Context(), "miniupnpd", "-d", "-f", u.config, "-P", u.config+".pid")
	require.NoError(t, cmd.Start())
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_, err := u.router.Run("nft", "delete table inet upnp")
		require.NoError(t, err)
	}
}

// mapping is where the router says that this node can be called; "" if nowhere.
func (d *daemon) mapping(t *testing.T) string {
	t.Helper()
	for _, a := range d.doctor(t).Reach.Addresses {
		if a.Source == reach.Router {
			return a.Address + "/p2p/" + d.id
		}
	}
	return ""
}

// A router maps ports for those who ask: a node behind it can be called by
// everybody, without a relay. It asks again when the router has forgotten it.
func TestLabUPnP(t *testing.T) {
	nightly(t)
	w := newInternet(t)
	if _, err := exec.LookPath("miniupnpd"); err != nil {
		t.Skip("no router that maps ports: the program miniupnpd is missing; it is in the package miniupnpd-nftables")
	}
	host, _, box := w.homeAndRouter(t, lab.PlainNAT)
	router := newUPnP(t, box)
	stop := router.start(t)
	behind := w.node(t, host, "")
	begin := time.Now()
	require.Within(t, 30*time.Second, "the router maps the port", func() bool { return behind.mapping(t) != "" })
	address := behind.mapping(t)
	t.Logf("mapped to %s after %.1f s", address, time.Since(begin).Seconds())
	if !strings.HasPrefix(address, "/ip4/45.0.0.1/tcp/") {
		t.Errorf("mapped to %s, want an address of the router", address)
	}
	caller := w.node(t, w.public(t), address)
	flow(t, 40*time.Second, "with one who has called", behind, caller)
	if l := behind.link(t, caller.id); !l.Called {
		t.Errorf("connected as %+v, want called", l)
	}
	behind.says(t, 0, "REACHABLE. Others call this node directly", "mapped by the router", "maps ports (UPnP)", "1 called this node")

	stop()
	defer router.start(t)()
	begin = time.Now()
	require.Within(t, 40*time.Second, "the router maps the port again", func() bool {
		rules, err := box.Run("nft", "list chain inet upnp prerouting_miniupnpd")
		require.NoError(t, err)
		return strings.Contains(rules, "dnat")
	})
	t.Logf("mapped again after %.1f s", time.Since(begin).Seconds())
	second := w.node(t, w.public(t), behind.mapping(t))
	flow(t, 40*time.Second, "with another one", behind, second)
	if !slices.ContainsFunc(behind.doctor(t).Reach.Links, func(l reach.Link) bool { return l.Peer == second.id && l.Called }) {
		t.Errorf("connected as %+v, want called", behind.link(t, second.id))
	}
}
