// Package attack attacks p2pnode as strangers, liars and Sybils would, and measures
// what that does to honest nodes. A [Scenario] is one way to attack. It starts real
// daemons in network namespaces of their own addresses where an attack is one of
// connections and bytes, and runs the same state machines under virtual time where it is
// one of thousands of identities or of lying models. What it measured it says in
// bars ([Bar]): a number, and what is allowed. The daemon does not link it.
package attack
