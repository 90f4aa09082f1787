package attack

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-msgio"

	"p2pnode/gossip"
	"p2pnode/node/datadir"
)

// outsiders lets peers that are on no list try everything that needs a connection.
func outsiders() Scenario {
	return Scenario{
		Name: "outsiders", Daemons: true,
		About: "asks a node of a private network for an edge, for exchanges and for its hash table, from 32 identities that are on no list",
		Run:   onField(similar, knock),
	}
}

func knock(ctx context.Context, f *field) ([]Bar, error) {
	p, err := f.prepare(func(c *datadir.Config) { c.WakeSeconds = 1 })
	if err != nil {
		return nil, err
	}
	if err := f.enlist(ctx, p); err != nil {
		return nil, err
	}
	if err := f.start(p); err != nil {
		return nil, err
	}
	f.honest = append(f.honest, p)
	if err := f.feed(ctx); err != nil {
		return nil, err
	}
	all, err := f.strangers(32, 8)
	if err != nil {
		return nil, err
	}
	length := min(f.length(), time.Minute)
	if err := f.open(ctx, all[0]); err != nil {
		return nil, err
	}
	f.Say(fmt.Sprintf("%d strangers knock for %v", len(all), length))
	knocking, stop := context.WithTimeout(ctx, length)
	defer stop()
	var answered atomic.Int64
	each(knocking, all, func(_ int, s *stranger) {
		for knocking.Err() == nil {
			if s.meet(knocking, p) != nil {
				return
			}
			answered.Add(s.knock(knocking, p))
			_ = rest(knocking, refused)
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	spent, err := f.spent(ctx, p)
	if err != nil {
		return nil, err
	}
	return []Bar{
		AtMost("9 requests answered: outsiders", float64(answered.Load()), 0, "requests"),
		AtMost("9 releases spent: outsiders", spent, 0, "releases"),
	}, nil
}

// knock makes one request of each kind, and returns how many were answered.
func (s *stranger) knock(ctx context.Context, p *person) (answered int64) {
	for _, kind := range []gossip.EdgeKind{gossip.EdgeAsk, gossip.EdgeExchange} {
		if _, err := s.ask(ctx, p, request{kind: kind, own: s.unknown()}); err == nil {
			answered++
		}
	}
	if s.lookUp(ctx, p) == nil {
		answered++
	}
	return answered
}

// open checks that a node without a list answers all of these requests, so that the
// stranger's requests are known to be valid.
func (f *field) open(ctx context.Context, s *stranger) error {
	p, err := f.prepare(nil)
	if err == nil {
		err = f.start(p)
	}
	if err != nil {
		return err
	}
	defer f.halt(p)
	err = until(ctx, 30*time.Second, func() (bool, error) {
		return s.dial(ctx, p) == nil && s.knock(ctx, p) == 3, nil
	})
	if err != nil {
		return fmt.Errorf("attack: a node without a list of members does not answer strangers: %w", err)
	}
	return nil
}

// enlist makes a private network whose only member is a daemon that has not run yet.
func (f *field) enlist(ctx context.Context, p *person) error {
	cmd := p.host.Command(ctx, f.Program, "members", "init", "garden", "--key", filepath.Join(f.Dir, "garden.key"), "--dir", p.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("attack: make a membership list: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// lookUp asks the hash table of a daemon for nodes, and waits for the answer.
func (s *stranger) lookUp(ctx context.Context, p *person) error {
	const findNode = 4
	stream, err := s.say(ctx, p, tableProtocol(s.field.network), framed(bytesField(numberField(nil, 1, findNode), 2, []byte(s.ID()))))
	if err != nil {
		return err
	}
	defer stream.Reset()
	_ = stream.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, err = msgio.NewVarintReader(stream).ReadMsg()
	return err
}
