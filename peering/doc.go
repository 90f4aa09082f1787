// Package peering decides which nodes are neighbours: which peers a node asks for an
// edge and when, what it answers, which edges it keeps, renews and gives up, and how it
// leaves. It sees public values only: which nodes are there, what was released or
// declared public, and a random source. So neither its decisions nor anything that
// follows from them can depend on anybody's records.
//
// Like an agent of package learner, a [Neighbourhood] is a pure state machine: values
// in, values out, one goroutine owns it, and a driver feeds it. It knows no network, no
// clock and no lock. The driver of a device is in package node, that of ten thousand
// simulated nodes in package testnet/sim. The inputs of a Neighbourhood are its trace:
// given in the same order to a new one that was made alike, they give the same outputs
// and the same state to the bit.
//
// A node learns of candidates by gossip and keeps them in a view of package graph. It
// tells one peer at a time which nodes it knows, and gets the same in return. It asks
// the best of them for an edge, a few at a time. Both ends compute the weight of an
// edge from the request and the answer; nobody states a weight. A node renews an edge
// when it is old, when its other end comes back, and after a release that gives it
// another weight.
package peering
