package sums

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// ErrRolledBack means that a certified list holds a contribution of this device that
// its ledger does not know: the directory is an old copy, or a copy of it runs
// elsewhere.
var ErrRolledBack = errors.New("sums: the committee holds a contribution of this device that its ledger does not know")

// Contributor is the state machine of a device for one sum: values in, values out. It
// asks its door for one contribution, under one certified opening, and sends the same
// bytes from then on. Nothing it does depends on the vector. It is not safe for
// concurrent use.
type Contributor struct {
	sum      *Sum
	self     Identity
	upload   []byte // as committed, or only its entry; nil: none
	entry    Digest // the digest of its entry
	context  Digest // the opening that the entry names
	opening  *Opening
	content  []byte // of the opening, without its proof
	accepted uint16 // the members that hold it
}

// NewContributor makes the machine of a device. committed is the upload that an earlier
// run committed for this sum, nil if there is none. For a sum that is over, its first
// [Sum.EntrySize] bytes are enough: there is nothing to send, and the list can still be
// checked.
func NewContributor(s *Sum, self Identity, committed []byte) (*Contributor, error) {
	c := &Contributor{sum: s, self: self}
	if committed == nil {
		return c, nil
	}
	return c, c.commit(committed)
}

// commit records an upload of this device.
func (c *Contributor) commit(upload []byte) error {
	header := upload
	if len(upload) != c.sum.EntrySize() {
		var err error
		if header, _, err = c.sum.Split(upload); err != nil {
			return err
		}
	}
	context := Digest(header[:len(Digest{})])
	e, err := c.sum.readEntry(header, context)
	if err != nil {
		return err
	}
	if e.From != c.self {
		return errors.New("sums: the upload is another device's")
	}
	c.upload, c.entry, c.context = upload, c.sum.digest(e), context
	return nil
}

// Open takes in an opening, as [Opening.Bytes] writes it. Unless the device contributed
// before, the caller must pay for the returned opening: debit, [Sum.Contribute], commit,
// and then [Contributor.Paid]. It returns nil if there is nothing to pay. If the opening's
// proof is wrong, it returns an error and changes nothing.
func (c *Contributor) Open(b []byte) (*Opening, error) {
	o, err := c.sum.readOpening(b)
	if err != nil {
		return nil, err
	}
	if c.opening != nil && c.opening.Digest != o.Digest || c.upload != nil && c.context != o.Digest {
		return nil, errors.New("sums: a second opening of one sum is certified: more members of the committee collude than may")
	}
	first := c.opening == nil
	c.opening, c.content = o, slices.Clone(c.sum.withoutProof(b))
	if c.upload != nil || !first {
		return nil, nil
	}
	return o, nil
}

// Holds reports whether these are the bytes of the opening that was taken in. Members
// prove it by different signatures, which need not be checked again.
func (c *Contributor) Holds(b []byte) bool {
	return c.opening != nil && bytes.Equal(c.sum.withoutProof(b), c.content)
}

// Opening returns the certified opening, or nil before one was taken in.
func (c *Contributor) Opening() *Opening { return c.opening }

// Paid takes the door's answer: the upload as it was committed. If it differs from an
// earlier one, that is an error.
func (c *Contributor) Paid(upload []byte) error {
	if c.upload != nil || c.opening == nil {
		return errors.New("sums: there is nothing to pay for")
	}
	if err := c.commit(upload); err != nil {
		return err
	}
	if c.context != c.opening.Digest {
		c.upload = nil
		return errors.New("sums: the upload was made for another opening")
	}
	return nil
}

// Send returns the upload to send, again and again, to any member or relay. It returns
// nil if there is none, if no opening of this run confirms it, and once a quorum holds
// it.
func (c *Contributor) Send() []byte {
	if c.opening == nil || len(c.upload) == c.sum.EntrySize() || bits.OnesCount16(c.accepted) >= c.sum.Committee.Quorum() {
		return nil
	}
	return c.upload
}

// Accepted takes in a member's message about the entries it holds: a whole [Message] of
// [KindAccept], as a [Letter] carries it.
func (c *Contributor) Accepted(b []byte) error {
	m, err := c.sum.ReadMessage(b)
	if err != nil {
		return err
	}
	if c.opening == nil || m.Kind != KindAccept {
		return fmt.Errorf("sums: a message of kind %d is not expected here", m.Kind)
	}
	if err := c.sum.verify(c.opening.keys, m); err != nil {
		return err
	}
	for r := (reader{rest: m.Payload}); len(r.rest) > 0 && !r.bad; {
		if r.digest() == c.entry && c.upload != nil {
			c.accepted |= 1 << m.By
		}
	}
	return nil
}

// Decided takes in the certified list, the Payload of a [Message] of [KindDecided] without
// the rest of the message, and reports whether this device's contribution is in it, so that
// the device may subtract it from the result. If another contribution of this device is in
// it, the error is [ErrRolledBack].
func (c *Contributor) Decided(b []byte) (listed bool, err error) {
	if c.opening == nil {
		return false, errors.New("sums: a list came before its opening")
	}
	d, err := c.sum.readDecision(c.opening, b)
	if err != nil {
		return false, err
	}
	found, listed := d.list.Find(c.self)
	if listed && (c.upload == nil || found.Entry != c.entry) {
		return false, ErrRolledBack
	}
	return listed, nil
}
