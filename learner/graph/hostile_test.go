package graph

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"p2pnode/learner"
)

// hostile makes entries of whatever bytes say: strangers, acquaintances, the node
// itself, absurd ages and rounds, vectors of any length.
func hostile(data []byte) []Entry {
	var out []Entry
	for len(data) >= 8 {
		e := Entry{Peer: name(int(data[0])), Age: uint32(data[1]), End: End{Round: uint64(data[2])}}
		switch data[3] % 8 {
		case 0:
			e.Peer = "self"
		case 1:
			e.Age = math.MaxUint32
		case 2:
			e.Vector = []float64{math.NaN(), math.Inf(1), 1}
		case 3:
			e.Vector, e.Std = []float64{1, 0, 0}, math.NaN()
		case 4:
			e.Vector = make([]float64, data[4]%5)
		case 5, 6:
			x := float64(int32(binary.LittleEndian.Uint32(data[4:])))
			e.Vector = []float64{x, float64(data[1]), 1}
		}
		out = append(out, e)
		data = data[8:]
	}
	return out
}

// checkView says what must hold after anything.
func checkView(t *testing.T, v *View) {
	t.Helper()
	var sample, nearest []learner.ID
	for _, s := range v.sample {
		sample = append(sample, s.Peer)
		if v.self == s.Peer || s.Age > v.limits.MaxAge {
			t.Fatalf("in the sample: %+v", s.Entry)
		}
	}
	for i, n := range v.nearest {
		nearest = append(nearest, n.Peer)
		if v.self == n.Peer || n.Age > v.limits.MaxAge || !(n.weight > 0) || i > 0 && n.weight > v.nearest[i-1].weight {
			t.Fatalf("among the nearest: %+v", n)
		}
	}
	if common(sample, nearest) > 0 {
		t.Fatalf("sample %v and nearest %v share somebody", sample, nearest)
	}
	for _, layer := range []struct {
		ids   []learner.ID
		limit int
	}{{sample, v.limits.Random}, {nearest, v.limits.Nearest}} {
		if len(layer.ids) > layer.limit {
			t.Fatalf("%d entries, the limit is %d", len(layer.ids), layer.limit)
		}
		slices.Sort(layer.ids)
		if len(slices.Compact(slices.Clone(layer.ids))) != len(layer.ids) {
			t.Fatalf("somebody is there twice: %v", layer.ids)
		}
	}
}

// FuzzExchange lets one partner say anything: the view keeps its bounds, and loses
// no more of either layer than one message may bring.
func FuzzExchange(f *testing.F) {
	f.Add([]byte("00000000"), true)
	f.Add(slices.Repeat([]byte{3, 1, 2, 5, 1, 0, 0, 0, 200, 0, 9, 1, 0, 0, 0, 0}, 20), false)
	f.Fuzz(func(t *testing.T, data []byte, asked bool) {
		limits := Limits{Random: 12, Nearest: 12, Exchange: 6, MaxAge: 30}
		v, r := testView(limits), source(5)
		for i := range 60 {
			v.Add(randomEntry(300+i, r))
		}
		v.Partner()
		sample, nearest := ids(v)
		entries := hostile(data)
		if asked {
			v.Merge(entries)
		} else if from := hostile(append(slices.Clone(data), make([]byte, 8)...))[0]; len(v.Answer(from, entries)) >= limits.Exchange {
			t.Fatal("too long an answer")
		}
		checkView(t, v)
		afterSample, afterNearest := ids(v)
		if left := common(sample, afterSample); left < len(sample)-limits.Exchange {
			t.Errorf("%d of %d left in the sample", left, len(sample))
		}
		if left := common(nearest, afterNearest); left < len(nearest)-limits.Exchange {
			t.Errorf("%d of %d left of the nearest", left, len(nearest))
		}
		v.SetOwn(End{Vector: []float64{0, 1, 0}})
		checkView(t, v)
	})
}

func ids(v *View) (sample, nearest []learner.ID) {
	for _, s := range v.sample {
		sample = append(sample, s.Peer)
	}
	for _, n := range v.nearest {
		nearest = append(nearest, n.Peer)
	}
	return sample, nearest
}

func common(a, b []learner.ID) int {
	n := 0
	for _, id := range a {
		if slices.Contains(b, id) {
			n++
		}
	}
	return n
}
