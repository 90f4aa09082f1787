package api

import (
	"errors"
	"time"

	"p2pnode/discovery/reach"
)

// Peer is a neighbour, for the owner's eyes.
type Peer struct {
	ID     string  `json:"id"`
	Weight float64 `json:"weight"` // of the edge, the same at both ends
	// Known says that the weight follows from what both ends have made public; until
	// then, and always under the graph rule random, it is the same for all strangers.
	Known     bool   `json:"known"`
	Why       string `json:"why"`       // what the weight rests on, in words
	Since     int64  `json:"since"`     // Unix seconds; 0: an edge of an earlier version
	Connected bool   `json:"connected"` // at this moment
	Listening bool   `json:"listening"` // it is subscribed to what this node releases
	Round     uint64 `json:"round"`     // newest round heard of it
}

// Neighbours says who learns with whom, and who may not.
type Neighbours struct {
	Rule   string `json:"rule"`   // by which the task's graph compares peers
	Degree int    `json:"degree"` // neighbours that a node looks for
	// Neighbours have their weights; Why says in words what those rest on.
	Neighbours []Peer    `json:"neighbours"`
	Refused    []Refused `json:"refused"`
}

// Refused is a peer that is turned away, or that turns this node away.
type Refused struct {
	Peer   string     `json:"peer"`
	Reason string     `json:"reason"`  // in words
	ByPeer bool       `json:"by_peer"` // the peer refuses this node
	Times  int        `json:"times"`   // so often something happened that it is refused for
	Last   time.Time  `json:"last"`
	Until  *time.Time `json:"until"` // when it may come again; nil: as long as the reason lasts
}

// State says how a peer and this node stand with each other.
type State string

// The states of a peer with offences.
const (
	RefusedHere State = "refused"    // nothing from it is accepted
	Limited     State = "limited"    // actions beyond its allowance are ignored
	Distrusted  State = "distrusted" // it sent something wrong; refused if there is more
	RefusesUs   State = "refuses"    // the peer accepts nothing from this node
)

// Standing describes what this node holds against a peer, or a peer against this node.
// No peer is blamed for what it only passed on. A node forgets this when it stops,
// except for proofs.
type Standing struct {
	Peer  string     `json:"peer"`
	State State      `json:"state"`
	Why   string     `json:"why"`   // in words
	Since time.Time  `json:"since"` // of a refusal for the lack of membership: the last one
	Until *time.Time `json:"until"` // when it is forgiven, unless there is more; nil: as long as the reason lasts
	// Counts is what it was counted for. By "malformed" messages, "models", "relayed"
	// messages, "control" in bytes, "streams", "proofs" and "connections".
	Counts map[string]uint64 `json:"counts"`
}

// Refused reports whether one end accepts nothing from the other.
func (s *Standing) Refused() bool { return s.State == RefusedHere || s.State == RefusesUs }

// Evidence shows that a node signed two different models for one round of a network,
// which no honest node does: either its owner lies, or two copies of one directory run.
// Anybody can check it, without a node.
type Evidence struct {
	Network string     `json:"network"` // what its name is among nodes
	Author  string     `json:"author"`  // the peer ID of the node that signed
	Round   uint64     `json:"round"`
	First   ModelProof `json:"first"`
	Second  ModelProof `json:"second"`
	Since   time.Time  `json:"since"` // when this node learned of it; nobody signs that
}

// ModelProof is an author's signature of a model.
type ModelProof struct {
	Hash  []byte `json:"hash"`  // SHA-256 of the model
	Proof []byte `json:"proof"` // the author's signature of network, round and hash
}

// Acquaintance is a peer that the node can start from, beside its neighbours.
type Acquaintance struct {
	ID       string   `json:"id"`
	Addrs    []string `json:"addrs"`
	LastSeen int64    `json:"last_seen"` // Unix seconds; 0: never
	// From says how the node knows it: "configuration" (the key bootstrap), "added"
	// by the owner, or "met" in this run or an earlier one.
	From      string `json:"from"`
	Connected bool   `json:"connected"`
	Reason    string `json:"reason,omitempty"` // why it could not be reached the last time
}

// Addition is what came of adding a peer.
type Addition struct {
	ID        string `json:"id"`
	Running   bool   `json:"running"` // the node, so that it tried to connect
	Connected bool   `json:"connected"`
	Reason    string `json:"reason,omitempty"` // why it is not connected
}

// ErrNoPeer says that the owner has not added the peer.
var ErrNoPeer = Advise(errors.New("is no peer that you added"), "p2pnode peers lists them")

// ErrNotJoined: the node speaks to everybody who takes part in its task.
var ErrNotJoined = errors.New("node: this node has joined no private network; join one with: p2pnode members join NAME AUTHORITY")

// Private is who may speak to this node.
type Private struct {
	Key     string     `json:"key_fingerprint"` // "": no network key
	Network string     `json:"network"`         // "": no membership list
	Version uint64     `json:"version"`         // of the list; 0: there is none yet
	Members int        `json:"members"`
	Listed  bool       `json:"listed"`  // this node is one of them
	Expires *time.Time `json:"expires"` // when this node ceases to be one; nil: never
	Damage  string     `json:"damage"`  // why the list on disk is not used; "": nothing is wrong
	// TurnedAway has those that this node refused in the last hour, RefusedBy those that refused
	// this node, the latest first.
	TurnedAway []Refusal `json:"turned_away"`
	RefusedBy  []Refusal `json:"refused_by"`
}

// Refusal says that connections were refused for the lack of membership.
type Refusal struct {
	Peer  string    `json:"peer"`
	Times int       `json:"times"` // in the last hour
	Last  time.Time `json:"last"`
}

// Membership is the private network a node has joined.
type Membership struct {
	Peer        string   `json:"peer"` // this node
	Network     string   `json:"network"`
	Authorities []string `json:"authorities"` // who may sign its lists
	List        []byte   `json:"list"`        // the newest, signed; empty: none yet
	Damage      string   `json:"damage"`      // why the list on disk is not used; "": nothing is wrong
	Running     bool     `json:"running"`
	Connected   []string `json:"connected"` // peers
}

// Diagnosis says whether a node can be reached, how, and what to do if not.
type Diagnosis struct {
	Verdict   reach.Verdict    `json:"verdict"`
	Running   bool             `json:"running"`
	Paused    []Pause          `json:"paused"` // as in [Status]
	Reach     reach.Report     `json:"reach"`
	Bootstrap []BootstrapCheck `json:"bootstrap"`
	Committee []MemberCheck    `json:"committee"` // of private sums; empty: the task has none, or the node is not running
	PortMap   bool             `json:"port_map"`  // the router is asked for a port
	MDNS      bool             `json:"mdns"`      // looks on the local network
	DHT       string           `json:"dht"`
	Private   bool             `json:"private"` // strangers are kept away: by a key, or a list of members
	// Clock is how far this machine's clock is behind, in seconds: behind its own
	// files, or behind most peers. 0: not noticeably.
	Clock    float64  `json:"clock_behind_seconds"`
	DiskFree int64    `json:"disk_free_bytes"` // -1: not known
	Problems []string `json:"problems"`        // in plain words, with what to do
}

// BootstrapCheck is what came of trying one bootstrap peer.
type BootstrapCheck struct {
	Peer    string `json:"peer"`
	Address string `json:"address"`
	Reached bool   `json:"reached"`       // and takes part in the task, as far as a running node can tell
	Why     string `json:"why,omitempty"` // why it was not reached
}

// MemberCheck is the result of calling one member of a committee.
type MemberCheck struct {
	Peer    string `json:"peer"`
	Self    bool   `json:"self"` // it is this node
	Reached bool   `json:"reached"`
	Why     string `json:"why,omitempty"` // why it was not reached
}

// PeerAddress is a multiaddress that ends in a peer's ID.
type PeerAddress struct {
	Address string `json:"address"`
}

// MemberList is a signed list of members.
type MemberList struct {
	List []byte `json:"list"`
}
