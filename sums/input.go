package sums

import "crypto/ed25519"

// Input is one thing that happens to a member. Its content must not change afterwards.
type Input interface {
	// happen lets the member take the input in. An error says why the input was of no
	// use; then nothing has changed.
	happen(m *Member) error
}

// Heard is a message of a member; the channel says from whom it came.
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

// Drawn answers [Output.Noise]. It is the entry of the upload that
// [Sum.ContributeNoise] made; the driver keeps the upload.
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

// Tick asks the member to repeat messages, because some get lost.
type Tick struct{}

// Restarted says that the member was restored from its journal, in which this is the
// next input. The member then signs nothing until enough others have said what it has
// signed.
type Restarted struct{}

// Deadline is the public time after which nothing is opened any more.
type Deadline struct{}

// Letter is a message to send.
type Letter struct {
	To      int  // the member; -1: all others
	Secret  bool // only over a channel that nobody else can read
	Message []byte
}

// Addition asks for the sum of the masked vectors of these entries.
type Addition struct {
	List    Digest
	Entries []Digest
}

// Blame names a member that signed what no honest member signs.
type Blame struct {
	Member int
	Reason string
}

// Output is what a driver is to do after a step, in the order of the fields.
type Output struct {
	// Took says that the input changed the member. The driver must append it to the
	// sum's journal, and make that durable, before anything else. Replaying the journal
	// restores the member.
	Took  bool
	Noise *NoiseRequest // draw noise, once; [Drawn] answers it
	Send  []Letter
	Fetch []Digest  // entries whose uploads the driver should fetch from others
	Add   *Addition // [Added] answers it
	// Done is the result once it is believed. Its Result is nil if this member could
	// not compute it itself; the content must then be fetched.
	Done  *Published
	Blame []Blame
	// Erase says to erase keys and journal for good, after Done is stored. Both are
	// repeated at every tick. The machine may go on: it repeats what it said, which is
	// public, and opens nothing any more.
	Erase bool
}

// NoiseRequest holds the keys to which noise is sealed.
type NoiseRequest struct{ keys *keys }

// ContributeNoise makes a member's upload of its part of the noise, as
// [privacy.LiveNoise.Part] draws it for the committee's Honest parts.
func (s *Sum) ContributeNoise(r *NoiseRequest, identity ed25519.PrivateKey, part []int64) ([]byte, error) {
	return s.upload(r.keys, r.keys.digest, identity, 0, part)
}
