package node

import (
	"strings"
	"testing"

	"p2pnode/node/datadir"
)

// A port belongs to one node: the second one is told that it is taken.
func TestOnePortOneHost(t *testing.T) {
	first := testNode(t, lineTask(), nil, func(c *datadir.Config) { c.Listen = []string{"/ip4/127.0.0.1/tcp/0"} })
	start(t, first)
	taken := waitForAddrs(t, first)[0]
	address, _, _ := strings.Cut(taken, "/p2p/")
	second := testNode(t, lineTask(), nil, func(c *datadir.Config) { c.Listen = []string{address} })
	h, _, _, err := second.newHost()
	if err == nil {
		h.Close()
		t.Fatalf("two hosts listen on %s", address)
	}
	if text := err.Error(); !strings.Contains(text, "address already in use") || !strings.Contains(text, "choose another port (key listen)") {
		t.Errorf("%v does not say what is wrong and what to do", err)
	}
}
