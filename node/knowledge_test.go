package node

import (
	"slices"
	"testing"
)

// Of many epochs those are used that together have the most records for their noise, and
// no epoch that nobody was in.
func TestTellingEpochs(t *testing.T) {
	for _, c := range []struct{ records, want []int }{
		{nil, nil},
		{[]int{0, 0}, nil},
		{[]int{7}, []int{7}},
		{[]int{100, 1, 0}, []int{100}},
		{[]int{40, 100, 42, 41}, []int{100, 42, 41, 40}}, // 100 alone, 142*142/2, 183*183/3, 223*223/4
		{[]int{100, 41}, []int{100}},                     // 10,000 against 9,941
		{[]int{100, 42}, []int{100, 42}},                 // 10,000 against 10,082
	} {
		var epochs []opened
		for _, r := range c.records {
			epochs = append(epochs, opened{records: r})
		}
		var got []int
		for _, o := range telling(epochs) {
			got = append(got, o.records)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("of %v %v are used, want %v", c.records, got, c.want)
		}
	}
}
