// Package peering decides who is whose neighbour: whom a node asks for an edge and
// when, what it answers, which edges it keeps, renews and gives up, and how it takes
// its leave. It looks at public things only: who is there, what was released or
// declared public, and a random source that it was handed. So nothing here, and
// nothing that follows from it, can depend on anybody's records.
//
// Like an agent of package learner, a [Neighbourhood] is a pure state machine: values
// in, values out, one goroutine owns it, and a driver feeds it. It knows no network,
// no clock and no lock. The driver of a device is in package node, that of ten
// thousand simulated nodes in package testnet/sim. The inputs of a Neighbourhood are
// its trace: fed again into a fresh one that was made alike, they give the same
// outputs and the same state to the bit.
//
// Candidates come by gossip, as package graph keeps them. A node tells one other at a
// time whom it knows, and hears the same. Of those it knows it asks the best for an
// edge, a few at a time. The end that answers a request computes the weight from both
// ends as they stand in request and answer, and so does the end that asked: nobody
// states a weight. An edge is renewed when it is old, when its other end comes back,
// and after a release that gives it another weight.
package peering
