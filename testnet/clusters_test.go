package testnet

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
)

// Two models are opposite; more are unit vectors whose inner products are all
// -1/(groups-1), the least that so many can have in common.
func TestSpreadIsARegularSimplex(t *testing.T) {
	for groups := 2; groups <= 10; groups++ {
		models := spread(groups, 10, rand.New(rand.NewPCG(uint64(groups), 1)))
		for g := range models {
			for h := range g {
				if c := floats.Dot(models[g], models[h]); math.Abs(c+1/float64(groups-1)) > 1e-12 {
					t.Errorf("%d groups: models %d and %d have the cosine %v", groups, g, h, c)
				}
			}
			if math.Abs(floats.Norm(models[g], 2)-1) > 1e-12 {
				t.Errorf("%d groups: model %d has norm %v", groups, g, floats.Norm(models[g], 2))
			}
		}
	}
}

func TestClusters(t *testing.T) {
	d, err := Clusters(1, 40, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := Clusters(2, 40, 10, 0)
	more, _ := Clusters(1, 60, 10, 0)
	if !reflect.DeepEqual(d.People, more.People[:40]) {
		t.Error("the same seed made other people")
	}
	if reflect.DeepEqual(d.People[0].rows, other.People[0].rows) || d.People[0].Name == other.People[0].Name {
		t.Error("two seeds made the same person")
	}
	for i, p := range d.People {
		if p.Group != i%10 || p.TrainSize() != 160 || len(p.testRecords()) != clusterTests || p.Profile != nil || len(p.rows) != len(p.Records) {
			t.Fatalf("person %d: group %d, %d to train on, %d to test, profile %v", i, p.Group, p.TrainSize(), len(p.testRecords()), p.Profile)
		}
	}
}

// The model that made the labels errs on 5.4% of them: of 40,000 labels 2160, with a
// standard deviation of 45; the bounds are six of them away.
func TestClusterLabels(t *testing.T) {
	d, err := Clusters(3, 400, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	models := spread(2, 10, rand.New(rand.NewPCG(3, 1<<63)))
	var wrong float64
	for _, p := range d.People {
		wrong += d.Task.Error(models[p.Group], p.Test) * float64(len(p.Test))
	}
	if wrong < 1890 || wrong > 2430 {
		t.Errorf("the groups' own models err on %v labels of 40000", wrong)
	}
}

func TestClustersRefuses(t *testing.T) {
	for _, c := range []struct{ n, groups, records int }{{10, 1, 0}, {20, 11, 0}, {9, 10, 0}, {10, 2, 4}} {
		if _, err := Clusters(1, c.n, c.groups, c.records); err == nil {
			t.Errorf("%+v was made", c)
		}
	}
	if _, err := Clusters(1, 1, 2, 0); !errors.Is(err, errTooFew) {
		t.Errorf("one person: %v", err)
	}
	if err := learner.Clusters().Validate(); err != nil {
		t.Error(err)
	}
}
