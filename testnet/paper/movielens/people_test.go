package movielens

import (
	"reflect"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
)

// What somebody learns from is all her training ratings, and none of those she is
// tested on.
func TestPeople(t *testing.T) {
	d := made(3, 15)
	s := splitOf(d, 9)
	for _, k := range kinds() {
		set, err := k.people(d, &s, 9)
		if err != nil {
			t.Fatal(err)
		}
		if err := set.Task.Validate(); err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
		want := users
		if k.donors {
			want -= 189
		}
		if len(set.People) != want {
			t.Errorf("%s: %d people, want %d", k.name, len(set.People), want)
		}
		for i := range set.People {
			p := &set.People[i]
			if len(p.Records) != 12 || p.TrainSize() != 12 || len(p.Test) != 3 {
				t.Fatalf("%s: %s has %d records, %d to learn from, %d to be tested on", k.name, p.Name, len(p.Records), p.TrainSize(), len(p.Test))
			}
			last := learner.Seq(0)
			for _, r := range p.Records {
				if r.Seq <= last || set.Task.Admit(&r) != nil || floats.Norm(r.X, 2) > set.Task.FeatureNorm()*(1+1e-12) {
					t.Fatalf("%s: record %+v", k.name, r)
				}
				last = r.Seq
			}
		}
	}
}

// The donors' factors tell nothing about who learns: other ratings of hers leave them
// as they are, and the factors of all ratings change.
func TestOnlyDonorsAreInTheirFactors(t *testing.T) {
	d := made(4, 15)
	s := splitOf(d, 9)
	other := *d
	other.ratings = append([]rating(nil), d.ratings...)
	for i := range other.ratings {
		if r := &other.ratings[i]; !s.donor[r.user] {
			r.stars = 6 - r.stars
			r.movie = (r.movie + 1) % movies
		}
	}
	for _, k := range kinds() {
		x, err := k.encode(d, &s, 9)
		y, err2 := k.encode(&other, &s, 9)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if same := reflect.DeepEqual(x.x, y.x); same == k.leaks() {
			t.Errorf("%s: the features are the same: %v", k.name, same)
		}
	}
	// Test ratings say nothing either, no matter which person gave them.
	list := s.training(other.ratings)
	for i := range other.ratings {
		if s.test[i] {
			other.ratings[i].stars = 1
		}
	}
	if !reflect.DeepEqual(list, s.training(other.ratings)) {
		t.Error("the training ratings hold test ratings")
	}
}

// A task has features of norm 1. Whatever the bound they are divided by, the models
// predict the same.
func TestScaleOfFeaturesChangesNothing(t *testing.T) {
	var predictions [2]float64
	for i, bound := range []float64{1.5, 6} {
		task := leaky.task(bound)
		record := func(seq learner.Seq, v, y float64) learner.Record {
			x := make([]float64, rank+1)
			x[0], x[1], x[rank] = v/bound, (1-v)/bound, 1/bound
			return learner.Record{Seq: seq, X: x, Y: y}
		}
		prior := make([]float64, rank+1)
		prior[0], prior[rank] = bound, -bound
		m := learner.FitPersonal(task, []learner.Record{record(1, 1, 1), record(2, 0.3, -1), record(3, -0.5, 1)}, prior)
		predictions[i] = task.Predict(m.Theta, record(4, 0.7, 0).X)
	}
	if d := predictions[0] - predictions[1]; d > 1e-9 || d < -1e-9 {
		t.Errorf("predictions %v", predictions)
	}
}
