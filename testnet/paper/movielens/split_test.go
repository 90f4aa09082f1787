package movielens

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// The fixed splits are the lines that an independent program drew.
func TestFixedSplits(t *testing.T) {
	for seed := uint64(1); seed <= fixedSplits; seed++ {
		s := splitOf(nil, seed)
		if n, m := count(s.test), count(s.donor); n != ratings/5 || m != 189 {
			t.Errorf("split %d has %d test ratings and %d donors", seed, n, m)
		}
		shared := os.Getenv("P2PNODE_SHARED")
		if shared == "" {
			continue
		}
		file := fmt.Sprintf("%s/reference/ml100k/split%d_", shared, seed-1)
		if test := numbers(t, file+"test_lines.txt", ratings); !reflect.DeepEqual(test, s.test) {
			t.Errorf("split %d tests on other lines", seed)
		}
		if donor := numbers(t, file+"donors.txt", users); !reflect.DeepEqual(donor, s.donor) {
			t.Errorf("split %d has other donors", seed)
		}
	}
}

// numbers reads a list of numbers from 1 to n as a set.
func numbers(t *testing.T, file string, n int) []bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set := make([]bool, n)
	for _, f := range strings.Fields(string(text)) {
		var i int
		if _, err := fmt.Sscan(f, &i); err != nil {
			t.Fatal(err)
		}
		set[i-1] = true
	}
	return set
}

func count(set []bool) (n int) {
	for _, b := range set {
		if b {
			n++
		}
	}
	return n
}

// Further splits keep a fifth of everybody's ratings, and follow from the seed.
func TestDrawnSplits(t *testing.T) {
	d := made(1, 13)
	s := splitOf(d, 6)
	for u, lines := range byUser(d.ratings) {
		tested := 0
		for _, i := range lines {
			if s.test[i] {
				tested++
			}
		}
		if tested != 3 { // 2.6, rounded
			t.Fatalf("user %d is tested on %d of 13", u, tested)
		}
	}
	if n := count(s.donor); n != 189 {
		t.Errorf("%d donors", n)
	}
	if !reflect.DeepEqual(s, splitOf(d, 6)) || reflect.DeepEqual(s, splitOf(d, 7)) {
		t.Error("a split must follow from its seed, and differ from others")
	}
}
