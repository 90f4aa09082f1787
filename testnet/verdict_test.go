package testnet

import (
	"strings"
	"testing"
)

// persons have an error of 1 alone, which changes by shift(i).
func persons(n int, shift func(i int) float64) []Pair {
	pairs := make([]Pair, n)
	for i := range pairs {
		pairs[i] = Pair{Person: i, Alone: 1, With: 1 + shift(i)}
	}
	return pairs
}

func TestJudge(t *testing.T) {
	sign := func(i int) float64 { return float64(i%2*2 - 1) }
	gain := func(i int) float64 { return -0.04 + 0.05*float64(i%5-2)/2 } // -9 to +1 %
	wide := func(i int) float64 { return 0.2 * sign(i) }
	for name, c := range map[string]struct {
		of   Evidence
		want []string // the first is how it begins
	}{
		"gain":       {Evidence{Pairs: persons(40, gain), Base: 1.5}, []string{"worth it: 32 of 40 nodes better, mean error -4.0 % [-5.2, -2.9]"}},
		"loss":       {Evidence{Pairs: persons(40, func(i int) float64 { return -gain(i) })}, []string{"not worth it: 8 of 40 nodes better, mean error +4.0 %", "; learning alone is better"}},
		"no gain":    {Evidence{Pairs: persons(40, func(i int) float64 { return gain(i) / 100_000 })}, []string{"not worth it: ", "-0.00 %", "; the gain is sure, and too small to notice"}},
		"small gain": {Evidence{Pairs: persons(40, func(i int) float64 { return gain(i) / 100 })}, []string{"worth it: ", "-0.04 %", "; a small gain, but a sure one"}},
		"small gain without noise, too": {
			Evidence{Pairs: persons(40, func(i int) float64 { return gain(i) / 100 }), Free: persons(40, gain), OneDraw: true},
			[]string{"worth it: ", "; a small gain, but a sure one"},
		},
		"small gain by noise alone": {
			Evidence{Pairs: persons(40, func(i int) float64 { return gain(i) / 100 }), Free: persons(40, func(i int) float64 { return -gain(i) }), OneDraw: true},
			[]string{"cannot tell: 32 of 40 nodes better, mean error -0.04 %", "; without noise there is no gain, so this one may be the luck of the noise that was drawn"},
		},
		"small gain of which hardly anything is there without noise": {
			Evidence{Pairs: persons(40, func(i int) float64 { return gain(i) / 100 }), Free: persons(40, func(i int) float64 { return gain(i) / 1e6 }), OneDraw: true},
			[]string{"cannot tell: ", "; without noise there is no gain"},
		},
		"small gain beside something else that gives none": {
			Evidence{Pairs: persons(40, func(i int) float64 { return gain(i) / 100 }), Free: persons(40, func(i int) float64 { return -gain(i) })},
			[]string{"worth it: "},
		},
		"small gain beside broadcasts that give none without noise": {
			Evidence{Pairs: persons(40, func(i int) float64 { return gain(i) / 100 }), Free: persons(40, func(i int) float64 { return -gain(i) }), Floor: true},
			[]string{"worth it: "},
		},
		"nothing":        {Evidence{Pairs: persons(40, func(i int) float64 { return wide(i) / 100 })}, []string{"not worth it: ", "mean error +0.00 % [-0.06, +0.06]; if there is a gain, it is below 1 %"}},
		"nothing at all": {Evidence{Pairs: persons(40, func(int) float64 { return 0 })}, []string{"not worth it: 0 of 40 nodes better, 0 worse, mean error +0.00 % [+0.00, +0.00]"}},
		"wide":           {Evidence{Pairs: persons(40, wide)}, []string{"cannot tell: 20 of 40 nodes better", "; the interval holds zero; more people"}},
		"few":            {Evidence{Pairs: persons(4, wide)}, []string{"cannot tell: ", "; 4 people are too few"}},
		"few, all gain":  {Evidence{Pairs: persons(3, func(i int) float64 { return -0.01 - 0.02*float64(i) })}, []string{"cannot tell: 3 of 3 nodes better"}},
		"drowned": {
			Evidence{Pairs: persons(40, wide), Free: persons(40, gain)},
			[]string{"cannot tell: ", "; the noise drowned what sharing gives: without privacy 32 of 40 nodes better, mean error -4.0 % [-5.2, -2.9]"},
		},
		"drowned to nothing": {
			Evidence{Pairs: persons(40, func(int) float64 { return 0 }), Free: persons(40, gain)},
			[]string{"not worth it: 0 of 40", "; the noise drowned what sharing gives"},
		},
		"nothing to drown": {
			Evidence{Pairs: persons(40, func(int) float64 { return 0.02 }), Free: persons(40, func(i int) float64 { return wide(i) / 100 })},
			[]string{"not worth it: 0 of 40", "; without privacy there is as little to gain, mean error +0.00 %"},
		},
		"drowned broadcasts": {
			Evidence{Pairs: persons(40, wide), Free: persons(40, gain), Floor: true},
			[]string{"cannot tell: ", "; the noise drowned what broadcasts give: without it 32 of 40 nodes better"},
		},
		"broadcasts with nothing to drown": {
			Evidence{Pairs: persons(40, func(int) float64 { return 0.02 }), Free: persons(40, func(i int) float64 { return wide(i) / 100 }), Floor: true},
			[]string{"not worth it: 0 of 40", "; broadcasts without noise gain as little, mean error +0.00 %"},
		},
		"majority":            {Evidence{Pairs: persons(40, gain), Base: 1.5, MajorityOnly: true}, []string{"not worth it: ", "; only the majority class was predicted, as a constant would"}},
		"majority, uncertain": {Evidence{Pairs: persons(40, wide), MajorityOnly: true}, []string{"cannot tell: ", "; only the majority class was predicted"}},
		"constant":            {Evidence{Pairs: persons(40, gain), Base: 0.955}, []string{"not worth it: 32 of 40", "; a constant does as well"}},
		"better constant":     {Evidence{Pairs: persons(40, gain), Base: 0.24}, []string{"not worth it: 32 of 40", "; a constant is better: its error is 75 % smaller"}},
		"rare class": {
			Evidence{Pairs: persons(40, func(int) float64 { return 0 }), Base: 1, MajorityOnly: true, LogLoss: &Evidence{Pairs: persons(40, gain), Base: 1.2}},
			[]string{"worth it: 32 of 40 nodes better, mean log loss -4.0 % [-5.2, -2.9]; the probabilities are better, the classes are not"},
		},
		"rare class, a constant is as likely": {
			Evidence{Pairs: persons(40, func(int) float64 { return 0 }), Base: 1, MajorityOnly: true, LogLoss: &Evidence{Pairs: persons(40, gain), Base: 0.9}},
			[]string{"not worth it: 0 of 40", "mean error +0.00 %", "only the majority class"},
		},
		"rare class, learned from too few": {
			Evidence{Pairs: persons(40, func(int) float64 { return 0 }), Base: 0.04, MajorityOnly: true, LogLoss: &Evidence{Pairs: persons(40, wide), Base: 1.2}},
			[]string{"cannot tell: 0 of 40", "the others, 4 % of all records, are too rare to be learned from so few, so errors cannot tell, and look at the log loss: mean log loss +"},
		},
		"rare class, nothing to learn": {
			Evidence{Pairs: persons(40, func(int) float64 { return 0 }), Base: 0.04, MajorityOnly: true, LogLoss: &Evidence{Pairs: persons(40, func(int) float64 { return 0 }), Base: 1.2}},
			[]string{"not worth it: 0 of 40", "look at the log loss: mean log loss +0.00 %"},
		},
		"rare class, surely worse": {
			Evidence{Pairs: persons(40, func(i int) float64 { return -gain(i) }), Base: 0.04, MajorityOnly: true},
			[]string{"not worth it: 8 of 40", "only the majority class"},
		},
		"rare class, a constant is more probable": {
			Evidence{Pairs: persons(40, func(int) float64 { return 0 }), Base: 0.004, MajorityOnly: true, LogLoss: &Evidence{Pairs: persons(40, gain), Base: 0.9}},
			[]string{"not worth it: 0 of 40", "the others, 0.4 % of all records", "look at the log loss: mean log loss -4.0", ", by which a constant is better: its log loss is 6 % smaller"},
		},
		"rare class, without log losses": {
			Evidence{Pairs: persons(40, func(int) float64 { return 0 }), Base: 0.04, MajorityOnly: true},
			[]string{"cannot tell: 0 of 40", "too rare to be learned from so few"},
		},
		"rare class, small gain": {
			Evidence{Pairs: persons(40, func(int) float64 { return 0 }), Base: 1, MajorityOnly: true, LogLoss: &Evidence{Pairs: persons(40, func(i int) float64 { return gain(i) / 5 }), Base: 1.2}},
			[]string{"not worth it: 0 of 40", "mean error +0.00 %", "only the majority class"},
		},
		"rare class, uncertain": {
			Evidence{Pairs: persons(40, wide), Base: 1, LogLoss: &Evidence{Pairs: persons(40, wide), Base: 1.2}},
			[]string{"cannot tell: 20 of 40", "; by classes alone a constant does as well; its log loss is 20 % larger"},
		},
		"better classes of a constant, worse probabilities": {
			Evidence{Pairs: persons(5, wide), Base: 0.9, LogLoss: &Evidence{Pairs: persons(5, wide), Base: 1.2}},
			[]string{"cannot tell: ", "; by classes alone a constant is better: its error is ", " % smaller; its log loss is "},
		},
		"better classes, worse probabilities": {
			Evidence{Pairs: persons(40, gain), Base: 1.5, LogLoss: &Evidence{Pairs: persons(40, func(i int) float64 { return -gain(i) }), Base: 1.5}},
			[]string{"worth it: 32 of 40 nodes better, mean error -4.0 %"},
		},
		"not measured":        {Evidence{Free: persons(40, gain)}, []string{"cannot tell: private learning was not measured"}},
		"one person":          {Evidence{Pairs: persons(1, gain)}, []string{"cannot tell: of one person there is no interval"}},
		"no error":            {Evidence{Pairs: []Pair{{Person: 1}, {Person: 2}}}, []string{"cannot tell: 0 of 2 nodes better, 0 worse, no error alone", "; there is no error to save"}},
		"errors from nothing": {Evidence{Pairs: []Pair{{Person: 1, With: 1}, {Person: 2, With: 1}}}, []string{"not worth it: 0 of 2 nodes better"}},
	} {
		got := Judge(c.of).String()
		if !strings.HasPrefix(got, c.want[0]) || strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
			t.Errorf("%s: %q, want it to begin with %q", name, got, c.want[0])
		}
		for _, want := range c.want[1:] {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q, want %q in it", name, got, want)
			}
		}
	}
}

// People of several seeds count once, by the mean of their pairs.
func TestJudgeCountsPeopleOnce(t *testing.T) {
	pairs := append(persons(3, func(int) float64 { return -0.3 }), persons(3, func(i int) float64 { return 0.2 * float64(i) })...)
	if v := Judge(Evidence{Pairs: pairs}); v.People != 3 || v.Better != 2 {
		t.Errorf("%d of %d better, want 2 of 3: -0.3 + 0.4 is a loss", v.Better, v.People)
	}
}
