package attack

import "context"

// Scenario is one way to attack, with a name by which it is asked for.
type Scenario struct {
	Name  string // "providers"
	About string // what the attacker does, in a sentence
	Run   func(context.Context, Options) ([]Bar, error)
}

// Options is what a scenario is run with.
type Options struct {
	Quick   bool         // small enough for the gate: a few seconds instead of minutes
	Program string       // the p2pnode to attack; scenarios under virtual time need none
	Dir     string       // an empty directory for the nodes of this scenario
	Say     func(string) // is told how far the scenario is, a line at a time
}
