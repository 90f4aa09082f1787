package privacy

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
)

// PlanHash identifies a schedule. Its text is hexadecimal.
type PlanHash [32]byte

// String is the hash in hexadecimal.
func (h PlanHash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (h PlanHash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *PlanHash) UnmarshalText(text []byte) error {
	data, err := hex.DecodeString(string(text))
	if err != nil || len(data) != len(h) {
		return errors.New("privacy: a plan's hash is 64 hexadecimal digits")
	}
	copy(h[:], data)
	return nil
}

// Hash is the SHA-256 of every number of every step, in order. Two schedules have the
// same hash only if all their releases have the same mechanisms.
func (s Schedule) Hash() PlanHash { return sha256.Sum256(s.encode()) }

// scheduleHeader begins an encoded schedule and names the layout of the rest: for
// each step the length of the name of the noise (1 byte), that name, and the
// numbers of [Step.numbers], 8 bytes each, big endian.
const scheduleHeader = "p2pnode privacy schedule 1"

func (s Schedule) encode() []byte {
	data := []byte(scheduleHeader)
	for _, step := range s.steps {
		data = append(data, byte(len(step.Mechanism.noise)))
		data = append(data, step.Mechanism.noise...)
		for _, n := range step.numbers() {
			data = binary.BigEndian.AppendUint64(data, uint64(n))
		}
	}
	return data
}

// stepNumbers is the number of numbers in a step.
const stepNumbers = 9

// numbers returns the numbers of a step, in the order of the encoding.
func (s Step) numbers() [stepNumbers]int64 {
	m := s.Mechanism
	return [stepNumbers]int64{
		m.clip, m.sigma, m.bound, int64(m.grid),
		int64(m.batch), int64(m.slots), m.distance, int64(m.dim), int64(s.Count),
	}
}

// MarshalText implements [encoding.TextMarshaler]. A committed plan must be restored to
// the last bit, so it is stored and not computed again.
func (s Schedule) MarshalText() ([]byte, error) {
	return []byte(base64.StdEncoding.EncodeToString(s.encode())), nil
}

// errSchedule is the error for text that MarshalText does not write.
var errSchedule = errors.New("privacy: the text is no schedule")

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses text that is not the
// text of a schedule.
func (s *Schedule) UnmarshalText(text []byte) error {
	data, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return errSchedule
	}
	rest, ok := bytes.CutPrefix(data, []byte(scheduleHeader))
	if !ok {
		return errSchedule
	}
	var steps []Step
	for len(rest) > 0 {
		name := int(rest[0])
		size := 1 + name + 8*stepNumbers
		if len(rest) < size {
			return errSchedule
		}
		step, ok := decodeStep(Noise(rest[1:1+name]), rest[1+name:size])
		if !ok {
			return errSchedule
		}
		steps, rest = append(steps, step), rest[size:]
	}
	decoded := NewSchedule(steps...)
	if !slices.Equal(decoded.steps, steps) {
		return errSchedule // an empty step, or two that should be one
	}
	*s = decoded
	return nil
}

func decodeStep(noise Noise, data []byte) (Step, bool) {
	var n [stepNumbers]int64
	for i := range n {
		n[i] = int64(binary.BigEndian.Uint64(data[8*i:]))
	}
	step := Step{
		Mechanism: Mechanism{
			noise: noise, clip: n[0], sigma: n[1], bound: n[2], grid: int(n[3]),
			batch: int(n[4]), slots: int(n[5]), distance: n[6], dim: int(n[7]),
		},
		Count: int(n[8]),
	}
	return step, step.Mechanism.sound() && step.numbers() == n // an int may have 32 bits
}

// sound reports whether the numbers are within the bounds that the constructors
// keep.
func (m Mechanism) sound() bool {
	return m.clip >= 1 && m.clip <= maxClip && m.grid >= -600 && m.grid <= 600 &&
		m.soundNoise() && m.soundBatch() && m.soundDistance()
}

func (m Mechanism) soundNoise() bool {
	l := m.noise.law()
	switch {
	case l == nil:
		return m.noise == Unprotected && m.sigma == 0 && m.bound == 0
	case l.bound == nil:
		return m.soundScale() && m.bound == 0
	}
	return m.soundScale() && m.bound >= m.sigma && m.bound <= maxTruncation*m.sigma
}

func (m Mechanism) soundScale() bool { return m.sigma >= minSigma && m.sigma <= 1<<30 }

func (m Mechanism) soundBatch() bool {
	if m.slots == 0 {
		return m.batch == 0
	}
	return m.batch >= 1 && m.batch <= m.slots && m.slots <= MaxSlots && m.distance == 0
}

func (m Mechanism) soundDistance() bool {
	if m.distance == 0 {
		return m.dim == 0
	}
	units := m.distance - m.roundingDistance(m.dim)
	return m.dim >= 1 && m.dim <= maxDimension && units >= 1 && units <= maxDistance
}
