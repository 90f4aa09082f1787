package members

import (
	"os"
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/require"
)

// keys makes n identities.
func keys(t testing.TB, n int) (keys []crypto.PrivKey, ids []peer.ID) {
	t.Helper()
	for range n {
		key, id := newKey(t)
		keys, ids = append(keys, key), append(ids, id)
	}
	return keys, ids
}

func version(b *Book) uint64 {
	if l := b.List(); l != nil {
		return l.Version
	}
	return 0
}

// A newer list given to one of three members in a row reaches the last one; the one
// it leaves out loses its connections.
func TestRevocationSpreads(t *testing.T) {
	for name, listen := range transports {
		t.Run(name, func(t *testing.T) {
			authority, trusted := newKey(t)
			key, id := keys(t, 4)
			first := sign(t, authority, 1, id...)
			var m [4]*member
			for i := range m {
				m[i] = join(t, listen, first, key[i], nil, trusted)
			}
			connect(t, m[0], m[1])
			connect(t, m[2], m[1])
			connect(t, m[3], m[2])
			offer(t, sign(t, authority, 2, id[:3]...), m[0].book)

			require.Eventually(t, "everybody has the new list", func() bool {
				return version(m[1].book) == 2 && version(m[2].book) == 2
			})
			require.Eventually(t, "the revoked member is alone", func() bool { return !connected(m[2], m[3]) && !connected(m[3], m[2]) })
			require.Eventually(t, "the revoked member is told", func() bool {
				_ = m[3].Connect(t.Context(), infoOf(m[2]))
				return slices.ContainsFunc(m[3].book.RefusedBy(), func(r Refusal) bool { return r.Peer == id[2] })
			})
			if !connected(m[0], m[1]) || !connected(m[1], m[2]) {
				t.Error("members have lost their connection")
			}
			if version(m[3].book) == 2 {
				t.Error("the revoked member was given the list")
			}
		})
	}
}

// A node that has joined without a list gets it from its introducer, and then speaks
// to all members.
func TestFirstListComesFromAnIntroducer(t *testing.T) {
	authority, trusted := newKey(t)
	key, id := keys(t, 3)
	list := sign(t, authority, 5, id...)
	a := join(t, transports["tcp"], list, key[0], nil, trusted)
	b := join(t, transports["tcp"], list, key[1], nil, trusted)
	c := join(t, transports["tcp"], nil, key[2], id[:1], trusted)
	if err := c.Connect(t.Context(), infoOf(b)); err == nil {
		t.Error("without a list a node calls anybody")
	}
	connect(t, c, a)
	require.Eventually(t, "the list has come", func() bool { return version(c.book) == 5 })
	connect(t, c, b)
	again := newBook(t, id[2], nil, trusted)
	again.config.File = c.book.config.File
	if text, err := os.ReadFile(c.book.config.File); err != nil || !slices.Equal(text, list.Text) {
		t.Errorf("on disk: %v, %v", text, err)
	}
}

// A member that was away while the list changed gets the new one at its first
// connection, from whichever end it was made.
func TestTheOlderListIsReplacedAtAConnection(t *testing.T) {
	for _, caller := range []string{"older", "newer"} {
		t.Run(caller, func(t *testing.T) {
			authority, trusted := newKey(t)
			key, id := keys(t, 2)
			older := join(t, transports["tcp"], sign(t, authority, 1, id...), key[0], nil, trusted)
			newer := join(t, transports["tcp"], sign(t, authority, 7, id...), key[1], nil, trusted)
			if caller == "older" {
				connect(t, older, newer)
			} else {
				connect(t, newer, older)
			}
			require.Eventually(t, "the list has come", func() bool { return version(older.book) == 7 })
		})
	}
}

// Two authorities issue the same version: everybody ends with the same one.
func TestSameVersionOfTwoAuthorities(t *testing.T) {
	one, oneID := newKey(t)
	two, twoID := newKey(t)
	key, id := keys(t, 4)
	lists := []*Signed{sign(t, one, 2, id...), sign(t, two, 2, append(id, oneID)...)}
	winner := lists[0]
	if lists[1].newer(lists[0]) {
		winner = lists[1]
	}
	var m [4]*member
	for i := range m {
		m[i] = join(t, transports["tcp"], lists[i%2], key[i], nil, oneID, twoID)
	}
	for i := range 3 {
		connect(t, m[i], m[i+1])
	}
	require.Eventually(t, "all have the same list", func() bool {
		return !slices.ContainsFunc(m[:], func(m *member) bool { return m.book.List().digest != winner.digest })
	})
}

// Many changes in a row, given to different members: the last one arrives everywhere.
func TestTheLastOfManyListsArrives(t *testing.T) {
	authority, trusted := newKey(t)
	key, id := keys(t, 6)
	first := sign(t, authority, 1, id...)
	var m [6]*member
	for i := range m {
		m[i] = join(t, transports["tcp"], first, key[i], nil, trusted)
	}
	for i := range m {
		connect(t, m[i], m[(i+1)%len(m)])
		connect(t, m[i], m[(i+2)%len(m)])
	}
	const last = 30
	for v := uint64(2); v <= last; v++ {
		if _, err := m[v%6].book.Offer(sign(t, authority, v, id...).Text); err != nil {
			t.Fatal(err)
		}
	}
	require.Eventually(t, "all have the last list", func() bool {
		return !slices.ContainsFunc(m[:], func(m *member) bool { return version(m.book) != last })
	})
}
