package attack

import (
	"context"
	"time"
)

// Scenario is one attack, with the name by which it is chosen.
type Scenario struct {
	Name  string // for example "providers"
	About string // what the attacker does, in a sentence
	// Daemons means that it attacks real daemons in network namespaces: it needs
	// [Options.Program], and a lab. The other scenarios run under virtual time.
	Daemons bool
	// Slow means that it cannot be made small enough for the gate.
	Slow bool
	Run  func(context.Context, Options) ([]Bar, error)
}

// Options say how to run a scenario.
type Options struct {
	Quick   bool          // small enough for the gate: some seconds instead of minutes
	Length  time.Duration // how long an attack without an end of its own lasts; 0: as long as Quick says
	Program string        // the p2pnode to attack; scenarios under virtual time need none
	Dir     string        // an empty directory for the nodes of this scenario
	Say     func(string)  // called with each line of progress
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

// several returns how many of something a scenario has: fewer in the gate.
func (o *Options) several(quick, whole int) int {
	if o.Quick {
		return quick
	}
	return whole
}
