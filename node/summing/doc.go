// Package summing runs private sums over the network and the disk: it drives the state
// machines of package sums, a contributor's and a committee member's, over the calls,
// blobs and news of package gossip. All decisions are made in package sums. The ledger
// holds what was paid for and sent.
//
// # A member's disk
//
// Everything that a member keeps of a sum is in a directory of its own, beside the
// database and in no backup: its keys for the sum, the journal of the inputs that changed
// it, the uploads that it holds, and in the end the result. The journal is on disk before
// anything that follows from it is sent. When the sum is over, the keys and the journal
// are overwritten, and they and the uploads are removed; blocks that a file system keeps
// after they were overwritten are out of reach. A member that finds no keys makes new
// ones, and says nothing in a sum for which the other members know other keys of it.
//
// # Calls
//
// A call consists of its kind, the name of the sum and a body. Members push messages to
// each other. If a message is too long for a call, the call names it, and the other end
// fetches it. Contributors push the name of their upload, which the member fetches from
// them. Anybody may ask what is known of a sum, and gets the opening, the acceptance of
// an entry, and the names of the certified list and of the result.
package summing
