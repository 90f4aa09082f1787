package attack

import (
	"context"
	"time"
)

// crumbs attacks with how something is sent, not with what.
func crumbs() Scenario {
	return Scenario{
		Name: "crumbs", Daemons: true,
		About: "sends long questions to the hash table, each byte in a frame of its own, from 256 identities, of which every other asks for an edge first",
		Run:   onField(plain, flooded("crumbs", 256, crumble)),
	}
}

// crumble becomes a neighbour if it can, and sends questions byte by byte.
func crumble(ctx context.Context, i int, s *stranger) {
	victim, table := s.field.victim(), tableProtocol(s.field.network)
	question := whoProvides(make([]byte, 15<<10))
	if i%2 == 0 {
		soon, stop := context.WithTimeout(ctx, 5*time.Second)
		_, _ = s.befriend(soon, victim) // a stranger sends as well
		stop()
	}
	for ctx.Err() == nil {
		if s.meet(ctx, victim) != nil {
			return
		}
		stream, err := s.say(ctx, victim, table, nil)
		for k := 0; err == nil && ctx.Err() == nil; k++ {
			_ = stream.SetWriteDeadline(time.Now().Add(20 * time.Second))
			_, err = stream.Write(question[k%len(question):][:1])
		}
		if stream != nil {
			_ = stream.Reset()
		}
		if rest(ctx, refused) != nil {
			return
		}
	}
}
