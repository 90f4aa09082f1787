package peering

import "p2pnode/learner/graph"

// Kind is what a request wants.
type Kind uint8

// The kinds of requests.
const (
	Exchange Kind = 1 // tells which nodes the asker knows and asks for the same; changes no edge
	Ask      Kind = 2 // asks for an edge, or renews it
	Farewell Kind = 3 // says that an edge was given up
)

// Answer is what came of a request for an edge.
type Answer uint8

// The answers to a request for an edge.
const (
	Declined Answer = 0 // there is no edge
	Accepted Answer = 1 // it stands as agreed here
	Later    Answer = 2 // nothing changes; ask again in a while
)

// finalTurn is more agreements than two nodes ever reach. A farewell with this turn
// ends an edge no matter what the two have agreed on.
const finalTurn = 1 << 53

// Request is what the asking end says to the other. Everything in it is public.
type Request struct {
	Kind Kind
	// Own is the asker's entry. A Neighbourhood returns it without a passport; the driver
	// adds one.
	Own    graph.Entry
	Hidden bool          // nobody can reach the asker, so it is not a candidate
	Known  []graph.Entry // of an exchange: other nodes
	// Turn counts the agreements about this edge, as far as the asker knows. The end that
	// answers gives each agreement a turn above all that either end knew.
	Turn uint64
}

// Reply is the answer of the other end. Everything in it is public.
type Reply struct {
	Answer Answer
	Reason string      // of a refusal, for people
	Own    graph.Entry // as in the request
	Hidden bool        // as in the request
	// Known, for an exchange, is as in the request. If the edge was refused for want of
	// places, it is the peer that was refused before, which also looks for neighbours.
	// It is only one peer, so that liars gain no more than the edge they could have
	// agreed to.
	Known []graph.Entry
	Turn  uint64 // of this agreement
}

// Call is a request to make. The driver connects to the peer first if it has to.
type Call struct {
	To graph.Entry // without a passport: a peer that the driver can reach already
	Request
}
