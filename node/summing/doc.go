// Package summing runs private sums over the network and the disk: it drives the state
// machines of package sums, a contributor's and a committee member's, over the calls,
// blobs and news of package gossip. Whatever decides something is in package sums; what
// is paid for and sent is in the ledger.
//
// # A member's disk
//
// Everything that a member keeps of a sum is in a directory of its own, beside the
// database and in no backup: its keys for the sum, the journal of the inputs that changed
// it, the uploads that it holds, and in the end the result. The journal is on disk before
// anything that follows from it is sent. When the sum is over, the keys, the journal and
// the uploads are erased, and the keys overwritten before that; what a file system keeps
// of overwritten blocks is out of reach. A member that finds no keys makes new ones, and
// says nothing in a sum of which its peers know other keys.
//
// # Calls
//
// A call is its kind, the name of the sum and a body. Members push: messages, or the
// names of those that are too long for a call, which the other end then fetches.
// Contributors push the name of their upload, which the member fetches from them.
// Everybody asks for what is known of a sum, and gets the opening, the acceptance of an
// entry, and the names of the certified list and of the result.
package summing
