package attack

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"slices"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/gossip"
	"p2pnode/learner"
)

// models attacks with an author that sends more models than anybody wants to hear.
func models() Scenario {
	return Scenario{
		Name: "models", Daemons: true,
		About: "becomes a neighbour of the victim with two identities and publishes as many valid models as it can, up to 6,000 a second, half as many again through two that pass them on",
		Run:   onField(plain, flooded("models of neighbours", 4, publish)),
	}
}

// control attacks with gossipsub's own messages, which carry no model.
func control() Scenario {
	return Scenario{
		Name: "control", Daemons: true,
		About: "sends IHAVE, IWANT, GRAFT and subscriptions without end, or messages full of empty ones, from identities of which half let nobody open a stream to them",
		Run:   onField(plain, flooded("control messages", 64, chatter)),
	}
}

// garbage attacks with random bytes.
func garbage() Scenario {
	return Scenario{
		Name: "garbage", Daemons: true,
		About: "opens streams of every protocol of the victim and sends random bytes, half requests and lengths that are never kept",
		Run:   onField(plain, flooded("garbage", 256, babble)),
	}
}

// exchanges attacks with requests, each of which costs the victim as many checks of
// signatures as a request may.
func exchanges() Scenario {
	return Scenario{
		Name: "exchanges", Daemons: true,
		About: "asks for exchanges of entries as often as it is let, each with sixteen signed entries of nodes that do not exist, from 40 identities",
		Run:   onField(similar, flooded("exchanges", 40, swap)),
	}
}

// flooded makes a scenario of bar 1 in which identities do the same, each until ctx ends; with
// --quick at most 64 of them.
func flooded(name string, identities int, do func(ctx context.Context, i int, s *stranger)) func(context.Context, *field) ([]Bar, error) {
	return func(ctx context.Context, f *field) ([]Bar, error) {
		addresses := f.several(16, 64)
		if err := f.learning(ctx, f.several(3, 4)); err != nil {
			return nil, err
		}
		all, err := f.strangers(f.several(min(identities, 64), identities), addresses)
		if err != nil {
			return nil, err
		}
		return f.flood(ctx, name, func(ctx context.Context) {
			each(ctx, all, func(i int, s *stranger) { do(ctx, i, s) })
		})
	}
}

// subscription is an RPC that says that its sender listens to a topic.
func subscription(topic string) *pb.RPC {
	yes := true
	return &pb.RPC{Subscriptions: []*pb.RPC_SubOpts{{Subscribe: &yes, Topicid: &topic}}}
}

// befriend asks a daemon for an edge until it accepts, with the entry of an honest
// newcomer, and listens to its models.
func (s *stranger) befriend(ctx context.Context, p *person) (*shout, error) {
	out := &shout{stranger: s, to: p}
	s.SetStreamHandler(pubsub.GossipSubID_v12, swallow)
	for {
		if err := s.meet(ctx, p); err != nil {
			return nil, err
		}
		answer, err := s.ask(ctx, p, request{kind: gossip.EdgeAsk, own: s.unknown()})
		if err == nil && answer.answer == gossip.EdgeAccepted {
			return out, out.send(ctx, subscription(topicOf(s.field.network, p.id)))
		}
		if err := rest(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// unknown is the entry of a stranger of which only the address is known.
func (s *stranger) unknown() entry {
	return entry{passport: gossip.NewPassport([]multiaddr.Multiaddr{s.addr})}
}

// swallow reads everything and sends nothing.
func swallow(stream network.Stream) {
	var b [4096]byte
	for {
		if _, err := stream.Read(b[:]); err != nil {
			_ = stream.Reset()
			return
		}
	}
}

// publish sends valid models, 3,000 a second. All but the first two identities pass on
// models that the first two could have written, without being asked.
func publish(ctx context.Context, i int, s *stranger) {
	victim := s.field.victim()
	const authors, rate, batch = 2, 3000, 30
	author, out, round := s, &shout{stranger: s, to: victim}, uint64(0)
	if i < authors {
		var err error
		if out, err = s.befriend(ctx, victim); err != nil {
			return
		}
	} else {
		author, round = s.field.identities[i%authors], 1<<32
		if s.meet(ctx, victim) != nil {
			return
		}
	}
	topic := topicOf(s.field.network, author.ID())
	tick := time.NewTicker(time.Second * batch / rate)
	defer tick.Stop()
	for ctx.Err() == nil {
		rpc := &pb.RPC{}
		for range batch {
			round++
			m, err := author.model(topic, round)
			if err != nil {
				return
			}
			rpc.Publish = append(rpc.Publish, m)
		}
		if out.send(ctx, rpc) != nil && s.meet(ctx, victim) != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// model is a valid model of a stranger, with its proof, as gossipsub sends it.
func (s *stranger) model(topic string, round uint64) (*pb.Message, error) {
	real := make([]float64, s.field.task.Dimension())
	for k := range real {
		real[k] = float64(float32(mathrand.NormFloat64() / 10))
	}
	data, err := s.signer.Encode(learner.Message{Kind: learner.KindModel, Round: round, NoiseStd: 0.1, Real: real, Degree: s.degree()})
	if err != nil {
		return nil, err
	}
	return &pb.Message{Topic: &topic, Data: data}, nil
}

// degree is the degree that an author in rounds states; other authors state none.
func (s *stranger) degree() int {
	if s.field.task.InRounds() {
		return 1
	}
	return 0
}

// chatter sends control messages. Identities with an odd number accept no stream from
// the victim.
func chatter(ctx context.Context, i int, s *stranger) {
	victim := s.field.victim()
	if i%2 == 0 {
		s.SetStreamHandler(pubsub.GossipSubID_v12, swallow)
	}
	topics := []string{topicOf(s.field.network, victim.id), topicOf(s.field.network, s.ID())}
	for _, p := range s.field.honest {
		topics = append(topics, topicOf(s.field.network, p.id))
	}
	out := &shout{stranger: s, to: victim}
	for ctx.Err() == nil {
		if s.meet(ctx, victim) != nil {
			return
		}
		rpc := controls(topics)
		if i%4 >= 2 {
			rpc = empties()
		}
		if out.send(ctx, rpc) != nil && rest(ctx, refused) != nil {
			return
		}
	}
}

// empties is one RPC full of models, requests and names in which nothing is.
func empties() *pb.RPC {
	const many = 8000
	switch mathrand.N(3) {
	case 0:
		return &pb.RPC{Publish: slices.Repeat([]*pb.Message{{}}, many)}
	case 1:
		return &pb.RPC{Control: &pb.ControlMessage{Ihave: slices.Repeat([]*pb.ControlIHave{{}}, many)}}
	}
	return &pb.RPC{Control: &pb.ControlMessage{Iwant: []*pb.ControlIWant{{MessageIDs: make([]string, many)}}}}
}

// controls is one RPC full of control messages about topics, as long as the victim
// reads, or a little longer.
func controls(topics []string) *pb.RPC {
	const length, longest = 40, 80 << 10
	each := 1 + mathrand.N(longest/(3*length*len(topics))) // number of message IDs for each topic
	c := &pb.ControlMessage{}
	rpc := &pb.RPC{Control: c}
	for _, topic := range topics {
		ids := make([]string, each)
		for k := range ids {
			ids[k] = randomText(length)
		}
		c.Ihave = append(c.Ihave, &pb.ControlIHave{TopicID: &topic, MessageIDs: ids})
		c.Iwant = append(c.Iwant, &pb.ControlIWant{MessageIDs: ids})
		c.Idontwant = append(c.Idontwant, &pb.ControlIDontWant{MessageIDs: ids})
		c.Graft = append(c.Graft, &pb.ControlGraft{TopicID: &topic})
		c.Prune = append(c.Prune, &pb.ControlPrune{TopicID: &topic})
		yes := mathrand.N(2) == 0
		rpc.Subscriptions = append(rpc.Subscriptions, &pb.RPC_SubOpts{Subscribe: &yes, Topicid: &topic})
	}
	return rpc
}

// randomText returns n random characters.
func randomText(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	for i := range b {
		b[i] = 'a' + b[i]%26
	}
	return string(b)
}

// babble opens streams of all protocols and sends what belongs to none of them.
func babble(ctx context.Context, i int, s *stranger) {
	victim := s.field.victim()
	for n := 0; ctx.Err() == nil; n++ {
		if s.meet(ctx, victim) != nil {
			return
		}
		spoken, err := s.Peerstore().GetProtocols(victim.id)
		if err != nil || len(spoken) == 0 {
			spoken = []protocol.ID{edgeProtocol(s.field.network)}
		}
		junk := make([]byte, mathrand.N(5000))
		_, _ = rand.Read(junk)
		switch n % 4 {
		case 0: // messages without content, or zeros
			clear(junk)
		case 1: // a length, followed by that many bytes
			junk = framed(junk)
		case 2: // a length, followed by fewer bytes
			junk = append(appendVarint(nil, uint64(len(junk)+1000)), junk...)
		}
		stream, err := s.say(ctx, victim, spoken[mathrand.N(len(spoken))], junk)
		if err != nil {
			if rest(ctx, refused) != nil {
				return
			}
			continue
		}
		if mathrand.N(2) == 0 {
			_ = stream.Reset()
		} else {
			time.AfterFunc(time.Minute, func() { _ = stream.Reset() }) // keeps its place for a while
		}
	}
}

// swap asks for exchanges with entries that the victim has to check.
func swap(ctx context.Context, i int, s *stranger) {
	victim := s.field.victim()
	made, err := s.inventions(64)
	if err != nil {
		return
	}
	for n := 0; ctx.Err() == nil; n++ {
		if s.meet(ctx, victim) != nil {
			return
		}
		r := request{kind: gossip.EdgeExchange, own: s.unknown()}
		for k := range gossip.MaxKnown {
			r.known = append(r.known, made[(n*gossip.MaxKnown+k)%len(made)])
		}
		if _, err := s.ask(ctx, victim, r); err != nil && rest(ctx, refused) != nil {
			return
		}
	}
}

// inventions returns signed entries of nodes that do not exist, with addresses of the
// attacker.
func (s *stranger) inventions(n int) (all []entry, err error) {
	for range n {
		key, id, err := newKey()
		if err != nil {
			return nil, err
		}
		e := entry{peer: id}
		if s.field.task.Graph.Rule == "released" {
			e.round, e.std, e.vector = 1, 0.1, make([]float64, s.field.task.EstimateDimension())
			for k := range e.vector {
				e.vector[k] = mathrand.NormFloat64()
			}
		}
		said := gossip.Entry{Peer: id, Round: e.round, Std: e.std, Vector: e.vector}
		e.passport, err = gossip.NewSigner(key, s.field.network).Passport(said, []multiaddr.Multiaddr{s.addr})
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}
