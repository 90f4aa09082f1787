package sums

import "encoding/binary"

// EncodeInput is an input's one encoding, for a member's journal. It contains in clear
// the seeds that a member has drawn and heard. The keys beside the journal give the
// same seeds, so the journal is kept where they are and erased with them.
func EncodeInput(in Input) []byte {
	var w writer
	switch in := in.(type) {
	case Heard:
		w.u8(1)
		w.u8(in.From)
		w.fixed(in.Message)
	case Arrived:
		w.u8(2)
		w.fixed(in.Masked[:])
		w.fixed(in.Entry)
	case Drawn:
		w.u8(3)
		w.fixed(in.Entry)
	case Closing:
		w.u8(4)
	case Timeout:
		w.u8(5)
		w.u32(in.View)
	case Added:
		w.u8(6)
		w.fixed(in.List[:])
		w.fixed(words(in.Total))
	case Tick:
		w.u8(7)
	case Deadline:
		w.u8(8)
	case Restarted:
		w.u8(9)
	}
	return w
}

// DecodeInput reads what [EncodeInput] wrote. The result shares memory with b.
func DecodeInput(b []byte) (Input, error) {
	r := reader{rest: b}
	var in Input
	switch r.u8() {
	case 1:
		in = Heard{From: r.u8(), Message: r.all()}
	case 2:
		in = Arrived{Masked: r.digest(), Entry: r.all()}
	case 3:
		in = Drawn{Entry: r.all()}
	case 4:
		in = Closing{}
	case 5:
		in = Timeout{View: r.u32()}
	case 6:
		in = Added{List: r.digest(), Total: r.words()}
	case 7:
		in = Tick{}
	case 8:
		in = Deadline{}
	case 9:
		in = Restarted{}
	}
	if err := r.end(); err != nil || in == nil {
		return nil, errGarbage
	}
	return in, nil
}

// all returns everything that is left.
func (r *reader) all() []byte { return r.take(len(r.rest)) }

// words returns everything that is left as little-endian words.
func (r *reader) words() []uint64 {
	if len(r.rest)%8 != 0 {
		r.bad = true
	}
	b := r.all()
	v := make([]uint64, len(b)/8)
	for j := range v {
		v[j] = binary.LittleEndian.Uint64(b[8*j:])
	}
	return v
}
