package mobile

import (
	"math"
	"slices"
	"testing"
)

func TestVectors(t *testing.T) {
	want := []float64{0, -1.5, math.Inf(1), math.MaxFloat64, 5e-324}
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
