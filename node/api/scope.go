package api

// Scope is what a program may do with a node.
type Scope string

// The scopes. Admin has the others in it.
const (
	Probe Scope = "probe" // as Open, but answered however often anybody asks: it costs nothing
	Open  Scope = "open"  // anybody who reaches the server; no token has it
	Read  Scope = "read"  // how the node is doing, and no record
	Data  Scope = "data"  // records, predictions, the model
	Admin Scope = "admin" // everything
)
