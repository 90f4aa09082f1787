// Package mobile is a p2pnode node for Android and iOS apps, through bindings that
// gomobile makes. The task file, the data directory, the ledger and the guarantees are
// the same as the daemon's.
//
// # A node in an app
//
// [NewNode] opens the data directory and does not use the network: predictions, new
// examples and the state work at once, offline, before any neighbour is known.
// [Node.Start] allows the node to take part in the network. Whether it does at the
// moment depends on what the app tells it of the network and the battery
// ([Node.SetNetwork], [Node.SetPower]) and on the [Config]. The state says why it
// waits, in words for a user. [Node.Train] takes part for a limited time, for
// background work. [Node.Stop] closes the directory for good: make a new Node to go on.
//
// # Values
//
// The bindings carry few types, so a vector is a []byte of little-endian float64, and
// structured values are JSON. The node copies a []byte that the app hands over, so the
// app may change it as soon as the call has returned.
//
// # Errors
//
// Every error's text begins with a code and a colon, "full: ...": see the constants
// Code..., and [ErrorCode]. A defect of the node (a Go panic) in any method becomes an
// error with [CodeDefect] and never ends the app.
//
// # Threads and time
//
// All methods may be called from any thread, the listener's included. Those that an app
// may call where its user waits return within 50 ms: Predict, PredictJSON,
// Probabilities, AddExample, AddExampleJSON, StatusJSON, SetNetwork, SetPower, AddPeer,
// Start, Resume. The others say how long they can take; call them from a background
// thread.
//
// # Privacy
//
// The events and the status that a node gives the app are for the user of the device
// only: they contain functions of the user's raw data. The log holds none.
package mobile
