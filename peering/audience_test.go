package peering

import (
	"slices"
	"testing"
	"time"
)

func TestAudience(t *testing.T) {
	old := func(network string) Listener { return Listener{Age: time.Hour, Network: network} }
	two := Audience{Count: 2, Age: time.Hour}
	for name, c := range map[string]struct {
		audience  Audience
		listeners []Listener
		enough    bool
		count     int
	}{
		"nobody":               {two, nil, false, 0},
		"nobody for anybody":   {Audience{}, nil, false, 0},
		"anybody":              {Audience{}, []Listener{{}}, true, 1},
		"a known one":          {two, []Listener{old("a"), {Known: true}}, true, 0},
		"one":                  {two, []Listener{old("a")}, false, 1},
		"two":                  {two, []Listener{old("a"), old("b")}, true, 2},
		"two of one network":   {two, []Listener{old("a"), old("a"), old("a")}, false, 1},
		"two of nowhere":       {two, []Listener{old(""), old("")}, false, 0},
		"many that have come":  {two, []Listener{{Age: time.Minute, Network: "a"}, {Age: time.Minute, Network: "b"}, old("c")}, false, 1},
		"an age from tomorrow": {two, []Listener{{Age: -time.Hour, Network: "a"}, old("b")}, false, 1},
	} {
		if enough, count := c.audience.Enough(slices.Values(c.listeners)); enough != c.enough || count != c.count {
			t.Errorf("%s: %v, %d; want %v, %d", name, enough, count, c.enough, c.count)
		}
	}
}
