package discovery

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/internal/turn"
)

// Interface is one network interface of this machine.
type Interface struct {
	Name string
	// Index is the operating system's number of the interface, 1 or more.
	Index int
	// Addrs are its IP addresses; those that are local to the link have a zone.
	Addrs []netip.Addr
	// Multicast says that the interface is up and carries multicast.
	Multicast bool
}

func (i Interface) equal(j Interface) bool {
	return i.Name == j.Name && i.Index == j.Index && i.Multicast == j.Multicast && slices.Equal(i.Addrs, j.Addrs)
}

const (
	// lookEvery is the time between looks at the machine's interfaces and clock.
	lookEvery = 5 * time.Second
	// slept is how far the clock may run ahead of the program's own time. If it is
	// further ahead, the machine slept.
	slept = 10 * time.Second
	// stopped is a time between two looks that no busy machine reaches: the program was
	// stopped.
	stopped = time.Minute
)

// Interfaces knows the network interfaces of this machine and notices changes. It asks
// the operating system, or takes them from the program that embeds the node, because
// Android 11 and later name them to Java code only. All methods are safe for concurrent
// use.
type Interfaces struct {
	only []string // names; none: every interface
	read func() ([]Interface, error)

	mu      sync.Mutex
	given   bool        // by Set, so that the system is not asked
	list    []Interface // those in use
	others  []netip.Addr
	err     error
	changed chan struct{} // closed, and replaced, at a change
}

// NewInterfaces asks the operating system and keeps the interfaces with the given names;
// without a name it keeps all.
func NewInterfaces(names ...string) *Interfaces {
	i := &Interfaces{only: names, read: systemInterfaces, changed: make(chan struct{})}
	i.refresh()
	return i
}

// Set replaces the interfaces, and from then on the operating system is not asked
// any more. After nil it is asked again. Of those that are given too, only the ones with the
// names of [NewInterfaces] are used.
func (i *Interfaces) Set(list []Interface) {
	i.mu.Lock()
	i.given = list != nil
	if i.given {
		i.list, i.others, i.err = i.named(list)
	}
	i.mu.Unlock()
	i.refresh()
	i.announceChange()
}

// List returns the interfaces in use. It fails while the operating system
// refuses to name them and the embedding program has not either.
func (i *Interfaces) List() ([]Interface, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.list, i.err
}

// Changed returns a channel that is closed when the interfaces or their addresses
// change, or when the machine wakes up.
func (i *Interfaces) Changed() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.changed
}

func (i *Interfaces) announceChange() {
	i.mu.Lock()
	defer i.mu.Unlock()
	close(i.changed)
	i.changed = make(chan struct{})
}

// Follow calls f after every change until ctx ends.
func (i *Interfaces) Follow(ctx context.Context, f func()) {
	for {
		changed := i.Changed()
		select {
		case <-ctx.Done():
			return
		case <-changed:
			f()
		}
	}
}

// Watch looks for changes every 5 s until ctx ends. Timers stand still while a machine
// sleeps, and its connections die meanwhile, so a clock that has jumped ahead counts as a
// change. A look that comes far too late counts too: a phone stops programs in the
// background while it is awake itself.
func (i *Interfaces) Watch(ctx context.Context) {
	before := time.Now()
	for sleep(ctx, turn.Wait(lookEvery), nil) {
		now := time.Now()
		woke := awoke(now.Round(0).Sub(before.Round(0)), now.Sub(before))
		if i.refresh() || woke {
			i.announceChange()
		}
		before = now
	}
}

// awoke reports whether the machine slept, when the clock went on and the program's
// own time did not, or the program was stopped between two looks.
func awoke(clock, seen time.Duration) bool { return clock-seen > slept || seen > stopped }

// refresh asks the operating system, unless interfaces were given, and reports
// whether the answer is a new one.
func (i *Interfaces) refresh() bool {
	i.mu.Lock()
	given := i.given
	i.mu.Unlock()
	if given {
		return false
	}
	all, err := i.read()
	list, others, missing := i.named(all)
	if err == nil {
		err = missing
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.given { // the program has called Set meanwhile
		return false
	}
	same := slices.EqualFunc(i.list, list, Interface.equal)
	i.list, i.others, i.err = list, others, err
	return !same
}

// named returns the interfaces that are used, and the addresses of the others. It fails if
// there are names, and none of the interfaces has one of them.
func (i *Interfaces) named(all []Interface) (list []Interface, others []netip.Addr, err error) {
	for _, one := range all {
		if len(i.only) == 0 || slices.Contains(i.only, one.Name) {
			list = append(list, one)
		} else {
			others = append(others, one.Addrs...)
		}
	}
	if len(list) == 0 && len(i.only) > 0 {
		err = fmt.Errorf("discovery: no interface is called %s and up", strings.Join(i.only, " or "))
	}
	return list, others, err
}

// systemInterfaces lists the interfaces that are up and, if they have a cable or the
// like, have it plugged in.
func systemInterfaces() ([]Interface, error) {
	found, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("discovery: list the network interfaces: %w", err)
	}
	var out []Interface
	for _, f := range found {
		if f.Flags&net.FlagUp == 0 || f.Flags&net.FlagRunning == 0 {
			continue
		}
		addrs, err := f.Addrs()
		if err != nil {
			continue // it has gone meanwhile
		}
		one := Interface{Name: f.Name, Index: f.Index, Multicast: f.Flags&net.FlagMulticast != 0}
		for _, a := range addrs {
			prefix, err := netip.ParsePrefix(a.String())
			if err != nil {
				continue
			}
			ip := prefix.Addr().Unmap()
			if ip.Is6() && ip.IsLinkLocalUnicast() {
				ip = ip.WithZone(f.Name)
			}
			one.Addrs = append(one.Addrs, ip)
		}
		slices.SortFunc(one.Addrs, netip.Addr.Compare)
		out = append(out, one)
	}
	return out, nil
}

// Announce corrects the addresses that a host listening on listen would announce, addrs.
// If interfaces were given or named, it replaces every listen address that stands for all
// interfaces by the addresses of each of them, and drops the addresses of other
// interfaces, also while none of those that were named is up. Otherwise it returns addrs.
func (i *Interfaces) Announce(listen, addrs []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	i.mu.Lock()
	known := i.given || len(i.only) > 0 && (i.err == nil || len(i.others) > 0) // else the system does not say which interfaces there are
	list, others := i.list, i.others
	i.mu.Unlock()
	if !known {
		return addrs
	}
	var ours []multiaddr.Multiaddr
	for _, one := range list {
		for _, ip := range one.Addrs {
			if a, err := manet.FromIP(ip.WithZone("").AsSlice()); err == nil && !linkLocal6(ip) {
				ours = append(ours, a)
			}
		}
	}
	var out []multiaddr.Multiaddr
	for _, a := range listen {
		if resolved, err := manet.ResolveUnspecifiedAddress(a, ours); err == nil {
			out = append(out, resolved...)
		}
	}
	for _, a := range addrs {
		if !foreign(a, others) && !multiaddr.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// foreign reports whether an address leads to an interface that is left out. A private
// address does unless it belongs to an interface in use, to loopback, or to a relay.
func foreign(a multiaddr.Multiaddr, others []netip.Addr) bool {
	ip, err := manet.ToIP(a)
	if err != nil || ip.IsLoopback() || isRelayed(a) {
		return false
	}
	plain, _ := netip.AddrFromSlice(ip)
	return manet.IsPrivateAddr(a) || slices.Contains(others, plain.Unmap())
}

func isRelayed(a multiaddr.Multiaddr) bool {
	_, err := a.ValueForProtocol(multiaddr.P_CIRCUIT)
	return err == nil
}

// linkLocal6 reports whether an address is useless to other machines, because it needs a
// zone, which is a name on this one.
func linkLocal6(ip netip.Addr) bool { return ip.Is6() && ip.IsLinkLocalUnicast() }
