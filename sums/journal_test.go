package sums

import (
	"reflect"
	"slices"
	"testing"
)

// Every input comes back from its bytes, and other bytes are no input.
func TestInputsSurviveTheirBytes(t *testing.T) {
	for _, in := range []Input{
		Heard{3, []byte("message")}, Heard{0, []byte{}}, Arrived{[]byte("entry"), Digest{1, 2}}, Drawn{[]byte("entry")},
		Closing{}, Timeout{7}, Added{Digest{4}, []uint64{1, 1 << 63}}, Tick{}, Deadline{}, Restarted{},
	} {
		b := EncodeInput(in)
		got, err := DecodeInput(b)
		if err != nil || !reflect.DeepEqual(got, in) {
			t.Errorf("%#v becomes %#v: %v", in, got, err)
		}
		if again := EncodeInput(got); !slices.Equal(again, b) {
			t.Errorf("%#v has two encodings", in)
		}
	}
	for _, b := range [][]byte{nil, {0}, {10}, {1}, {4, 0}, {5, 0, 0, 0}, {5, 0, 0, 0, 1, 0}, {2, 1}, append(make([]byte, 32), 1), append([]byte{6}, make([]byte, 39)...)} {
		if in, err := DecodeInput(b); err == nil {
			t.Errorf("%v is %#v", b, in)
		}
	}
}

func FuzzDecodeInput(f *testing.F) {
	f.Add(EncodeInput(Heard{3, []byte("message")}))
	f.Add(EncodeInput(Added{Digest{4}, []uint64{1, 1 << 63}}))
	f.Add(EncodeInput(Timeout{7}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if in, err := DecodeInput(b); err == nil && !slices.Equal(EncodeInput(in), b) {
			t.Errorf("%v is %#v, which is other bytes", b, in)
		}
	})
}
