package main

import (
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/testnet/lab"
)

// Daemons on one local network that were told of nobody find each other.
// P2PNODE_SEGMENT=30 starts that many, and counts their mDNS packets for five minutes.
func TestLabLocalNetwork(t *testing.T) {
	inNamespaces(t)
	count, minutes := 12, 0
	if text := os.Getenv("P2PNODE_SEGMENT"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		count, minutes = n, 5
	}
	l, err := lab.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	segment, err := l.Segment(netip.MustParsePrefix("10.67.0.0/24"))
	require.NoError(t, err)
	var hosts []*lab.Host
	var daemons []*daemon
	for i := range count {
		host, err := l.Host(fmt.Sprintf("host %d", i))
		require.NoError(t, err)
		_, err = host.Join(segment, segment.Addr(i+1))
		require.NoError(t, err)
		_, err = host.Run("nft", "add table inet m; add chain inet m out { type filter hook output priority 0; }; add rule inet m out udp dport 5353 counter")
		require.NoError(t, err)
		hosts = append(hosts, host)
		dir := initNodeAt(t, "/ip4/0.0.0.0/tcp/4001", "--no-mdns=false")
		daemons = append(daemons, startWith(t, dir, host.Command(t.Context(), "p2pnode", "run", "--json", "--dir", dir)))
	}
	begin := time.Now()
	const want = 5
	require.Within(t, 60*time.Second, fmt.Sprintf("everybody has %d neighbours", want), func() bool {
		for _, d := range daemons {
			if d.status(t).Neighbours < want {
				return false
			}
		}
		return true
	})
	sent := mdnsPackets(t, hosts)
	t.Logf("%d nodes: %d neighbours each %.1f s after the last start; %d mDNS packets sent until then", count, want, time.Since(begin).Seconds(), sent)
	for minute := range minutes {
		time.Sleep(time.Minute)
		now := mdnsPackets(t, hosts)
		t.Logf("minute %d: %d mDNS packets", minute+1, now-sent)
		sent = now
	}
}

// mdnsPackets is how many packets the hosts have sent to the port of mDNS.
func mdnsPackets(t *testing.T, hosts []*lab.Host) (sent int) {
	t.Helper()
	counter := regexp.MustCompile(`packets (\d+)`)
	for _, h := range hosts {
		text, err := h.Run("nft", "list table inet m")
		require.NoError(t, err)
		m := counter.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no counter in %q", strings.TrimSpace(text))
		}
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		sent += n
	}
	return sent
}
