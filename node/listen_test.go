package node

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"
)

// A node one of whose ports is taken runs with the others, and says so wherever its owner
// looks.
func TestTakenPortIsTold(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	packets, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, packets.Close()) })
	addresses := []string{
		fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", taken.Addr().(*net.TCPAddr).Port),
		fmt.Sprintf("/ip4/127.0.0.1/udp/%d/quic-v1", packets.LocalAddr().(*net.UDPAddr).Port),
	}
	n := testNode(t, lineTask(), nil, func(c *datadir.Config) {
		c.Listen = append(addresses, "/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/udp/0/quic-v1")
	})
	var log bytes.Buffer // read once the node has started
	n.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	atRest, err := n.Doctor(t.Context())
	require.NoError(t, err)
	start(t, n)
	waitForAddrs(t, n)
	s := status(t, n)
	running, err := n.Doctor(t.Context())
	require.NoError(t, err)
	for where, said := range map[string]string{
		"status": strings.Join(s.Unopened, "\n"), "doctor at rest": strings.Join(atRest.Problems, "\n"),
		"doctor": strings.Join(running.Problems, "\n"), "the log": strings.ReplaceAll(log.String(), `\"`, `"`),
	} {
		for _, a := range addresses {
			if !strings.Contains(said, "another program listens on "+a+": end it, or change the port") {
				t.Errorf("%s does not tell of %s: %q", where, a, said)
			}
		}
		if strings.Contains(said, "tcp/0") || strings.Contains(said, "udp/0") {
			t.Errorf("%s tells of an address that is open: %q", where, said)
		}
	}
	if len(s.Unopened) != 2 {
		t.Errorf("status tells %q", s.Unopened)
	}
	require.NoError(t, taken.Close())
	running, err = n.Doctor(t.Context())
	require.NoError(t, err)
	if said := strings.Join(running.Problems, "\n"); !strings.Contains(said, addresses[0]+" could not be opened when the node started, and is free now: restart the node") {
		t.Errorf("a port that is free again: %q", said)
	}
}
