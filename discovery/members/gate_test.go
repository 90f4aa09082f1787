package members

import (
	"strconv"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/require"
)

// A stranger is refused by members on every transport, and hears why.
func TestStrangersAreRefused(t *testing.T) {
	for name, listen := range transports {
		t.Run(name, func(t *testing.T) {
			authority, trusted := newKey(t)
			aliceKey, alice := newKey(t)
			strangerKey, stranger := newKey(t)
			list := sign(t, authority, 1, alice)
			a := join(t, listen, list, aliceKey, nil, trusted)
			// The stranger believes that it is a member: it has signed a list itself.
			b := join(t, listen, sign(t, strangerKey, 1, alice, stranger), strangerKey, nil, stranger)

			// TCP may lose the reason with the connection: nodes call again.
			require.Eventually(t, "the stranger knows that it was refused", func() bool {
				_ = b.Connect(t.Context(), infoOf(a))
				by := b.book.RefusedBy()
				return len(by) == 1 && by[0].Peer == alice
			})
			if away := a.book.TurnedAway(); len(away) != 1 || away[0].Peer != stranger {
				t.Errorf("the member has noted %v", away)
			}
			if connected(a, b) {
				t.Error("the stranger is connected")
			}
			if err := a.Connect(t.Context(), infoOf(b)); err == nil {
				t.Error("a member calls a stranger")
			}
		})
	}
}

// A host without any list is refused too.
func TestHostsWithoutListAreRefused(t *testing.T) {
	authority, trusted := newKey(t)
	aliceKey, alice := newKey(t)
	strangerKey, _ := newKey(t)
	a := join(t, transports["tcp"], sign(t, authority, 1, alice), aliceKey, nil, trusted)
	h := newHost(t, transports["tcp"], strangerKey, libp2p.NoListenAddrs)
	defer h.Close()
	_ = h.Connect(t.Context(), infoOf(a))
	require.Eventually(t, "the connection is gone", func() bool { return !connected(h, a) && !connected(a, h) })
	if len(a.book.TurnedAway()) != 1 {
		t.Error("the member has noted nothing")
	}
}

// Callers with a new ID for each call are no news once there were many.
func TestRefusalsOfManyAreNoNews(t *testing.T) {
	var r refusals
	now := time.Now()
	news := 0
	for i := range 10 * maxRefusals {
		if r.add(peer.ID(strconv.Itoa(i)), now) {
			news++
		}
	}
	if all := r.all(); news != maxRefusals || len(all) != maxRefusals {
		t.Errorf("%d were news, %d are remembered, want %d", news, len(all), maxRefusals)
	}
	if !r.add("later", now.Add(2*forgotten)) || r.add("later", now.Add(2*forgotten)) {
		t.Error("one that comes long after is news, once")
	}
}
