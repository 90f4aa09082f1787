// Package mobile is a p2pnode node for apps: what package node is to the daemon,
// this is to an Android or iOS program, through bindings that gomobile makes. The
// task file, the data directory, the ledger and the guarantees are the daemon's.
//
// # A node in an app
//
// [NewNode] opens the data directory and touches no network: predictions, new
// examples and the state are there at once, offline, before any neighbour is
// known. [Node.Start] says that the node may take part in the network; whether it
// does at the moment follows from what the app tells it of the network and the
// battery ([Node.SetNetwork], [Node.SetPower]) and from the [Config]; the state
// says why it waits, in words fit for a user. [Node.Train] takes part for a limited
// time, for background work. [Node.Stop] closes the directory, for good: make a new
// Node to go on.
//
// # Values
//
// The bindings carry few types, so a vector is a []byte of little-endian float64,
// and whatever has structure is JSON. A []byte that the app hands over is copied,
// and may be changed as soon as the call has returned.
//
// # Errors
//
// Every error's text begins with a code and a colon, "full: ...": see the constants
// Code..., and [ErrorCode]. A defect of the node, a Go panic, in any method is an
// error with [CodeDefect], never the end of the app.
//
// # Threads and time
//
// All methods may be called from any thread, the listener's included. Those that an
// app may call where its user waits return within 50 ms: Predict, PredictJSON,
// Probabilities, AddExample, AddExampleJSON, StatusJSON, SetNetwork, SetPower,
// AddPeer, Start, Resume. The others say how long they can take; call them from a
// background thread.
//
// # Privacy
//
// What a node says to the app, its events and its status, is for the user of the
// device only: it holds functions of her raw data. What it logs holds none.
package mobile
