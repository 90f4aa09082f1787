package gossip

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/internal/wire"
	"p2pnode/learner"
)

// modelRules allow models of so many coordinates in the ball of a radius.
func modelRules(dimension int, radius float64) learner.Rules {
	return learner.Rules{learner.KindModel: {Reals: dimension, Radius: radius}}
}

var testRules = modelRules(3, 2)

func model(round uint64, values ...float64) learner.Message {
	return learner.Message{From: "author", Kind: learner.KindModel, Round: round, NoiseStd: 0.5, Real: values}
}

// testSigner signs for an author of which only the key matters.
func testSigner(t testing.TB) *Signer {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(bytes.NewReader(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return NewSigner(key, "net")
}

func mustEncode(t testing.TB, m learner.Message) []byte {
	t.Helper()
	data, err := testSigner(t).Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func same(a, b learner.Message) bool {
	return a.From == b.From && a.To == b.To && a.Kind == b.Kind && a.Round == b.Round &&
		a.Attempt == b.Attempt && a.Degree == b.Degree && slices.Equal(a.Ring, b.Ring) &&
		math.Float64bits(a.NoiseStd) == math.Float64bits(b.NoiseStd) &&
		slices.EqualFunc(a.Real, b.Real, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

func TestEncodedModelsDecodeToTheSameBits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		dimension, radius := 1+random.IntN(200), math.Exp(20*random.NormFloat64())
		m := learner.Message{From: "author", Kind: learner.KindModel, Round: 1 + random.Uint64N(math.MaxUint64), NoiseStd: random.ExpFloat64()}
		m.Real = make([]float64, dimension)
		for i := range m.Real {
			m.Real[i] = random.NormFloat64()
		}
		scale(m.Real, radius*random.Float64())
		got, _, err := decode(mustEncode(t, m), "author", modelRules(dimension, radius))
		if err != nil {
			t.Fatalf("dimension %d, radius %g: %v", dimension, radius, err)
		}
		if !same(got, m) {
			t.Fatalf("got %+v, sent %+v", got, m)
		}
	}
}

// What single precision has to the bit takes half the bytes, and every message comes out as
// it went in.
func TestSinglePrecisionTakesHalfTheBytes(t *testing.T) {
	const n = 784 * 10
	single, double := make([]float64, n), make([]float64, n)
	for i := range single {
		double[i] = math.Sin(float64(i)) / 100
		single[i] = float64(float32(double[i]))
	}
	sizes := map[string]int{}
	for name, values := range map[string][]float64{"single": single, "double": double} {
		data := mustEncode(t, model(1, values...))
		if got, _, err := decode(data, "author", modelRules(n, 2)); err != nil || !same(got, model(1, values...)) {
			t.Errorf("%s: %v", name, err)
		}
		sizes[name] = len(data)
	}
	if s, d := sizes["single"], sizes["double"]; s < 4*n || s > 4*n+headerSize || d < 8*n || d > 8*n+headerSize {
		t.Errorf("%v bytes, want %d and %d and at most %d more", sizes, 4*n, 8*n, headerSize)
	}
}

// scale gives v the norm r, by the slow and careful way.
func scale(v []float64, r float64) {
	var n float64
	for _, x := range v {
		n = math.Hypot(n, x)
	}
	for i := range v {
		v[i] = v[i] / n * r
	}
}

func TestTheBallIsClosedUpToRounding(t *testing.T) {
	for _, c := range []struct {
		norm float64
		in   bool
	}{{0, true}, {1.999, true}, {2, true}, {2 * (1 + 1e-10), true}, {2 * (1 + 1e-8), false}, {3, false}, {1e200, false}} {
		v := []float64{c.norm / math.Sqrt(3), c.norm / math.Sqrt(3), c.norm / math.Sqrt(3)}
		_, _, err := decode(mustEncode(t, model(1, v...)), "author", testRules)
		if (err == nil) != c.in {
			t.Errorf("norm %g in a ball of radius 2: %v", c.norm, err)
		}
	}
}

func TestMalformedModelsAreRefused(t *testing.T) {
	good := func() *wire.Model {
		return &wire.Model{Version: Version, Kind: uint32(learner.KindModel), Round: 1, NoiseStd: 1, Value: []float64{1, 0, 1}}
	}
	encode := func(change func(*wire.Model)) []byte {
		w := good()
		change(w)
		body, err := proto.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		return appendProof(body, make([]byte, 64))
	}
	valid := encode(func(*wire.Model) {})
	if _, _, err := decode(valid, "author", testRules); err != nil {
		t.Fatalf("the model the others are made from is refused: %v", err)
	}
	for name, data := range map[string][]byte{
		"empty":            nil,
		"garbage":          []byte("\xff\xff\xff\xff"),
		"cut short":        valid[:len(valid)-1],
		"too long":         append(valid, make([]byte, 200)...),
		"version 0":        encode(func(w *wire.Model) { w.Version = 0 }),
		"next version":     encode(func(w *wire.Model) { w.Version = Version + 1 }),
		"no kind":          encode(func(w *wire.Model) { w.Kind = 0 }),
		"unknown kind":     encode(func(w *wire.Model) { w.Kind = 257 }),
		"round 0":          encode(func(w *wire.Model) { w.Round = 0 }),
		"no coordinates":   encode(func(w *wire.Model) { w.Value = nil }),
		"one too few":      encode(func(w *wire.Model) { w.Value = w.Value[:2] }),
		"one too many":     encode(func(w *wire.Model) { w.Value = append(w.Value, 0) }),
		"NaN":              encode(func(w *wire.Model) { w.Value[1] = math.NaN() }),
		"+Inf":             encode(func(w *wire.Model) { w.Value[1] = math.Inf(1) }),
		"-Inf":             encode(func(w *wire.Model) { w.Value[1] = math.Inf(-1) }),
		"outside the ball": encode(func(w *wire.Model) { w.Value[1] = 2 }),
		"overflowing norm": encode(func(w *wire.Model) { w.Value[1] = math.MaxFloat64 }),
		"negative noise":   encode(func(w *wire.Model) { w.NoiseStd = -1 }),
		"NaN noise":        encode(func(w *wire.Model) { w.NoiseStd = math.NaN() }),
		"infinite noise":   encode(func(w *wire.Model) { w.NoiseStd = math.Inf(1) }),
		"attempt":          encode(func(w *wire.Model) { w.Attempt = 1 }),
		"degree":           encode(func(w *wire.Model) { w.Degree = 1 }),
		"ring":             encode(func(w *wire.Model) { w.Ring = []uint64{1} }),
		"two precisions":   encode(func(w *wire.Model) { w.Single = []float32{1, 0, 1} }),
		"one single short": encode(func(w *wire.Model) { w.Value, w.Single = nil, []float32{1, 0} }),
		"single NaN":       encode(func(w *wire.Model) { w.Value, w.Single = nil, []float32{1, 0, float32(math.NaN())} }),
		"single too far":   encode(func(w *wire.Model) { w.Value, w.Single = nil, []float32{2, 1, 0} }),
		"directed kind":    encode(func(w *wire.Model) { w.Kind = uint32(learner.KindAck) }),
		"unknown field":    protowire.AppendBytes(protowire.AppendTag(slices.Clone(valid), 99, protowire.BytesType), []byte("x")),
	} {
		m, _, err := decode(data, "author", testRules)
		if !errors.Is(err, errMalformed) {
			t.Errorf("%s: error %v does not wrap errMalformed", name, err)
		}
		if m.Real != nil {
			t.Errorf("%s: values came out with the error", name)
		}
	}
}

func TestErrorsSayNothingOfTheValues(t *testing.T) {
	const secret = 123456.789
	_, _, err := decode(mustEncode(t, model(1, secret, 0, 0)), "author", testRules)
	if err == nil || strings.Contains(err.Error(), "123456") {
		t.Errorf("the error is %v", err)
	}
}

func TestOnlyBroadcastModelsAreEncoded(t *testing.T) {
	directed := model(1, 0)
	directed.To = "somebody"
	other := model(1, 0)
	other.Kind = 99
	for name, m := range map[string]learner.Message{
		"directed":     directed,
		"unknown kind": other,
		"round 0":      model(0, 0),
		"no numbers":   model(1),
		"too large":    model(1, make([]float64, maxMessageSize/4)...),
	} {
		if _, err := testSigner(t).Encode(m); err == nil {
			t.Errorf("%s: encoded", name)
		}
	}
}

func TestRulesAreChecked(t *testing.T) {
	for _, c := range []struct {
		rules learner.Rules
		ok    bool
	}{
		{modelRules(1, 1), true}, {modelRules(learner.MaxDimension, 1e9), true}, {modelRules(1, math.Inf(1)), true},
		{modelRules(0, 1), false}, {modelRules(-1, 1), false}, {modelRules(learner.MaxDimension+1, 1), false},
		{modelRules(1, 0), false}, {modelRules(1, -1), false}, {modelRules(1, math.NaN()), false},
		{learner.Rules{learner.KindMask: {Ring: learner.MaxDimension}}, true}, {learner.Rules{learner.KindMask: {Ring: learner.MaxDimension + 1}}, false},
		{learner.Rules{learner.KindMask: {Ring: 65_000, Reals: 537, Radius: 1}}, false}, {learner.Rules{learner.KindMask: {Ring: -1, Reals: 2, Radius: 1}}, false},
		{nil, false}, {learner.Rules{0: {Ring: 1}}, false}, {learner.Rules{99: {Ring: 1}}, false},
	} {
		if err := checkRules(c.rules); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.rules, err)
		}
	}
	values := make([]float64, learner.MaxDimension)
	for i := range values {
		values[i] = 1e-9 / float64(i+1) // in double precision
	}
	largest := model(math.MaxUint64, values...)
	if _, _, err := decode(mustEncode(t, largest), "author", modelRules(len(values), 1)); err != nil {
		t.Errorf("the largest dimension allowed does not fit: %v", err)
	}
}

// FuzzDecode checks that whatever is accepted obeys the limits and comes out of
// a second encoding unchanged.
func FuzzDecode(f *testing.F) {
	f.Add(mustEncode(f, model(1, 0, 0, 0)))
	f.Add(mustEncode(f, model(2, 0.1, 0.2, 0.3)))
	f.Add(mustEncode(f, model(math.MaxUint64, 1, -1, math.Copysign(0, -1))))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		m, _, err := decode(data, "author", testRules)
		if err != nil {
			if !errors.Is(err, errMalformed) {
				t.Fatalf("%v does not wrap errMalformed", err)
			}
			return
		}
		if len(m.Real) != 3 || m.Round == 0 || m.From != "author" || m.To != "" || !(m.NoiseStd >= 0) ||
			!(math.Hypot(math.Hypot(m.Real[0], m.Real[1]), m.Real[2]) <= 2*(1+1e-8)) {
			t.Fatalf("accepted %+v", m)
		}
		again, _, err := decode(mustEncode(t, m), "author", testRules)
		if err != nil || !same(again, m) {
			t.Fatalf("%+v became %+v (%v)", m, again, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	rules := modelRules(100, 10)
	data := mustEncode(b, model(1, make([]float64, 100)...))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := decode(data, "author", rules); err != nil {
			b.Fatal(err)
		}
	}
}

// A model has the bytes that are said of its size.
func TestModelBytes(t *testing.T) {
	for _, dimension := range []int{1, 28, 1000} {
		m := learner.Message{Kind: learner.KindModel, Round: 100, NoiseStd: 0.5, Degree: 10, Real: make([]float64, dimension)}
		data, err := testSigner(t).Encode(m)
		if err != nil || len(data) != ModelBytes(dimension) {
			t.Errorf("%d coordinates: %d bytes, said %d, %v", dimension, len(data), ModelBytes(dimension), err)
		}
	}
}
