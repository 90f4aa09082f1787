package learner

import (
	"math"
	"strings"
	"testing"
)

// summed is the task movies with a private sum.
func summed() *Task {
	t := Movies()
	t.Learner = "sums"
	t.Sums = Sums{
		Recipes:   []Recipe{{Kind: "items", Share: 0.75}, {Kind: "mean", Share: 0.25}},
		Committee: []string{"a", "b", "c", "d"}, Colluding: 1,
		Contributors: 1000, Records: 10000, Epochs: 4, CloseSeconds: 3600,
	}
	return t
}

func TestSumsOfATask(t *testing.T) {
	if err := summed().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(s *Sums){
		"sums.recipes: must say what is summed up":                    func(s *Sums) { s.Recipes = nil },
		`sums.recipes[1].kind: must be one of`:                        func(s *Sums) { s.Recipes[1].Kind = "median" },
		`sums.recipes[1].kind: must be there once`:                    func(s *Sums) { s.Recipes[1].Kind = "items" },
		"sums.recipes[0].share: must be above 0":                      func(s *Sums) { s.Recipes[0].Share = math.NaN() },
		"shares that add up to 1 at most, not to 1.25":                func(s *Sums) { s.Recipes[0].Share = 1 },
		"sums.recipes[1].kind: is \"moments\"":                        func(s *Sums) { s.Recipes[1].Kind = "moments" },
		"sums.committee: must name at least 3t+1":                     func(s *Sums) { s.Committee = s.Committee[1:] },
		"and not 4 against 2":                                         func(s *Sums) { s.Colluding = 2 },
		"and not 4 against 0":                                         func(s *Sums) { s.Colluding = 0 },
		"sums.committee[3]: must be unique":                           func(s *Sums) { s.Committee[3] = "a" },
		"sums.committee[0]: must have 1 to":                           func(s *Sums) { s.Committee[0] = "" },
		"sums.contributors: must be between 2 and":                    func(s *Sums) { s.Contributors = 1 },
		"sums.records: must be between 1 and":                         func(s *Sums) { s.Records = 0 },
		"sums.epochs: must be between 1 and":                          func(s *Sums) { s.Epochs = 0 },
		"sums.close_seconds: must be positive":                        func(s *Sums) { s.CloseSeconds = math.Inf(1) },
		"sums.close_seconds: must be positive and at most 1e9":        func(s *Sums) { s.CloseSeconds = 1e10 }, // it is no time.Duration
		"sums.recipes[0].bound: must be a number that is at least 0":  func(s *Sums) { s.Recipes[0].Bound = -1 },
		"sums.recipes[1]: bound, spread and noise belong to the kind": func(s *Sums) { s.Recipes[1].Noise = 1 },
	} {
		task := summed()
		change(&task.Sums)
		if err := task.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A file of keys is needed only by what adds up by keys.
func TestSumsCatalogue(t *testing.T) {
	task := summed()
	if got := task.SumsCatalogue(); got != moviesCatalogue {
		t.Errorf("%q", got)
	}
	task.Sums.Recipes = task.Sums.Recipes[1:] // the mean
	if got := task.SumsCatalogue(); got != "" {
		t.Errorf("a mean needs %q", got)
	}
}
