package testnet

import (
	"context"
	"slices"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/sums"
)

// recipes are what the people of a data set sum up: what the task says itself, with the
// whole budget for it, or what suits it. That is what people think of each key, if there
// is one; in which directions they differ, if the task's graph looks for people who are
// alike and labels are two classes, unless a map makes the records wide; or else where all personal
// models start.
func (d *Dataset) recipes() []learner.Recipe {
	t := d.Task
	if own := slices.Clone(t.Sums.Recipes); len(own) > 0 {
		whole := t.Sums.Share()
		for i := range own {
			own[i].Share /= whole
		}
		return own
	}
	kinds := []string{"items", t.StartRecipe(d.trainSize())}
	if t.Graph.Rule != "random" && t.Map.Kind == "" {
		kinds = slices.Insert(kinds, 1, "moments")
	}
	for _, kind := range kinds {
		r := learner.Recipe{Kind: kind, Share: 1}
		if _, err := t.Summing(r, d.Catalogue); err == nil {
			return []learner.Recipe{r}
		}
	}
	return nil // there is no such task: the last one suits it
}

// trainSize is how many records all learn from.
func (d *Dataset) trainSize() (records float64) {
	for i := range d.People {
		records += float64(d.People[i].TrainSize())
	}
	return records
}

// mostSquared is how many coordinates a record may have for a rehearsal of broadcasts to sum
// up their squares. Those of more take minutes to read, for each person anew, and say less
// through the noise than gradients.
const mostSquared = 256

// recipes are those of the data set. A rehearsal of broadcasts prefers gradients to the
// squares of wide records.
func (c *Config) recipes(d *Dataset) []learner.Recipe {
	all := d.recipes()
	if c.Rehearse && broadcasts(d.Task) && all[0].Kind != "items" && d.Task.Width() > mostSquared {
		all[0].Kind = "gradient"
	}
	return all
}

// mostTrain is how many records anybody's part of a sum is of.
func (d *Dataset) mostTrain() int {
	most := 1
	for i := range d.People {
		most = max(most, d.People[i].TrainSize())
	}
	return most
}

// summing is the data set with the task that lets its people make private sums, of the
// whole budget, within so long a time each. The committee has its members' peer IDs.
func (d *Dataset) summing(b privacy.Budget, committee []string, closes time.Duration) *Dataset {
	task := *d.Task
	// Nothing is sent to neighbours, so what another learner says to them goes.
	task.Learner, task.Graph = "sums", learner.Graph{Rule: "random", Degree: d.Task.Graph.Degree}
	task.Propagation, task.Rounds, task.Diffusion = learner.Propagation{}, learner.Rounds{}, learner.Diffusion{}
	task.KM, task.Polar = learner.KM{}, learner.Polar{}
	task.Release.Epsilon, task.Release.Delta = b.Epsilon, b.Delta
	task.Sums = learner.Sums{
		Recipes: d.recipes(), Committee: committee, Colluding: colluding,
		Contributors: max(2, len(d.People)), Records: d.mostTrain(), Epochs: 1, CloseSeconds: closes.Seconds(),
	}
	summing := *d
	summing.Task = &task
	summing.People = slices.Clone(d.People)
	for i := range summing.People {
		summing.People[i].Profile = nil
	}
	return &summing
}

// rehearsedDraws is how often a rehearsal draws the noise of a sum that it works out. All
// people have the same noise, so one draw may be lucky for all of them together: of 20
// people the change of the error differed by 5 % from draw to draw.
const rehearsedDraws = 5

// workOut adds up without a network: with the noise of a committee, or without any.
func (c *Config) workOut(ctx context.Context, d *Dataset, seed uint64, m Method) (*Trial, error) {
	draws := 1
	if c.Rehearse && m == Private {
		draws = rehearsedDraws
	}
	start := time.Now()
	var all []*Trial
	for k := range draws {
		if draws > 1 {
			c.report(Progress{Seed: seed, Method: m, Virtual: true, Nodes: len(d.People), Sums: draws, Sum: k + 1})
		}
		t, err := c.draw(ctx, d, seed+uint64(k)<<32, m)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	t := overDraws(all)
	t.Seconds = time.Since(start).Seconds()
	return t, nil
}

// overDraws is the mean over draws of the noise of what is measured on each person. Who
// predicts the majority class alone does so in all draws.
func overDraws(all []*Trial) *Trial {
	t := *all[0]
	each := func(of func(*Trial) []float64) []float64 {
		means := slices.Clone(of(all[0]))
		for i := range means {
			var sum float64
			for _, one := range all {
				sum += of(one)[i]
			}
			means[i] = sum / float64(len(all))
		}
		return means
	}
	t.Errors, t.LogLosses = each(byError), each(byLogLoss)
	t.Newcomers = each(func(t *Trial) []float64 { return t.Newcomers })
	t.AUC = meanOver(all, func(t *Trial) *float64 { return t.AUC })
	for _, one := range all {
		t.Majority = min(t.Majority, one.Majority)
	}
	return &t
}

// draw works a sum out with one draw of the noise.
func (c *Config) draw(ctx context.Context, d *Dataset, seed uint64, m Method) (*Trial, error) {
	sum := PrivateSum{Task: d.Task, Catalogue: d.Catalogue, Recipes: c.recipes(d), Seed: seed}
	if m == Private {
		sum.Budget = c.Budget
	}
	n := len(d.People)
	summed, err := sum.LearnMany(n, func(i int) []learner.Record {
		if ctx.Err() != nil {
			return nil // soon added up, and then for nothing
		}
		return d.People[i].Records
	}, n)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	t := &Trial{Method: m}
	scores, err := knowingScores(d, whileGoing(ctx, summed.Known))
	if err != nil {
		return nil, err
	}
	t.take(d, scores)
	if m == Private {
		if err := t.sent(d, summed.Dimensions); err != nil {
			return nil, err
		}
		t.Newcomers = t.Errors
		if summed.Population.Separable() {
			t.Newcomers, err = newcomersErrors(ctx, d, summed.Population.Newcomer())
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// sent fills in what people send and spend who all contribute to sums of these
// dimensions.
func (t *Trial) sent(d *Dataset, dimensions []int) error {
	t.Spent = slices.Repeat([]float64{1}, len(d.People))
	t.Messages = float64(len(dimensions))
	t.Expected = 2 * uint64(len(d.People)*len(dimensions)) // contributions and results
	t.Delivered = t.Expected
	members := make([]sums.Identity, committee)
	for i := range members {
		members[i][0] = byte(i + 1)
	}
	for _, dimension := range dimensions {
		s, err := sums.New(sums.Terms{
			Recipe: "any", Committee: sums.Committee{Members: members, Colluding: colluding},
			Distance: 1, Std: 1, Dimension: dimension, Contributors: len(d.People), Records: 1,
		})
		if err != nil {
			return err
		}
		t.Bytes += float64(s.UploadSize())
	}
	return nil
}

// knowingScores fits each person's personal model to her records and to what she knows of
// all people, and measures it on her test records.
func knowingScores(d *Dataset, known func(i int) (*learner.Known, error)) ([]learner.Score, error) {
	scores := make([]learner.Score, len(d.People))
	err := eachPerson(d, func(i int) error {
		k, err := known(i)
		if err != nil {
			return err
		}
		p := &d.People[i]
		m := learner.FitKnowing(d.Task, p.Records, make([]float64, d.Task.Dimension()), k)
		var test []learner.Record
		for _, r := range p.testRecords() {
			test = append(test, k.Extend(d.Task, r))
		}
		scores[i] = d.Task.Score(m.Theta, slices.Values(test))
		return nil
	})
	return scores, err
}

// ErrorsKnowing are the test errors of each person's personal model, fitted to her records
// and to what she knows of all people.
func (d *Dataset) ErrorsKnowing(known func(i int) (*learner.Known, error)) ([]float64, error) {
	scores, err := knowingScores(d, known)
	return errorsOf(scores), err
}

// newcomersErrors are the test errors of people who know a population to which none of
// them contributed anything.
func newcomersErrors(ctx context.Context, d *Dataset, k *learner.Known) ([]float64, error) {
	return d.ErrorsKnowing(whileGoing(ctx, func(int) (*learner.Known, error) { return k, nil }))
}

// whileGoing is what each person knows, and the error of ctx when that has ended: fits take
// long that nobody waits for any more.
func whileGoing(ctx context.Context, known func(i int) (*learner.Known, error)) func(i int) (*learner.Known, error) {
	return func(i int) (*learner.Known, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return known(i)
	}
}
