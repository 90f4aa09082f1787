package netedge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"golang.org/x/sync/errgroup"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/node/summing"
	"p2pnode/storage"
)

// member is a relay's part in the private sums of a task.
type member struct {
	plan   *summing.Plan
	desk   *summing.Desk
	gossip *gossip.Gossip
	root   string // holds what a member keeps
	// release gives the directory free.
	release func() error
}

// newMember joins the network of the task whose committee includes the host. Nothing else
// may use the directory meanwhile: a member that runs twice would open sums twice.
func newMember(h host.Host, e *Entrance, key crypto.PrivKey, c RelayConfig, log *slog.Logger) (*member, error) {
	t, err := memberOf(h.ID(), c.Tasks)
	if err != nil {
		return nil, err
	}
	m := &member{root: filepath.Join(c.Dir, datadir.CommitteeDir)}
	if m.release, err = storage.Hold(filepath.Join(c.Dir, lockFile)); err != nil {
		return nil, err
	}
	if err := m.join(h, e, key, t, c, log); err != nil {
		return nil, errors.Join(err, m.release())
	}
	return m, nil
}

// lockFile is the lock in the directory of a relay that is a member.
const lockFile = "relay.lock"

func (m *member) join(h host.Host, e *Entrance, key crypto.PrivKey, t *learner.Task, c RelayConfig, log *slog.Logger) error {
	catalogue, err := datadir.ReadCatalogue(t, c.Catalogue)
	if err != nil {
		return err
	}
	if m.plan, err = datadir.Plan(t, catalogue); err != nil {
		return err
	}
	signing, err := datadir.SigningKey(key)
	if err != nil {
		return err
	}
	m.desk = summing.NewDesk(m.plan.Config(summing.Config{
		Identity: signing, Results: filepath.Join(c.Dir, datadir.ResultsDir), Logger: log,
	}))
	network := datadir.NetworkName(t)
	m.gossip, err = gossip.New(h, gossip.Config{
		Network: network, Signer: gossip.NewSigner(key, network), Rules: t.Messages(gossip.ID(h.ID())), Depth: t.Depth(),
		// It learns nothing, so it is not anybody's neighbour.
		OnEdge:  func(context.Context, peer.ID, gossip.EdgeRequest) gossip.EdgeReply { return gossip.EdgeReply{} },
		Service: m.desk.Service(), Logger: log,
	})
	if err != nil {
		return err
	}
	e.Judged(m.gossip)
	m.desk.Use(m.gossip)
	return nil
}

// memberOf returns the task whose committee includes the peer. There must be exactly one,
// because a host speaks the protocols of one task only.
func memberOf(self peer.ID, tasks []*learner.Task) (*learner.Task, error) {
	found := slices.DeleteFunc(slices.Clone(tasks), func(t *learner.Task) bool { return !slices.Contains(t.Sums.Committee, self.String()) })
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("node: no task of this relay names it in its committee: name %s there, or leave --member out", self)
	}
	return nil, errors.New("node: several tasks of this relay name it in their committees, and it can be a member for one only: run a relay of its own, with its own identity, for each")
}

// run takes part in the sums until ctx ends.
func (m *member) run(ctx context.Context) error {
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return m.gossip.Run(ctx) })
	parts.Go(func() error { return m.desk.Attend(ctx, m.plan, m.root) })
	return errors.Join(parts.Wait(), m.release())
}
