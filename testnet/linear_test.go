package testnet

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"testing"
)

func TestLinearSizes(t *testing.T) {
	d, err := Linear(1, 300)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[int]bool)
	for _, p := range d.People {
		m, held := 0, 0
		for _, r := range p.Records {
			if r.Seq.HeldOut() {
				held++
			} else {
				m++
			}
		}
		if m < 10 || m > 100 || m != p.TrainSize() || held != (m-1)/4 {
			t.Fatalf("%d training records (TrainSize %d) and %d held out", m, p.TrainSize(), held)
		}
		if len(p.Test) != linearTests || math.Abs(math.Hypot(p.Profile[0], p.Profile[1])-1) > 1e-12 {
			t.Fatalf("%d test records, profile %v", len(p.Test), p.Profile)
		}
		seen[m] = true
	}
	// 300 draws from 91 values miss 91 (1 - 1/91)^300 = 3.3 on average.
	if len(seen) < 75 {
		t.Errorf("only %d sizes of 91 came up", len(seen))
	}
}

// The label is the side of the person's direction, but for the flips. Of 30,000
// test labels 1,500 are flipped on average, standard deviation 38: the bounds
// are 5 of them away, false failure below 1e-6.
func TestLinearFlips(t *testing.T) {
	d, err := Linear(2, 300)
	if err != nil {
		t.Fatal(err)
	}
	flipped := 0
	for _, p := range d.People {
		for _, r := range p.Test {
			// Scaling x to unit norm does not move it across the line.
			if (r.X[0]*p.Profile[0]+r.X[1]*p.Profile[1] > 0) != (r.Y > 0) {
				flipped++
			}
		}
	}
	if flipped < 1310 || flipped > 1690 {
		t.Errorf("%d labels of 30000 are flipped, want about 1500", flipped)
	}
}

func TestLinearSeed(t *testing.T) {
	a, _ := Linear(1, 5)
	b, _ := Linear(1, 9)
	c, _ := Linear(2, 5)
	if !reflect.DeepEqual(a.People, b.People[:5]) {
		t.Error("the same seed made other people")
	}
	if reflect.DeepEqual(a.People[0].rows, c.People[0].rows) || a.People[0].Name == c.People[0].Name {
		t.Error("two seeds made the same person")
	}
	for _, cell := range a.People[0].rows[0] {
		if v, err := strconv.ParseFloat(cell, 64); err != nil || math.Abs(v) > 1 {
			t.Errorf("cell %q", cell)
		}
	}
	if _, err := Linear(1, 1); !errors.Is(err, errTooFew) {
		t.Errorf("a network of one: got %v", err)
	}
}
