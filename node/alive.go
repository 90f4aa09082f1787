package node

import "context"

// Alive returns nil when the loop that learns has handled everything that came before
// this call. It returns an error if ctx ends before that or if the node does not run. A
// paused node is alive. A supervisor that calls it regularly notices a loop that hangs.
func (n *Node) Alive(ctx context.Context) error {
	s := n.current()
	if s == nil && len(n.Paused()) > 0 {
		return nil
	}
	if s == nil {
		return errNotRunning
	}
	nothing := recordChange{done: make(chan error, 1)}
	select {
	case s.loop.records <- nothing:
	case <-s.ended:
		return errNotRunning
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-nothing.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
