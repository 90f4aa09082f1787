package gossip

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/internal/wire"
	"p2pnode/learner"
)

// Version is the wire version. Messages of any other version are malformed:
// nodes of different versions belong to different networks. Version 2 added the
// proof of a model and the witnesses.
const Version = 2

// maxMessageSize bounds an encoded model, in bytes.
const maxMessageSize = 64 << 10

// errMalformed wraps every complaint about the content of a message. No honest
// node sends one.
var errMalformed = errors.New("malformed message")

// Limits is what the nodes of one network agree that a shared model looks like.
type Limits struct {
	Dimension int     // exact number of coordinates
	Radius    float64 // the model lies in the l2 ball of this radius around zero
}

// check reports whether the limits describe a model that fits in a message.
func (l Limits) check() error {
	if l.Dimension < 1 || l.Dimension > (maxMessageSize-headerSize)/8 {
		return fmt.Errorf("gossip: dimension %d does not fit in a message of %d bytes", l.Dimension, maxMessageSize)
	}
	if !(l.Radius > 0) || math.IsInf(l.Radius*(1+ballSlack), 1) {
		return fmt.Errorf("gossip: radius %v is not a positive number", l.Radius)
	}
	return nil
}

// headerSize bounds the bytes of an encoded model beside its coordinates: six
// tags, three varints, one double, two lengths and the proof, with room to spare.
const headerSize = 64 + maxProof

// ballSlack forgives the rounding of a sender that projects onto the ball.
const ballSlack = 1e-9

// decode checks untrusted bytes and returns the model they hold, said to be
// from the given author, whom the caller has authenticated, and the witness of
// it, whose proof is not checked. All errors wrap errMalformed and say nothing of
// the values.
func decode(data []byte, from learner.ID, l Limits) (learner.Message, Witness, error) {
	if len(data) > 8*l.Dimension+headerSize {
		return learner.Message{}, Witness{}, malformed("%d bytes are too many for dimension %d", len(data), l.Dimension)
	}
	var w wire.Model
	if err := unmarshal(data, &w); err != nil {
		return learner.Message{}, Witness{}, err
	}
	if err := checkModel(&w, l); err != nil {
		return learner.Message{}, Witness{}, err
	}
	witness, err := witnessOf(data, &w)
	if err != nil {
		return learner.Message{}, Witness{}, err
	}
	return learner.Message{
		From:     from,
		Kind:     learner.KindModel,
		Round:    w.Round,
		NoiseStd: w.NoiseStd,
		Real:     w.Value,
	}, witness, nil
}

func checkModel(w *wire.Model, l Limits) error {
	switch {
	case w.Version != Version:
		return malformed("version %d, not %d", w.Version, Version)
	case w.Kind != uint32(learner.KindModel):
		return malformed("unknown kind %d", w.Kind)
	case w.Round == 0:
		return malformed("round 0")
	case len(w.Value) != l.Dimension:
		return malformed("dimension %d, not %d", len(w.Value), l.Dimension)
	case !(w.NoiseStd >= 0) || math.IsInf(w.NoiseStd, 1):
		return malformed("the noise level is no finite number >= 0")
	case !inBall(w.Value, l.Radius):
		return malformed("the model is not finite or lies outside the public ball")
	}
	return nil
}

// inBall reports whether v is finite and has l2 norm at most radius, up to the
// slack. An overflow of the sum is +Inf and a NaN anywhere makes it NaN; both
// fail the comparison.
func inBall(v []float64, radius float64) bool {
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum) <= radius*(1+ballSlack)
}

// unmarshal rejects unknown fields: two nodes must never disagree on what a
// message says.
func unmarshal(data []byte, w proto.Message) error {
	if err := proto.Unmarshal(data, w); err != nil {
		return malformed("no protobuf")
	}
	if len(w.ProtoReflect().GetUnknown()) > 0 {
		return malformed("unknown fields")
	}
	return nil
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("gossip: %w: "+format, append([]any{errMalformed}, args...)...)
}
