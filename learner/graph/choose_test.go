package graph

import (
	"math"
	"slices"
	"testing"
	"time"

	"p2pnode/learner"
)

func ends(weights ...float64) []Link {
	var out []Link
	for i, w := range weights {
		out = append(out, Link{Peer: name(i), Weight: w, Known: true, Up: true})
	}
	return out
}

// at is a candidate whose angle to (1, 0, 0) makes the given cosine.
func at(id learner.ID, cos float64) Entry {
	return Entry{Peer: id, End: End{Vector: []float64{cos, math.Sqrt(1 - cos*cos), 0}}}
}

func TestChoose(t *testing.T) {
	own := End{Vector: []float64{1, 0, 0}}
	theirs := func(l []Link, i int) []Link { l[i].Theirs = true; return l }
	unknown := func(l []Link, i int) []Link { l[i].Known = false; return l }
	away := func(l []Link, i int) []Link { l[i].Up = false; return l }
	// Weights of the candidates: near 1, middle exp(-.5) = .61, far exp(-1) = .37.
	candidates := []Entry{at("far", 0), {Peer: "unknown"}, at("near", 1), at("middle", 0.5)}
	for _, c := range []struct {
		name      string
		rule      string
		links     []Link
		ask, drop []learner.ID
	}{
		{"nothing yet", "profile", nil, []learner.ID{"near", "middle", "far"}, nil},
		{"one missing", "profile", ends(0.9, 0.8), []learner.ID{"near"}, nil},
		{"the worst is beaten", "profile", ends(0.95, 0.93, 0.3), []learner.ID{"near"}, nil},
		{"two are beaten", "profile", ends(0.95, 0.3, 0.3), []learner.ID{"near", "middle"}, nil},
		{"within the margin", "profile", ends(0.95, 0.95, 0.95), nil, nil},
		{"unknown ones are beaten first", "profile", unknown(ends(0.95, 0.95, 1), 2), []learner.ID{"near"}, nil},
		{"those away do not count", "profile", away(ends(0.95, 0.95, 0.95), 0), []learner.ID{"near"}, nil},
		{"a surplus edge goes", "profile", ends(0.95, 0.95, 0.95, 0.5), nil, []learner.ID{name(3)}},
		{"unless the other end wants it", "profile", theirs(ends(0.95, 0.95, 0.95, 0.5), 3), nil, nil},
		{"or it is as good", "profile", ends(0.95, 0.95, 0.95, 0.94), nil, nil},
		{"too many", "profile", theirs(ends(0.95, 0.95, 0.95, 0.94, 0.94, 0.94, 0.93), 6), nil, []learner.ID{name(6)}},
		{"worth nothing", "profile", ends(0.95, 0.95, 0), []learner.ID{"near"}, []learner.ID{name(2)}},
		{"random fills up", "random", ends(1, 1), []learner.ID{"far"}, nil},
		{"random replaces nothing", "random", ends(1, 1, 1, 0.1), nil, nil},
	} {
		g := profiles
		g.Rule = c.rule
		got := Choose(g, own, c.links, candidates, true)
		if !slices.Equal(got.Ask, c.ask) || !slices.Equal(got.Drop, c.drop) {
			t.Errorf("%s: %+v, want ask %v, drop %v", c.name, got, c.ask, c.drop)
		}
	}
	if got := Choose(profiles, End{}, ends(0.9), candidates, true); len(got.Drop) > 0 {
		t.Errorf("without a profile: %+v", got)
	}
}

func TestAccept(t *testing.T) {
	full := ends(0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
	unknown := slices.Clone(full)
	unknown[0].Known = false
	away := slices.Clone(full)
	away[2].Up = false
	for _, c := range []struct {
		name    string
		rule    string
		links   []Link
		from    learner.ID
		weight  float64
		ok      bool
		instead learner.ID
	}{
		{"room", "profile", full[:5], "a", 0.1, true, ""},
		{"no similarity", "profile", full[:5], "a", 0, false, ""},
		{"beats the worst", "profile", full, "a", 0.45, true, name(5)},
		{"within the margin", "profile", full, "a", 0.43, false, ""},
		{"unknown ones first", "profile", unknown, "a", 1, true, name(0)},
		{"those away keep nobody out", "profile", away, "a", 0.1, true, ""},
		{"a neighbour asks again", "profile", full, name(3), 0.01, true, ""},
		{"random replaces nothing", "random", full, "a", 1, false, ""},
	} {
		g := profiles
		g.Rule = c.rule
		ok, instead := Accept(g, c.links, Link{Peer: c.from, Weight: c.weight, Known: true}, true)
		if ok != c.ok || instead != c.instead {
			t.Errorf("%s: %v, instead %q", c.name, ok, instead)
		}
	}
}

// aged returns edges of one age each.
func aged(links []Link, age time.Duration) []Link {
	for i := range links {
		links[i].Age = age
	}
	return links
}

// Only an open node gives up edges for better ones, by its own choice and for those who ask,
// and not those that have stood for long when half as many as it wants have just come.
func TestEdgesStand(t *testing.T) {
	own := End{Vector: []float64{1, 0, 0}}
	candidates := []Entry{at("near", 1), at("nearer", 1)}
	old := aged(ends(0.5, 0.5, 0.5), time.Hour)
	young := append(aged(ends(0.5, 0.5, 0.5), time.Hour), Link{Peer: "young", Weight: 0.5, Known: true, Up: true, Theirs: true, Stranger: true})
	for _, c := range []struct {
		name  string
		links []Link
		open  bool
		asks  int
	}{
		{"open", old, true, 2}, {"settled", old, false, 0}, {"one has just come", young, true, 0},
	} {
		if got := Choose(profiles, own, c.links, candidates, c.open); len(got.Ask) != c.asks {
			t.Errorf("%s: %v are asked, want %d", c.name, got.Ask, c.asks)
		}
	}
	better := append(ends(1, 1, 1), Link{Peer: "worse", Weight: 0.5, Known: true, Up: true})
	for _, open := range []bool{true, false} {
		if got := Choose(profiles, own, better, nil, open); (len(got.Drop) > 0) != open {
			t.Errorf("open %v: %v are given up", open, got.Drop)
		}
	}
	asking := aged(ends(0.5, 0.5, 0.5, 0.5, 0.5, 0.5), time.Hour)
	stranger := Link{Peer: "a", Weight: 1, Known: true, Stranger: true}
	for i := range asking {
		asking[i].Theirs, asking[i].Stranger = true, true
	}
	if ok, _ := Accept(profiles, asking[:3], stranger, false); ok {
		t.Error("strangers have more places than the node wants neighbours")
	}
	if ok, instead := Accept(profiles, asking[:3], stranger, true); !ok || instead == "" {
		t.Error("one who is more similar finds no place though the node is open")
	}
	if ok, _ := Accept(profiles, asking[:3], Link{Peer: "a", Weight: 0.1, Known: true}, false); !ok {
		t.Error("one who is no stranger finds no place")
	}
}

// When strangers hold all their places, the part of the network that holds most of them
// makes room for others, its youngest first. Those of the local network make no room.
func TestACrowdMakesRoom(t *testing.T) {
	g := learner.Graph{Rule: "random", Degree: 4}
	link := func(id learner.ID, net string, age time.Duration) Link {
		return Link{Peer: id, Net: net, Age: age, Weight: 1, Up: true, Theirs: true, Stranger: true}
	}
	crowd := []Link{link("a", "n", 4), link("b", "n", 2), link("c", "n", 3), link("d", "m", 1)}
	for net, want := range map[string]learner.ID{"n": "", "m": "b", "k": "b", "": "b"} {
		if ok, instead := Accept(g, crowd, link("new", net, 0), false); ok != (want != "") || instead != want {
			t.Errorf("a newcomer from %q takes the place of %q, want %q", net, instead, want)
		}
	}
	for i := range crowd {
		crowd[i].Net = ""
	}
	if ok, _ := Accept(g, crowd, link("new", "k", 0), false); ok {
		t.Error("somebody of the local network made room for a stranger")
	}
}
