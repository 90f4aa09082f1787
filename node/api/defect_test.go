package api

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// learnFrom panics while it holds a record's label.
//
//go:noinline
func learnFrom(label float64, none []float64) float64 {
	first := firstOf(none) // the label is on the stack meanwhile
	return label + first
}

//go:noinline
func firstOf(list []float64) float64 { return list[0] }

// A defect says where it is, and nothing about what the functions were called with.
func TestDefectsHaveNoValues(t *testing.T) {
	const label = 123456.789
	err := func() (d *Defect) {
		defer func() { d = NewDefect(recover()) }()
		learnFrom(label, nil)
		return nil
	}()
	if !strings.Contains(err.Error(), "api.firstOf defect_test.go:19 < api.learnFrom") || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%v: want the place, in one line", err)
	}
	for _, text := range append(err.Stack, err.Error()) {
		if strings.Contains(text, fmt.Sprintf("%x", math.Float64bits(label))) {
			t.Errorf("%q has the label", text)
		}
	}
	if last := err.Stack[len(err.Stack)-1]; !strings.HasPrefix(last, "testing.tRunner") {
		t.Errorf("the stack ends with %q, want the goroutine's first function", last)
	}
}
