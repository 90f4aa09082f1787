package learner

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
)

func TestVectorsAreStoredToTheBit(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	single, double := make(Vector, 1000), make(Vector, 1000)
	for i := range single {
		double[i] = r.NormFloat64()
		single[i] = float64(float32(double[i]))
	}
	for name, v := range map[string]Vector{
		"none": nil, "empty": {}, "one": {1}, "single": single, "double": double,
		"odd": {math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64},
	} {
		text, err := json.Marshal(State{Model: v})
		if err != nil {
			t.Fatal(err)
		}
		var s State
		if err := json.Unmarshal(text, &s); err != nil || !floats.Same(s.Model, v) || (s.Model == nil) != (v == nil) {
			t.Errorf("%s: %v came back (%v)", name, s.Model, err)
		}
		if most := 100 + 12*len(v); len(text) > most || name == "single" && len(text) > 100+16*len(v)/3 {
			t.Errorf("%s: %d numbers take %d bytes", name, len(v), len(text))
		}
	}
	var s State // as earlier versions stored it
	if err := json.Unmarshal([]byte(`{"Round":3,"Model":[0.5,-1e-3],"Heard":[{"Peer":"a","Model":[1,2]}]}`), &s); err != nil ||
		!floats.Same(s.Model, []float64{0.5, -1e-3}) || !floats.Same(s.Heard[0].Model, []float64{1, 2}) {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{`"`, `""`, `"f"x`, `"fAAA"`, `"fAAAAAAA="`, `"dAAAA"`, `"gAAAAAA=="`, `"f!!!!"`, `{}`, `["a"]`, `"f\u0041"`} {
		var v Vector
		if err := json.Unmarshal([]byte(bad), &v); err == nil && bad != `"f"` {
			t.Errorf("%s is read as %v", bad, v)
		}
	}
}

// FuzzVector checks that whatever is read comes out of a second encoding to the bit.
func FuzzVector(f *testing.F) {
	for _, s := range []string{`null`, `[1,2.5,-3e-7]`, `"fAACAPw=="`, `"dGC1EVPshCUA="`, `"f"`, `""`, `"x"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var v, again Vector
		if json.Unmarshal(text, &v) != nil {
			return
		}
		out, err := json.Marshal(v)
		if err != nil || json.Unmarshal(out, &again) != nil || len(v) != len(again) {
			t.Fatalf("%s became %s, then %v (%v)", text, out, again, err)
		}
		for i := range v {
			if math.Float64bits(v[i]) != math.Float64bits(again[i]) {
				t.Fatalf("%s became %s, then %v", text, out, again)
			}
		}
	})
}

func BenchmarkStoredState(b *testing.B) {
	r := rand.New(rand.NewPCG(8, 2))
	for _, n := range []int{22, 7840} {
		v := make(Vector, n)
		for i := range v {
			v[i] = float64(float32(r.NormFloat64()))
		}
		s := State{Round: 3, Model: v}
		for range 10 {
			s.Heard = append(s.Heard, Heard{Peer: ID(strings.Repeat("x", 52)), Weight: 1, Round: 3, NoiseStd: 0.1, Model: v})
		}
		b.Run("write/"+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = json.Marshal(s)
			}
		})
		text, _ := json.Marshal(s)
		b.Run("read/"+strconv.Itoa(n), func(b *testing.B) {
			b.ReportMetric(float64(len(text)), "bytes")
			for b.Loop() {
				var back State
				_ = json.Unmarshal(text, &back)
			}
		})
	}
}
