package mobile

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestVectors(t *testing.T) {
	want := []float64{0, -1.5, math.Inf(1), math.MaxFloat64, -least}
	f := NewFeatures(len(want))
	for i, v := range want {
		if err := f.Set(i, v); err != nil {
			t.Fatal(err)
		}
	}
	b := f.Bytes()
	got, err := decodeVector(b)
	if err != nil || !slices.Equal(got, want) || !slices.Equal(encodeVector(want), b) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	clear(b) // the app's memory, once the call is over
	if !slices.Equal(got, want) || slices.Equal(f.Bytes(), b) {
		t.Error("a vector shares memory with the app")
	}
}

// Java's buffers are big-endian unless they are told otherwise.
func TestVectorsInTheOtherByteOrder(t *testing.T) {
	n := open(t, linearConfig(t), nil)
	for _, v := range []float64{1, -1.5, 1e9, math.Float64frombits(0x7ff8 << 48), math.Inf(1), float64(float32(.1))} {
		features, label := make([]byte, 8*20), encodeVector([]float64{1})
		binary.BigEndian.PutUint64(features[8*3:], math.Float64bits(v))
		_, predicted := n.Predict(features)
		for what, err := range map[string]error{
			"AddExample":  n.AddExample(features, 1),
			"AddExamples": n.AddExamples(slices.Concat(features, label)),
			"Predict":     predicted,
		} {
			if errorCode(err) != CodeInput || !strings.Contains(err.Error(), "number 3, counted from 0") || !strings.Contains(err.Error(), "LITTLE_ENDIAN") {
				t.Errorf("%s of %g: %v", what, v, err)
			}
		}
	}
	features, label := encodeVector(make([]float64, 20)), binary.BigEndian.AppendUint64(nil, math.Float64bits(1))
	if err := n.AddExamples(slices.Concat(features, label)); errorCode(err) != CodeInput || !strings.Contains(err.Error(), "row 1: the label: ") {
		t.Errorf("a label: %v", err)
	}
}

func TestVectorsRefuse(t *testing.T) {
	for _, n := range []int{1, 7, 9} {
		if v, err := decodeVector(make([]byte, n)); v != nil || err == nil {
			t.Errorf("%d bytes: %v, %v", n, v, err)
		}
	}
	for n, want := range map[int]int{math.MinInt: 0, -1: 0, 0: 0, 3: 3, math.MaxInt: maxFeatures} {
		f := NewFeatures(n)
		if got := len(f.Bytes()); got != 8*want {
			t.Errorf("NewFeatures(%d): %d bytes", n, got)
		}
		for _, i := range []int{-1, want, math.MinInt, math.MaxInt} {
			if err := f.Set(i, 1); errorCode(err) != CodeInput {
				t.Errorf("NewFeatures(%d).Set(%d): %v", n, i, err)
			}
		}
	}
	if err := new(Features).Set(0, 1); errorCode(err) != CodeInput {
		t.Errorf("an empty vector: %v", err)
	}
}
