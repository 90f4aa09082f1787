// Package attack attacks p2pnode as strangers, liars and Sybils would, and measures
// what that does to honest nodes. A [Scenario] is one way to attack. It starts real
// daemons in network namespaces of their own addresses where an attack is one of
// connections and bytes, and runs the same state machines under virtual time where it
// is one of thousands of identities or of lying models. It reports its measurements as
// bars ([Bar]): a number, and the allowed limit. The daemon does not link this package.
package attack
