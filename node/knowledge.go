package node

import (
	"cmp"
	"crypto/ed25519"
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/summing"
	"p2pnode/privacy"
	"p2pnode/storage"
	"p2pnode/sums"
)

// walk is how far a node has come through the sums of one recipe, and what they say.
type walk struct {
	*summing.Course
	recipe  int
	through learner.Walk // the sums of this epoch
	opened  []opened
	results []api.Sum // of every round that has ended
}

// opened is the result of one epoch.
type opened struct {
	sum     storage.SumID // of the epoch's last round
	epoch   uint64
	values  []float64 // the values of the sum, or the model to which the rounds led
	sd      float64
	noise   *mat.SymDense // the covariance of that in a model; nil: not known
	slots   []int
	records int  // the fewest of a round
	listed  bool // this device's contribution is in the sum
}

// knowledge is what a node knows from private sums. All methods are safe for concurrent
// use. What it knows is public, except which records went into the sums.
type knowledge struct {
	plan   *summing.Plan
	root   string // the directory of the results
	shared *Shared
	member bool      // this node is a member of the committee
	prices []float64 // what a contribution costs, as a share of a record's budget, by recipe
	paid   []int     // the recipes to which this node adds something: the others are beyond a record's budget

	mu    sync.Mutex
	walks []*walk
}

// openKnowledge reads what the node of a directory knows from its task's private sums; it
// returns nil if the task has none.
func openKnowledge(dir string, files *datadir.Files, shared *Shared, l *storage.Ledger) (*knowledge, error) {
	if len(files.Task.Sums.Recipes) == 0 {
		return nil, nil
	}
	plan, err := datadir.Plan(files.Task, files.Catalogue)
	if err != nil {
		return nil, err
	}
	key, err := datadir.SigningKey(files.Key)
	if err != nil {
		return nil, err
	}
	return newKnowledge(plan, shared, filepath.Join(dir, datadir.ResultsDir), sums.Identity(key.Public().(ed25519.PublicKey)), l)
}

// newKnowledge reads the results that a node keeps under root.
func newKnowledge(p *summing.Plan, shared *Shared, root string, self sums.Identity, l *storage.Ledger) (*knowledge, error) {
	k := &knowledge{
		plan: p, root: root, shared: shared, member: slices.Contains(p.Committee().Members, self),
	}
	var err error
	if k.prices, err = p.Prices(func(m privacy.Mechanism) (float64, error) { return l.Price(m), nil }); err != nil {
		return nil, err
	}
	k.paid = p.Affordable(k.prices)
	for i := range p.Recipes() {
		w := &walk{Course: p.Course(i), recipe: i, through: p.Recipe(i).Walk()}
		k.walks = append(k.walks, w)
		if err := k.recall(w, self, l); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// recall takes a walk past the sums whose outcomes are kept.
func (k *knowledge) recall(w *walk, self sums.Identity, l *storage.Ledger) error {
	for {
		s, err := k.next(w)
		if err != nil || s == nil {
			return err
		}
		o, err := summing.Kept(k.root, s, self, l)
		if err != nil || o == nil {
			return err
		}
		if err := k.take(w, s, o); err != nil {
			return err
		}
	}
}

// next returns the sum that a walk waits for; nil after the last one.
func (k *knowledge) next(w *walk) (*sums.Sum, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return w.Next()
}

// over reports whether all results are here.
func (k *knowledge) over() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !slices.ContainsFunc(k.walks, func(w *walk) bool { return w.Epoch <= uint64(k.plan.Epochs()) })
}

// goesOn reports whether a sum of an epoch is still to come.
func (k *knowledge) goesOn(epoch uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(k.walks, func(w *walk) bool { return w.Epoch <= epoch })
}

// begins reports whether an epoch begins, or can still be joined, whose sums this node can pay for.
func (k *knowledge) begins() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	last := uint64(k.plan.Epochs())
	return slices.ContainsFunc(k.walks, func(w *walk) bool {
		return (w.Epoch < last || w.Epoch == last && w.Round == 1) && slices.Contains(k.paid, w.recipe)
	})
}

// opens returns the time before which the next sum does not begin.
func (k *knowledge) opens(w *walk) time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return w.Opens()
}

// at returns the public values at which the vectors of the next sum are computed.
func (k *knowledge) at(w *walk) []float64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return w.through.At()
}

// take continues a walk with the outcome of a sum.
func (k *knowledge) take(w *walk, s *sums.Sum, o *summing.Outcome) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	recipe := k.plan.Recipe(w.recipe)
	if w.Ended(o.Closes()); o.Result == nil {
		w.results = append(w.results, k.plan.DescribeDead(s, w.recipe))
		w.through = recipe.Walk()
		return nil
	}
	told := opened{sum: storage.SumID(s.ID), epoch: s.Epoch, sd: s.Noise(), records: int(o.Result.Result.Records), listed: o.Listed}
	for _, v := range o.Result.Result.Values {
		told.values = append(told.values, float64(v))
	}
	for _, e := range o.List.Entries {
		told.slots = append(told.slots, int(e.Records))
	}
	result := k.plan.DescribeResult(s, w.recipe, o.Result, o.Voters, filepath.Join(k.root, summing.ResultFile(s.ID)))
	if o.Listed {
		result.Part = api.PartListed
	}
	w.results = append(w.results, result)
	if err := w.through.Take(told.values, told.sd, told.records); err != nil {
		return err
	}
	told.values, told.noise = w.through.Model(), w.through.Noise()
	if w.Round == 1 { // the epoch is over
		for _, r := range w.results[len(w.results)-recipe.Rounds():] {
			told.records = min(told.records, int(r.Records))
		}
		w.opened, w.through = append(w.opened, told), recipe.Walk()
	}
	return nil
}

// telling returns the epochs that together tell most. Each adds its records, and as much
// noise as any other: r records in k epochs tell as much as r*r/k records in one. So an
// epoch with few records would only add noise to the others. The number of records of
// each epoch is public.
func telling(all []opened) []opened {
	most := slices.SortedStableFunc(slices.Values(all), func(a, b opened) int { return cmp.Compare(b.records, a.records) })
	var best, records float64
	count := 0
	for i, o := range most {
		records += float64(o.records)
		if tells := records * records / float64(i+1); tells > best {
			best, count = tells, i+1
		}
	}
	return most[:count]
}

// added combines opened sums of a recipe: sums and their noise add up; of models to which
// rounds led it takes the mean over all records.
func added(r *learner.Summing, epochs []opened) learner.Opened {
	all := learner.Opened{Summing: r, Sum: make([]float64, len(epochs[0].values))}
	records := 0
	for _, o := range epochs {
		records += o.records
	}
	for _, o := range epochs {
		weight := 1.0
		if !r.Separable() {
			weight = float64(o.records) / float64(records)
		}
		floats.AddScaled(all.Sum, weight, o.values)
		if o.noise != nil {
			var noise mat.SymDense
			noise.ScaleSym(weight*weight, o.noise)
			if all.Noise != nil {
				noise.AddSym(&noise, all.Noise)
			}
			all.Noise = &noise
		}
		all.SD = math.Hypot(all.SD, o.sd)
		all.Slots = append(all.Slots, o.slots...)
	}
	return all
}

// source is a recipe, with the opened sums of it that are used.
type source struct {
	recipe *learner.Summing
	epochs []opened
}

// read returns what is known of the population, and from which sums; nil if no sum was
// opened yet.
func (k *knowledge) read() (*learner.Population, []source, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var known []learner.Opened
	var from []source
	var name []byte
	for i, w := range k.walks {
		recipe, epochs := k.plan.Recipe(i), telling(w.opened)
		if len(epochs) == 0 {
			continue
		}
		known, from = append(known, added(recipe, epochs)), append(from, source{recipe, epochs})
		name = binary.BigEndian.AppendUint32(name, uint32(i))
		for _, o := range epochs {
			name = append(name, o.sum[:]...)
		}
	}
	if len(known) == 0 {
		return nil, nil, nil
	}
	p, err := k.shared.population(string(name), known)
	return p, from, err
}
