package attack

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-msgio"
)

// answers attacks with what the victim itself asks for: it asks every peer that has just
// connected whether it answers for the hash table.
func answers() Scenario {
	return Scenario{
		Name: "answers", Daemons: true,
		About: "answers the victim's questions to the hash table with four megabytes of nodes and addresses, or with half of that, from 256 identities that connect again and again",
		Run: onField(plain, func(ctx context.Context, f *field) ([]Bar, error) {
			long := framed(longAnswer())
			return flooded("answers", 256, func(ctx context.Context, i int, s *stranger) { s.answerAtLength(ctx, i, long) })(ctx, f)
		}),
	}
}

// longAnswer is an answer of the hash table that names as many nodes and addresses as
// libp2p takes in one message.
func longAnswer() (b []byte) {
	const findNode, longest, addresses = 4, 4 << 20, 64
	b = numberField(nil, 1, findNode)
	for {
		id := append([]byte{0, 36, 8, 1, 18, 32}, make([]byte, 32)...) // in the form of a peer ID
		_, _ = rand.Read(id[6:])
		node := bytesField(nil, 1, id)
		var places [6 * addresses]byte
		_, _ = rand.Read(places[:])
		for p := places[:]; len(p) > 0; p = p[6:] {
			node = bytesField(node, 2, append(append(append([]byte{4}, p[:4]...), 6), p[4:6]...)) // /ip4/…/tcp/…
		}
		if len(b)+len(node)+8 > longest {
			return b
		}
		b = bytesField(b, 9, node)
	}
}

// answerAtLength connects, answers a question with an answer, and leaves. Every third
// identity does not end its answers.
func (s *stranger) answerAtLength(ctx context.Context, i int, long []byte) {
	victim := s.field.victim()
	if i%3 == 0 {
		long = long[:len(long)-1]
	}
	asked := make(chan struct{}, 1)
	s.SetStreamHandler(tableProtocol(s.field.network), func(stream network.Stream) {
		defer stream.Reset()
		if _, err := msgio.NewVarintReader(stream).ReadMsg(); err != nil {
			return
		}
		_, _ = stream.Write(long)
		select {
		case asked <- struct{}{}:
		default:
		}
		_ = rest(ctx, 5*time.Second)
	})
	for ctx.Err() == nil {
		if s.meet(ctx, victim) != nil {
			return
		}
		limited, stop := context.WithTimeout(ctx, 5*time.Second)
		select {
		case <-limited.Done():
		case <-asked:
		}
		stop()
		_ = s.Network().ClosePeer(victim.id)
	}
}
