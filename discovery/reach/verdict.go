package reach

import "slices"

// Verdict says in one word how a node is reached.
type Verdict string

// The verdicts, from the best.
const (
	Reachable   Verdict = "reachable"   // others call it directly, from anywhere
	Relayed     Verdict = "relayed"     // others call it through a relay, from anywhere
	Local       Verdict = "local"       // others on the local network call it
	Unreachable Verdict = "unreachable" // nobody can call it; it still calls others
	Unknown     Verdict = "unknown"     // nothing has happened yet that would tell
)

// Verdict judges by what others did: by addresses that peers called back, by places
// held at relays, and by peers that have called.
func (r Report) Verdict() Verdict {
	has := func(match func(Address) bool) bool { return slices.ContainsFunc(r.Addresses, match) }
	linked := func(match func(Link) bool) bool { return slices.ContainsFunc(r.Links, match) }
	switch {
	case r.Loopback:
		return Unreachable
	case has(func(a Address) bool { return a.State == Verified && a.Source != Relay }),
		linked(func(l Link) bool { return l.Called && !l.Local }):
		return Reachable
	case has(func(a Address) bool { return a.Source == Relay }):
		return Relayed
	case linked(func(l Link) bool { return l.Called && !l.Here }):
		return Local
	case has(func(a Address) bool { return a.State == Failing }):
		return Unreachable
	case has(func(a Address) bool { return a.State == Untested }):
		return Unknown // a peer may still dial, or dial back
	case linked(func(l Link) bool { return !l.Local }):
		return Unreachable // it reaches the internet, and has no address there
	}
	return Unknown
}
