package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
)

// Lab is a set of hosts with the networks that join them. Its methods, and those of the
// objects it makes, are safe for concurrent use.
type Lab struct {
	ctx  context.Context // the context of every command
	stop context.CancelFunc

	mu       sync.Mutex
	wire     *Host   // a namespace with the bridges and the far ends of all cables
	hosts    []*Host // including the wire
	links    []*Link // in the order of their ports
	segments int
	blocked  map[[2]*Link]bool // from one to the other
}

// New makes an empty lab. Close it when done.
func New() (*Lab, error) {
	ctx, stop := context.WithCancel(context.Background())
	l := &Lab{ctx: ctx, stop: stop, blocked: make(map[[2]*Link]bool)}
	wire, err := l.Host("wire")
	if err != nil {
		stop()
		return nil, err
	}
	l.wire = wire
	return l, nil
}

// Close kills the commands that still run and takes the lab down. Afterwards only Close
// may be called.
func (l *Lab) Close() error {
	l.stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for _, link := range l.links {
		err = errors.Join(err, link.relay.close())
	}
	for _, h := range l.hosts {
		err = errors.Join(err, h.space.Close())
	}
	l.links, l.hosts = nil, nil
	return err
}

// Host makes a host that is not joined to anything yet: it has its loopback interface,
// which also carries multicast. The name is used in errors.
func (l *Lab) Host(name string) (*Host, error) {
	space, err := newNamespace()
	if err != nil {
		return nil, fmt.Errorf("lab: make the namespace of %s: %w", name, err)
	}
	h := &Host{Name: name, lab: l, space: space}
	l.mu.Lock()
	l.hosts = append(l.hosts, h)
	l.mu.Unlock()
	return h, h.ip("link set lo up multicast on", "route add 224.0.0.0/4 dev lo metric 1000")
}

// Segment is a network that hosts join: one bridge, one range of addresses.
type Segment struct {
	bridge string
	subnet netip.Prefix
}

// Segment makes a network with a range of IPv4 addresses. The range may be one of the
// internet's, to test programs that behave differently there: nothing in a lab can
// reach the real one.
func (l *Lab) Segment(subnet netip.Prefix) (*Segment, error) {
	if !subnet.Addr().Is4() {
		return nil, fmt.Errorf("lab: %v is no range of IPv4", subnet)
	}
	l.mu.Lock()
	l.segments++
	s := &Segment{bridge: fmt.Sprintf("b%d", l.segments), subnet: subnet.Masked()}
	l.mu.Unlock()
	return s, l.wire.ip("link add "+s.bridge+" type bridge mcast_snooping 0", "link set "+s.bridge+" up")
}

// Addr is the k-th address of the segment, from 1.
func (s *Segment) Addr(k int) netip.Addr {
	a := s.subnet.Addr()
	for range k {
		a = a.Next()
	}
	return a
}
