package attack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	pb "github.com/libp2p/go-libp2p-pubsub/pb"

	"p2pnode/learner"
	"p2pnode/node/datadir"
)

// The limits of bar 6, for a third of every neighbourhood.
const (
	allowedAhead = 2.0 // rounds by which a node may pass the honest median
	allowedPace  = 1.0 / 3
	// allowedHurry is how many times as fast as before the honest median may advance:
	// no attacker may hurry all of them.
	allowedHurry = 2.0
)

// lastround attacks with neighbours that say that the run is over.
func lastround() Scenario {
	return Scenario{
		Name: "lastround", Daemons: true,
		About: "becomes two neighbours of every node that learns in rounds, and announces a round far ahead",
		Run:   onField(inRounds, paced("last round", hurry)),
	}
}

// mutes attacks with neighbours that are connected and send nothing.
func mutes() Scenario {
	return Scenario{
		Name: "mutes", Daemons: true,
		About: "becomes two neighbours of every node that learns in rounds, and says nothing",
		Run:   onField(inRounds, paced("silent neighbours", func(ctx context.Context, s *stranger, outs []*shout) { <-ctx.Done() })),
	}
}

// inRounds is a task of diffusion whose nodes wait ten seconds for each other.
func inRounds() *learner.Task {
	t := &learner.Task{Name: "rounds", Learner: "diffusion", Features: learner.NumberFeatures(4), Target: learner.Target{Name: "y", Min: 0, Max: 10}}
	t.Rounds.Seconds = 10
	t.Release.MaxReleases = 50_000
	return t.Complete(learner.Keys{"learner": true, "rounds.seconds": true, "release.max_releases": true}, learner.Expected{})
}

// paced makes a scenario that measures bar 6: how daemons advance in rounds before and
// during an attack by fewer than a third of their neighbours.
func paced(name string, attack func(ctx context.Context, s *stranger, outs []*shout)) func(context.Context, *field) ([]Bar, error) {
	return func(ctx context.Context, f *field) ([]Bar, error) {
		honest, liars := f.several(6, 7), 2
		err := f.settle(honest, func(c *datadir.Config) { c.Releases = f.task.Release.MaxReleases })
		if err == nil {
			err = f.acquaint(ctx)
		}
		if err == nil {
			err = f.together(ctx, honest-1)
		}
		if err == nil {
			err = f.feed(ctx)
		}
		if err != nil {
			return nil, err
		}
		length := min(max(f.length(), 10*time.Second), time.Minute)
		f.Say(fmt.Sprintf("%v without the attack", length))
		calm, err := f.walk(ctx, length)
		if err != nil {
			return nil, err
		}
		if calm.gained() == 0 {
			return nil, errors.New("attack: the honest daemons do not go on in rounds, before any attack")
		}
		during, err := f.walkAmongLiars(ctx, liars, length, attack)
		if err != nil {
			return nil, err
		}
		during.first = calm.last // what happened while the liars became neighbours counts too
		pace := during.gained() / calm.gained()
		return []Bar{
			AtMost("6 ahead of the median: "+name, max(calm.ahead, during.ahead), allowedAhead, "rounds"),
			AtMost("6 hurried: "+name, pace, allowedHurry, "of the pace before"),
			atLeast("6 slowed: "+name, pace, allowedPace, "of the pace before"),
		}, nil
	}
}

// walkAmongLiars lets liars become neighbours of all honest daemons, attack, and end with
// the walk.
func (f *field) walkAmongLiars(ctx context.Context, liars int, length time.Duration, attack func(ctx context.Context, s *stranger, outs []*shout)) (walk, error) {
	all, err := f.strangers(liars, liars)
	if err != nil {
		return walk{}, err
	}
	attacking, stop := context.WithCancel(ctx)
	defer stop()
	ended, standing := make(chan struct{}), make(chan struct{}, liars)
	go func() {
		defer close(ended)
		each(attacking, all, func(_ int, s *stranger) {
			var outs []*shout
			for _, p := range f.honest {
				if out, err := s.befriend(attacking, p); err == nil {
					outs = append(outs, out)
				}
			}
			standing <- struct{}{}
			attack(attacking, s, outs)
		})
	}()
	f.Say(fmt.Sprintf("%d liars become neighbours of all", liars))
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for range liars {
		select {
		case <-standing:
		case <-limited.Done():
			return walk{}, errors.Join(context.Cause(ctx), errors.New("attack: nobody accepts the liars as neighbours"))
		}
	}
	f.Say(fmt.Sprintf("%v of the attack", length))
	during, err := f.walk(ctx, length)
	stop()
	<-ended
	return during, err
}

// walk is how daemons advance in rounds.
type walk struct {
	first, last float64 // the median of the honest daemons
	seconds     float64
	ahead       float64 // the most that one was ahead of the median
}

func (w *walk) gained() float64 { return (w.last - w.first) / w.seconds }

func (f *field) walk(ctx context.Context, length time.Duration) (w walk, err error) {
	began := time.Now()
	for look := 0; ; look++ {
		var rounds []float64
		for _, p := range f.honest {
			s, err := p.owner.Progress(ctx)
			if err != nil {
				return w, err
			}
			rounds = append(rounds, float64(s.Round))
		}
		slices.Sort(rounds)
		w.last = rounds[len(rounds)/2]
		w.ahead = max(w.ahead, rounds[len(rounds)-1]-w.last)
		if look == 0 {
			w.first = w.last
		}
		w.seconds = time.Since(began).Seconds()
		if w.seconds > length.Seconds() {
			return w, nil
		}
		if err := rest(ctx, 500*time.Millisecond); err != nil {
			return w, err
		}
	}
}

// hurry announces rounds far ahead.
func hurry(ctx context.Context, s *stranger, outs []*shout) {
	topic := topicOf(s.field.network, s.ID())
	for round := uint64(1 << 40); ctx.Err() == nil; round++ {
		m, err := s.model(topic, round)
		if err != nil {
			return
		}
		for _, out := range outs {
			_ = out.send(ctx, &pb.RPC{Publish: []*pb.Message{m}})
		}
		_ = rest(ctx, 500*time.Millisecond)
	}
}
