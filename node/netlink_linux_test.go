package node

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"
	"p2pnode/testnet/lab"
)

// TestOfflimitsInterfaces runs TestUnderTheBan in a process that Linux treats as
// Android 11 and later treat programs: it may not ask for the interfaces.
func TestOfflimitsInterfaces(t *testing.T) {
	if os.Getenv("P2PNODE_BAN") != "" {
		t.Skip("this is the process under the ban")
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestUnderTheBan$", "-test.v")
	child.Env = append(os.Environ(), "P2PNODE_BAN=yes")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skipf("%s", out)
	}
}

// TestUnderTheBan starts two nodes that are told of the interfaces and find each
// other with mDNS.
func TestUnderTheBan(t *testing.T) {
	if os.Getenv("P2PNODE_BAN") == "" {
		t.Skip("runs in a process of its own, for TestOfflimitsInterfaces")
	}
	if err := lab.HideInterfaces(); err != nil {
		t.Skipf("the system lets nobody filter its calls: %v", err)
	}
	if _, err := net.Interfaces(); !errors.Is(err, syscall.EACCES) {
		t.Fatalf("the interfaces can be listed under the ban: %v", err)
	}
	wild := func(c *datadir.Config) {
		c.Listen = []string{"/ip4/0.0.0.0/tcp/0"}
		c.MDNS = true
		c.UPnP = false
	}
	task := lineTask()
	task.Name = fmt.Sprint("ban ", os.Getpid()) // another run of the tests on this machine is another network
	a, b := testNode(t, task, nil, wild), testNode(t, task, nil, wild)
	loopback := Interface{Name: "lo", Index: 1, Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, Multicast: true}
	mobile := Interface{Name: "rmnet0", Index: 2, Addrs: []netip.Addr{netip.MustParseAddr("10.99.0.1")}}
	start(t, a)
	addrs, err := a.Addrs(t.Context())
	if err != nil || len(addrs) != 1 || !strings.HasPrefix(addrs[0], "/ip4/127.0.0.1/") {
		t.Errorf("told of nothing, the node announces %v, %v", addrs, err)
	}
	a.SetInterfaces([]Interface{mobile})
	addrs, err = a.Addrs(t.Context())
	if err != nil || !slices.ContainsFunc(addrs, func(a string) bool { return strings.HasPrefix(a, "/ip4/10.99.0.1/tcp/") }) {
		t.Errorf("told of 10.99.0.1, the node announces %v, %v", addrs, err)
	}
	a.SetInterfaces([]Interface{loopback})
	b.SetInterfaces([]Interface{loopback})
	start(t, b)
	require.Eventually(t, "the two find each other", func() bool {
		return status(t, a).Neighbours == 1 && status(t, b).Neighbours == 1
	})
}
