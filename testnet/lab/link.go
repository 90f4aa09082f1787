package lab

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Link is a host's cable to a segment.
type Link struct {
	host    *Host
	segment *Segment
	device  string // interface at the host
	port    string // interface at the bridge
	addr    netip.Addr
	loss    float64
	relay   *relay // nil for a cable without delay
}

// Join gives the host an interface on a segment, with an address in the segment's
// range. The cable itself adds no delay.
func (h *Host) Join(s *Segment, addr netip.Addr) (*Link, error) {
	return h.join(s, addr, func(k *Link) error {
		return h.lab.wire.ip(fmt.Sprintf("link add %s type veth peer name %s netns %s", k.port, k.device, h.path()))
	})
}

// JoinSlow is like Join, but the cable delays what goes through it, in either
// direction. It works as long as this process does.
func (h *Host) JoinSlow(s *Segment, addr netip.Addr, d Delay) (*Link, error) {
	return h.join(s, addr, func(k *Link) (err error) {
		k.relay, err = newRelay(h.lab.wire, k.port, h, k.device, d)
		return err
	})
}

func (h *Host) join(s *Segment, addr netip.Addr, lay func(*Link) error) (*Link, error) {
	if !s.subnet.Contains(addr) {
		return nil, fmt.Errorf("lab: %v is not in %v", addr, s.subnet)
	}
	l := h.lab
	l.mu.Lock()
	k := &Link{host: h, segment: s, addr: addr,
		device: fmt.Sprintf("eth%d", h.links), port: fmt.Sprintf("p%d", len(l.links))}
	h.links++
	l.links = append(l.links, k)
	l.mu.Unlock()
	if err := lay(k); err != nil {
		return nil, err
	}
	if err := l.wire.ip("link set " + k.port + " master " + s.bridge + " up"); err != nil {
		return nil, err
	}
	if err := h.ip("address add "+k.prefix(), "link set "+k.device+" up", k.multicast()); err != nil {
		return nil, err
	}
	return k, k.forwards()
}

// forwards waits until the bridge accepts packets from the link: the kernel may notice
// a new cable late.
func (k *Link) forwards() error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		state, err := k.host.lab.wire.Run("ip", "-details", "link", "show", k.port)
		if err != nil || strings.Contains(state, "state forwarding") {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("lab: the cable of %s does not come up", k.host.Name)
		}
	}
}

// prefix is the address in the form that ip needs.
func (k *Link) prefix() string {
	return fmt.Sprintf("%v/%d dev %s", k.addr, k.segment.subnet.Bits(), k.device)
}

// multicast is the route that makes mDNS work without a default route.
func (k *Link) multicast() string {
	return "route add 224.0.0.0/4 dev " + k.device + " metric 1" + k.device[len("eth"):]
}

// Host returns the host of the cable.
func (k *Link) Host() *Host { return k.host }

// Addr is the host's address on the segment.
func (k *Link) Addr() netip.Addr {
	k.host.lab.mu.Lock()
	defer k.host.lab.mu.Unlock()
	return k.addr
}

// Move gives the host another address on the segment and takes the old one away, as
// happens to a phone.
func (k *Link) Move(addr netip.Addr) error {
	if !k.segment.subnet.Contains(addr) {
		return fmt.Errorf("lab: %v is not in %v", addr, k.segment.subnet)
	}
	k.host.lab.mu.Lock()
	old := k.prefix()
	k.addr = addr
	now := k.prefix()
	k.host.lab.mu.Unlock()
	return k.host.ip("address delete "+old, "address add "+now)
}

// Cut pulls the cable out: the host's interface loses its carrier.
func (k *Link) Cut() error { return k.host.lab.wire.ip("link set " + k.port + " down") }

// Mend puts the cable in again.
func (k *Link) Mend() error {
	if err := k.host.lab.wire.ip("link set " + k.port + " up"); err != nil {
		return err
	}
	return k.forwards()
}

// Lose makes the cable lose this share of the packets, in [0, 1], in either direction.
// Packets between two hosts go through both their cables.
func (k *Link) Lose(share float64) error {
	l := k.host.lab
	l.mu.Lock()
	defer l.mu.Unlock()
	k.loss = share
	return l.filter()
}

// Block drops the packets between these links and those, within a segment.
func (l *Lab) Block(these, those []*Link) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range these {
		for _, b := range those {
			l.blocked[[2]*Link{a, b}], l.blocked[[2]*Link{b, a}] = true, true
		}
	}
	return l.filter()
}

// Unblock cancels every Block.
func (l *Lab) Unblock() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.blocked)
	return l.filter()
}

// lossGrid is the number of equally likely values from which a packet's fate is drawn.
const lossGrid = 100_000

// filter makes the bridges drop packets as configured. A packet that is dropped there
// is lost without its sender noticing. The caller holds l.mu.
func (l *Lab) filter() error {
	var b strings.Builder
	b.WriteString("add table bridge lab\ndelete table bridge lab\ntable bridge lab {\nchain forward {\ntype filter hook forward priority 0\n")
	for pair := range l.blocked {
		fmt.Fprintf(&b, "iifname %s oifname %s drop\n", pair[0].port, pair[1].port)
	}
	for _, k := range l.links {
		if k.loss > 0 {
			fate := fmt.Sprintf("numgen random mod %d < %d drop", lossGrid, int(k.loss*lossGrid))
			fmt.Fprintf(&b, "iifname %s %s\noifname %s %s\n", k.port, fate, k.port, fate)
		}
	}
	b.WriteString("}\n}")
	return l.wire.rules(b.String())
}
