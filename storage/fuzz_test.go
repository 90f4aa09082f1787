package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"p2pnode/privacy"
)

// The decoders below the seals: any bytes give an error or a value that encodes
// to the same bytes, or to fewer where an earlier file wrote out zeros.

func FuzzDecodeSlot(f *testing.F) {
	r := randomRecords(rand.New(rand.NewPCG(1, 11)), 1)[0]
	r.Seq, r.Cohort = 5, 2
	f.Add(numberKey(5), encodeSlot(slot{record: r, number: 3}))
	f.Add(numberKey(5), encodeSlot(slot{record: r, number: 3, erased: true}))
	f.Add(numberKey(5), encodeSlot(slot{record: r, number: 1, arrived: 77}))
	r.Key = 9
	f.Add(numberKey(5), encodeSlot(slot{record: r, number: 1, arrived: 77}))
	for _, places := range [][]int{{}, {0}, {1, 39}, {0, 7, 20}} {
		r.X = make([]float64, 40)
		for _, i := range places {
			r.X[i] = math.Copysign(0, -1) // which is not 0 of other records
		}
		f.Add(numberKey(5), encodeSlot(slot{record: r, number: 1}))
	}
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, key, data []byte) {
		at, err := decodeSlot(key, data, nil)
		if err != nil {
			return
		}
		again := encodeSlot(at)
		if data[slotHeader-1]&slotSparse == again[slotHeader-1]&slotSparse { // earlier files have none
			if !bytes.Equal(again, data) || !bytes.Equal(numberKey(uint64(at.record.Seq)), key) {
				t.Fatalf("%x under %x decodes to %+v and not back", data, key, at)
			}
			return
		}
		room := []float64{1, 2, 3} // with something in it
		back, err := decodeSlot(key, again, room)
		if err != nil || len(again) >= len(data) || data[slotHeader-1]&slotSparse != 0 || !bytes.Equal(encodeSlot(back), again) || !sameBits(at.record.X, back.record.X) {
			t.Fatalf("%x under %x decodes to %+v, and sparse to %+v, %v", data, key, at, back, err)
		}
	})
}

func sameBits(x, y []float64) bool {
	return slices.EqualFunc(x, y, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}

func FuzzDecodeEntry(f *testing.F) {
	prev := link{sequence: 4, crc: 99}
	for _, e := range []entry{
		openingEntry(terms),
		openingEntry(privacy.Terms{Budget: budget, Dimension: dim, Accounting: privacy.RenyiFilter, Order: 7}),
		openingEntry(privacy.Terms{Budget: budget, Dimension: dim, Accounting: privacy.CommittedPlan, Plan: [32]byte{1, 31: 2}}),
		{kind: entryRetire, round: 9, cohort: 3},
		{kind: entryContradict, round: 12},
		{kind: entryContribute, epoch: 3, cohort: 2, cost: 0.5, sum: SumID{1, 31: 2}},
		{kind: entryForeignSum, epoch: 3, sum: SumID{7}},
		{kind: entryDebit, round: 7, cohort: 2, cost: 0.5},
		{kind: entryUnprotected, round: 8},
	} {
		data, head := encodeEntry(prev, e)
		f.Add(numberKey(head.sequence), data)
	}
	f.Fuzz(func(t *testing.T, key, data []byte) {
		// The fuzzer cannot guess CRCs: try the content with the right one, too.
		if n := len(data) - crcSize; n >= 0 {
			content := data[:n:n]
			mended := bytes.Clone(data)
			sum := prev.next(content).crc
			for i := range crcSize {
				mended[n+i] = byte(sum >> (8 * i))
			}
			checkEntry(t, prev, numberKey(5), mended)
		}
		checkEntry(t, prev, key, data)
	})
}

func checkEntry(t *testing.T, prev link, key, data []byte) {
	t.Helper()
	e, head, err := decodeEntry(prev, key, data)
	if err != nil {
		return
	}
	if again, to := encodeEntry(prev, e); !bytes.Equal(again, data) || to != head {
		t.Fatalf("%x decodes to %+v and not back", data, e)
	}
}

func FuzzDecodeCommitted(f *testing.F) {
	f.Add(encodeCommitted(committed{3, false, []byte("message"), []byte("state")}))
	f.Add(encodeCommitted(committed{4, true, []byte("message"), []byte("state")}))
	f.Add(encodeCommitted(committed{}))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeCommitted(data)
		if err == nil && !bytes.Equal(encodeCommitted(c), data) {
			t.Fatalf("%x decodes to %+v and not back", data, c)
		}
	})
}

func FuzzReadAnchorSlot(f *testing.F) {
	f.Add(encodeAnchor(link{sequence: 3, crc: 4}))
	f.Fuzz(func(t *testing.T, slot []byte) {
		head, err := decodeAnchor(slot)
		if err == nil && !bytes.Equal(encodeAnchor(head), slot) {
			t.Fatalf("%x decodes to %+v and not back", slot, head)
		}
	})
}

// Any bytes taken for bbolt's pages give an error or a walk that ends.
func FuzzCheckPages(f *testing.F) {
	const size = 256
	page := func(number uint64, kind, count uint16, rest ...byte) []byte {
		p := binary.NativeEndian.AppendUint64(nil, number)
		p = binary.NativeEndian.AppendUint16(p, kind)
		p = binary.NativeEndian.AppendUint16(p, count)
		p = binary.NativeEndian.AppendUint32(p, 0)
		p = append(p, rest...)
		return append(p, make([]byte, size-len(p))...)
	}
	element := func(words ...uint32) (b []byte) {
		for _, w := range words {
			b = binary.NativeEndian.AppendUint32(b, w)
		}
		return b
	}
	leaf := page(3, leafPage, 1, append(element(0, 16, 1, 1), "kv"...)...)
	f.Add(slices.Concat(page(2, branchPage, 1, append(element(16, 1, 3, 0), "k"...)...), leaf))
	f.Add(slices.Concat(page(2, branchPage, 1, append(element(16, 1, 2, 0), "k"...)...), leaf)) // a circle
	f.Add(page(2, leafPage, 1, append(element(1, 16, 1, bucketHeader+pageHeader), append([]byte("k"), make([]byte, 24)...)...)...))
	f.Fuzz(func(t *testing.T, pages []byte) {
		file := append(make([]byte, 2*size), pages...) // after the two meta pages
		w := walkOf(bytes.NewReader(file), size, uint64(len(file)/size))
		if err := w.tree(2, nil, nil, 0); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}
