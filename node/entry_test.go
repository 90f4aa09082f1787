package node

import (
	"testing"

	"github.com/multiformats/go-multiaddr"
)

func TestNetOf(t *testing.T) {
	for want, texts := range map[string][][]string{
		"64.7.0.0/16": {
			{"/ip4/64.7.200.1/tcp/4001"}, {"/ip4/192.168.1.7/tcp/1", "/ip4/64.7.1.2/udp/4001/quic-v1", "/ip4/64.8.1.1/tcp/1"},
			{"/ip4/64.7.1.1/tcp/4001/p2p/12D3KooWGRUhN1oHGmFHbTHN8CZfJLJvNGHj8HvS1XxdWLmuKdT7/p2p-circuit"}, {"/ip6/::ffff:64.7.1.1/tcp/1"},
		},
		"2a01:4f8::/32": {{"/ip6/2a01:4f8:1:2::3/tcp/4001"}},
		"": {
			{}, {"/ip4/127.0.0.1/tcp/1"}, {"/ip4/10.1.2.3/tcp/1"}, {"/ip4/169.254.1.1/tcp/1"}, {"/ip4/100.64.3.1/tcp/1"}, {"/ip4/0.0.0.0/tcp/1"},
			{"/ip6/::1/tcp/1"}, {"/ip6/fd00::1/tcp/1"}, {"/ip6/fe80::1/tcp/1"}, {"/dns4/example.org/tcp/1"},
		},
	} {
		for _, list := range texts {
			var addrs []multiaddr.Multiaddr
			for _, text := range list {
				a, err := multiaddr.NewMultiaddr(text)
				if err != nil {
					t.Fatal(err)
				}
				addrs = append(addrs, a)
			}
			if got := netOf(addrs...); got != want {
				t.Errorf("%v is in %q, want %q", list, got, want)
			}
		}
	}
}
