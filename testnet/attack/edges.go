package attack

import (
	"context"
	"time"

	"p2pnode/gossip"
)

// edges attacks with the work of making edges.
func edges() Scenario {
	return Scenario{
		Name: "edges", Daemons: true,
		About: "asks for an edge and gives it up again, from 256 identities, as often as they are answered",
		Run:   onField(plain, flooded("edges", 256, comeAndGo)),
	}
}

// comeAndGo asks for an edge and ends it, again and again.
func comeAndGo(ctx context.Context, _ int, s *stranger) {
	victim := s.field.victim()
	r := request{own: s.unknown()}
	for ctx.Err() == nil {
		if s.meet(ctx, victim) != nil {
			return
		}
		for _, r.kind = range []gossip.EdgeKind{gossip.EdgeAsk, gossip.EdgeDrop} {
			answer, err := s.ask(ctx, victim, r)
			if err != nil {
				break
			}
			r.turn = answer.turn
		}
		if rest(ctx, 100*time.Millisecond) != nil {
			return
		}
	}
}
