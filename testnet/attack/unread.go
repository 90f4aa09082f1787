package attack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/multiformats/go-multiaddr"
)

// unread attacks with questions whose answers nobody reads: whoever answers waits, and holds
// what was asked meanwhile too.
func unread() Scenario {
	return Scenario{
		Name: "unread", Daemons: true,
		About: "asks the victim's hash table for whom it knows and reads no answer, on 2, 6 or 60 streams of each of 256 identities, which fill them with more questions; every fourth offers unknown protocols instead",
		Run:   onField(plain, flooded("unread answers", 256, askInVain)),
	}
}

// askInVain asks for the announcements under the network's key, more often than the answers
// fit into a stream, and then fills the other direction of the stream. Before, it announces
// itself at as many addresses as are kept, so that the answers are long.
func askInVain(ctx context.Context, i int, s *stranger) {
	const addresses, enough, window = 16, 8, 255 << 10
	const hold = 15 * time.Second
	streams := []int{2, 6, 60, 6}[i%4]
	victim, table := s.field.victim(), tableProtocol(s.field.network)
	sum := sha256.Sum256([]byte("p2pnode/" + s.field.network))
	key := append([]byte{0x12, 0x20}, sum[:]...) // in the form of a SHA-256 multihash
	var addrs [][]byte
	for k := range addresses {
		addrs = append(addrs, multiaddr.StringCast(fmt.Sprintf("/ip4/64.255.%d.%d/tcp/4001", i%256, k)).Bytes())
	}
	question, long := whoProvides(key), whoProvides(make([]byte, 8<<10))
	begin := framed([]byte("/multistream/1.0.0\n"))
	text := slices.Concat(begin, framed([]byte(string(table)+"\n")), bytes.Repeat(question, enough), bytes.Repeat(long, window/len(long)))
	if i%4 == 3 {
		text = slices.Concat(begin, bytes.Repeat(framed([]byte("x\n")), window/4))
	}
	for ctx.Err() == nil {
		if s.meet(ctx, victim) != nil {
			return
		}
		if announced, err := s.say(ctx, victim, table, framed(provide(key, s.ID(), addrs))); err == nil {
			_ = announced.Close()
		}
		var asking sync.WaitGroup
		for range streams {
			asking.Go(func() {
				stream, err := s.Network().NewStream(ctx, victim.id)
				if err != nil {
					return
				}
				_ = stream.SetWriteDeadline(time.Now().Add(5 * time.Second))
				_, _ = stream.Write(text[:min(len(text), window)])
				_ = rest(ctx, hold)
				_ = stream.Reset()
			})
		}
		asking.Wait()
		if rest(ctx, refused) != nil {
			return
		}
	}
}

// whoProvides asks the hash table who has announced itself under a key.
func whoProvides(key []byte) []byte {
	const getProviders = 3
	return framed(bytesField(numberField(nil, 1, getProviders), 2, key))
}
