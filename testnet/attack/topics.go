package attack

import (
	"context"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
)

// topics attacks with what gossipsub remembers of each peer, and looks through when a peer
// leaves.
func topics() Scenario {
	return Scenario{
		Name: "topics", Daemons: true,
		About: "says from 256 identities that each listens to a thousand authors who do not exist, and leaves and comes again",
		Run:   onField(plain, flooded("topics", 256, listenToAll)),
	}
}

// listenToAll subscribes to invented topics. Half of the identities stay for a while.
func listenToAll(ctx context.Context, i int, s *stranger) {
	const messages, each = 4, 256
	victim := s.field.victim()
	if i%2 == 0 {
		s.SetStreamHandler(pubsub.GossipSubID_v12, swallow)
	}
	out := &shout{stranger: s, to: victim}
	for ctx.Err() == nil {
		if s.meet(ctx, victim) != nil {
			return
		}
		for range messages {
			rpc := &pb.RPC{}
			for range each {
				rpc.Subscriptions = append(rpc.Subscriptions, subscription("p2pnode/"+s.field.network+"/m/"+randomText(16)).Subscriptions...)
			}
			if out.send(ctx, rpc) != nil {
				break
			}
		}
		_ = rest(ctx, refused)
		if i%4 < 2 {
			_ = rest(ctx, 5*time.Second)
		}
		_ = s.Network().ClosePeer(victim.id)
	}
}
