package sums

import "crypto/ed25519"

// Input is one thing that happens to a member. What it holds must not be changed
// afterwards.
type Input interface {
	// happen lets the member take the input in. An error says why it was of no use; it
	// then has changed nothing.
	happen(m *Member) error
}

// Heard is a message of a member's, from whom the channel says.
type Heard struct {
	From    int
	Message []byte
}

// Arrived is an upload: its entry, and the hash of the masked vector that came with it,
// as [Sum.Receive] makes them. The driver keeps the vector.
type Arrived struct {
	Entry  []byte
	Masked Digest
}

// Drawn is the door's answer to [Output.Noise]: the entry of the upload that
// [Sum.ContributeNoise] made, which the driver keeps.
type Drawn struct{ Entry []byte }

// Closing says that the time of the opening's Closes has come.
type Closing struct{}

// Timeout says that a view has lasted too long.
type Timeout struct{ View uint32 }

// Added answers [Output.Add]: the sum of the masked vectors, in the ring.
type Added struct {
	List  Digest
	Total []uint64
}

// Tick asks for what is to be said again, as messages get lost.
type Tick struct{}

// Restarted says that the member was brought back from its journal, in which it is the
// next input. It then signs nothing until enough others have said what it has signed.
type Restarted struct{}

// Deadline is the public time after which nothing is opened any more.
type Deadline struct{}

// Letter is a message to send.
type Letter struct {
	To      int  // member; -1: all others
	Secret  bool // only over a channel that nobody else can read
	Message []byte
}

// Addition asks for the sum of the masked vectors of these entries.
type Addition struct {
	List    Digest
	Entries []Digest
}

// Blame is a member that signed what no honest member signs.
type Blame struct {
	Member int
	Reason string
}

// Output is what a driver is to do after a step, in the order of the fields.
type Output struct {
	// Took says that the input changed the member: append it to the sum's journal, and
	// make that durable, before anything else. Replaying the journal restores the member.
	Took  bool
	Noise *NoiseRequest // draw noise, once; answered by [Drawn]
	Send  []Letter
	Fetch []Digest  // entries whose uploads to fetch from others
	Add   *Addition // answered by [Added]
	// Done is the result once it is believed. Result is nil in it when this member could
	// not work it out itself; its content is then to be fetched.
	Done  *Published
	Blame []Blame
	// Erase says to erase keys and journal for good, after Done is stored: both are said
	// at every tick. The machine may go on: it repeats
	// what it said, which is public, and opens nothing any more.
	Erase bool
}

// NoiseRequest is what noise is sealed to.
type NoiseRequest struct{ keys *keys }

// ContributeNoise makes a member's upload of its part of the noise, as
// [privacy.LiveNoise.Part] draws it for the committee's Honest parts.
func (s *Sum) ContributeNoise(r *NoiseRequest, identity ed25519.PrivateKey, part []int64) ([]byte, error) {
	return s.upload(r.keys, r.keys.digest, identity, 0, part)
}
