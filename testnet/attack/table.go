package attack

import (
	"context"
	"crypto/rand"
	"crypto/sha256"

	"p2pnode/learner"
)

// providers attacks the hash table: it remembers an announcement for an hour, and each
// one is under another key.
func providers() Scenario {
	return Scenario{
		Name: "providers", Daemons: true,
		About: "announces itself under random keys in the hash table of the victim",
		Run:   onField(plain, announce),
	}
}

// plain is a task whose daemons learn with anybody, as they do unless a task says
// otherwise.
func plain() *learner.Task {
	t := learner.Clusters()
	t.Graph = learner.Graph{Rule: "random", Degree: 10}
	return t
}

// similar is a task whose daemons find similar ones by what they release.
func similar() *learner.Task { return learner.Clusters() }

func announce(ctx context.Context, f *field) ([]Bar, error) {
	if err := f.learning(ctx, f.several(3, 4)); err != nil {
		return nil, err
	}
	all, err := f.strangers(f.several(8, 64), 16)
	if err != nil {
		return nil, err
	}
	return f.flood(ctx, "providers", func(ctx context.Context) {
		each(ctx, all, func(_ int, s *stranger) { s.announce(ctx) })
	})
}

// announce fills the hash table of the victim until ctx ends. One announcement in sixteen is
// under the network's own key.
func (s *stranger) announce(ctx context.Context) {
	addrs := [][]byte{s.addr.Bytes()}
	sum := sha256.Sum256([]byte("p2pnode/" + s.field.network))
	own := append([]byte{0x12, 0x20}, sum[:]...) // in the form of a SHA-256 multihash
	random := append([]byte(nil), own...)
	var batch []byte
	for ctx.Err() == nil {
		if s.meet(ctx, s.field.victim()) != nil {
			return
		}
		stream, err := s.say(ctx, s.field.victim(), tableProtocol(s.field.network), framed(provide(own, s.ID(), addrs)))
		if err != nil {
			if rest(ctx, refused) != nil {
				return
			}
			continue
		}
		for ctx.Err() == nil && err == nil {
			batch = batch[:0]
			for range 15 {
				_, _ = rand.Read(random[2:])
				batch = append(batch, framed(provide(random, s.ID(), addrs))...)
			}
			_, err = stream.Write(append(batch, framed(provide(own, s.ID(), addrs))...))
		}
		_ = stream.Reset()
	}
}
