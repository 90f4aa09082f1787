// Package graph decides who learns with whom: how similar two nodes are, which
// candidates a node knows, and which of them become its neighbours. It looks at
// public things only: what was released, and what owners declared public. So
// nothing here, and nothing that follows from it (subscriptions, requests,
// their times), can depend on anybody's records.
//
// Like package learner it is values in, values out: the node and the simulator
// drive the same code. No type here is safe for concurrent use.
//
// Candidates come by gossip. Every node keeps a bounded [View]: some peers
// drawn at random (Jelasity et al. 2007, gossip-based peer sampling) and the
// most similar ones it has heard of (Jelasity, Montresor, Babaoglu 2009,
// T-Man; Voulgaris and van Steen 2005, Vicinity), beside some drawn so that no crowd can take their
// places (Bortnikov et al. 2009, Brahms). Now and then it exchanges
// some of them with one peer. No node ever asks everybody.
package graph
