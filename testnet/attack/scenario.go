package attack

import (
	"context"
	"time"
)

// Scenario is one way to attack, with a name by which it is asked for.
type Scenario struct {
	Name  string // "providers"
	About string // what the attacker does, in a sentence
	// Daemons says that it attacks real daemons in network namespaces: it needs
	// [Options.Program], and a lab. The others run under virtual time.
	Daemons bool
	// Slow says that it cannot be made small enough for the gate.
	Slow bool
	Run  func(context.Context, Options) ([]Bar, error)
}

// Options is what a scenario is run with.
type Options struct {
	Quick   bool          // small enough for the gate: some seconds instead of minutes
	Length  time.Duration // how long an attack lasts that has no end of its own; 0: as long as Quick says
	Program string        // the p2pnode to attack; scenarios under virtual time need none
	Dir     string        // an empty directory for the nodes of this scenario
	Say     func(string)  // is told how far the scenario is, a line at a time
}

// length is how long an attack lasts.
func (o *Options) length() time.Duration {
	switch {
	case o.Length > 0:
		return o.Length
	case o.Quick:
		return 8 * time.Second
	}
	return 2 * time.Minute
}

// several is how many of something a scenario has: fewer in the gate.
func (o *Options) several(quick, whole int) int {
	if o.Quick {
		return quick
	}
	return whole
}
