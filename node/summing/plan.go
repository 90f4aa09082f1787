package summing

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/sums"
)

// Plan is the private sums of a task. It depends only on the task and its public
// catalogue, so every node makes the same plan. It never changes and is safe for
// concurrent use.
type Plan struct {
	task      *learner.Task
	committee sums.Committee
	members   []peer.ID // the peers of committee
	hash      sums.Digest
	catalogue sums.Digest
	recipes   []recipe
}

type recipe struct {
	*learner.Summing
	text string  // the recipe as JSON, with all constants
	std  float64 // standard deviation of the noise in each round, in real units
}

// roundingMargin is the share by which a sum has more noise than its part of the budget
// requires, so that rounding to the grid seldom makes the last sum of a record too
// expensive; see [Plan.fit].
const roundingMargin = 1e-6

// NewPlan makes the plan of a valid task. hash is that of the task. catalogue is that of
// its key, nil if the key has none. The plan of a task without sums has no recipes.
func NewPlan(t *learner.Task, catalogue *learner.Catalogue, hash sums.Digest) (*Plan, error) {
	p := &Plan{task: t, hash: hash, committee: sums.Committee{Colluding: t.Sums.Colluding}}
	for _, f := range t.Features {
		if b, err := hex.DecodeString(f.Catalogue); err == nil && len(b) == digestSize {
			p.catalogue = sums.Digest(b)
		}
	}
	for i, m := range t.Sums.Committee {
		id, key, err := identityOf(m)
		if err != nil {
			return nil, fmt.Errorf("summing: sums.committee[%d] of the task is %q: %w", i, m, err)
		}
		p.members, p.committee.Members = append(p.members, id), append(p.committee.Members, key)
	}
	for i, r := range t.Sums.Recipes {
		made, err := p.newRecipe(r, catalogue)
		if err != nil {
			return nil, fmt.Errorf("summing: sums.recipes[%d] of the task: %w", i, err)
		}
		p.recipes = append(p.recipes, made)
	}
	return p, p.fit()
}

// fit gives a recipe so much more noise that the task's budget pays for all its rounds, beside the
// recipes before it and the releases. Nearly all need none: only where the budget is small and a
// sum wide, the rounding to the grid and the discreteness of all coordinates take more than
// roundingMargin. What was paid for without it keeps its noise, which is part of a sum's name.
func (p *Plan) fit() error {
	if len(p.recipes) == 0 {
		return nil
	}
	design := privacy.Design{Budget: p.budget(), Dimension: p.task.Dimension(), Releases: 1, Apart: 1}
	for i := range p.recipes {
		design.Widest = max(design.Widest, p.recipes[i].Dimension())
	}
	policy, err := design.Policy()
	if err != nil {
		return fmt.Errorf("summing: the budget of the task: %w", err)
	}
	account, err := privacy.NewAccount(policy)
	if err != nil {
		return fmt.Errorf("summing: the budget of the task: %w", err)
	}
	left := 1.0 // as in Affordable
	if !p.task.Silent() {
		left = p.task.Sums.Share()
	}
	for i := range p.recipes {
		taken, err := p.afford(i, account, left)
		if err != nil {
			return err
		}
		left -= taken
	}
	return nil
}

// afford gives the i-th recipe so much more noise that what is left of the budget pays for all its
// rounds, and returns what they take of it.
func (p *Plan) afford(i int, account *privacy.Account, left float64) (float64, error) {
	r := &p.recipes[i]
	for range mostFits {
		s, err := p.Sum(i, 1, 1)
		if err != nil {
			return 0, err
		}
		all := account.Share(s.Mechanism) * float64(r.Rounds())
		if all <= left {
			return all, nil
		}
		r.std *= math.Sqrt(all/left) * (1 + roundingMargin)
	}
	return 0, fmt.Errorf("summing: sums.recipes[%d] of the task: epsilon %g leaves no signal in a share of %g and %d coordinates: choose a larger epsilon, or fewer coordinates",
		i, p.task.Release.Epsilon, p.task.Sums.Recipes[i].Share, r.Dimension())
}

// mostFits is how often more noise makes a sum cheaper, if any makes it cheap enough: two or three
// times, as a coarser grid rounds more.
const mostFits = 16

// budget is that of the task.
func (p *Plan) budget() privacy.Budget {
	return privacy.Budget{Epsilon: p.task.Release.Epsilon, Delta: p.task.Release.Delta}
}

// identityOf reads a peer ID, and the public key in it.
func identityOf(text string) (peer.ID, sums.Identity, error) {
	id, err := peer.Decode(text)
	if err != nil {
		return "", sums.Identity{}, fmt.Errorf("no peer ID: %w", err)
	}
	key, err := id.ExtractPublicKey()
	if err != nil || key.Type() != crypto.Ed25519 {
		return "", sums.Identity{}, fmt.Errorf("the peer ID has no Ed25519 key in it: write what p2pnode identity prints")
	}
	raw, err := key.Raw()
	if err != nil || len(raw) != len(sums.Identity{}) {
		return "", sums.Identity{}, fmt.Errorf("the peer ID has no Ed25519 key in it: %w", err)
	}
	return id, sums.Identity(raw), nil
}

// newRecipe works out the noise.
func (p *Plan) newRecipe(r learner.Recipe, catalogue *learner.Catalogue) (recipe, error) {
	s, err := p.task.Summing(r, catalogue)
	if err != nil {
		return recipe{}, err
	}
	scale, err := s.Scale(p.budget())
	if err != nil {
		return recipe{}, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return recipe{}, err
	}
	return recipe{s, string(text), scale * (1 + roundingMargin)}, nil
}

// Prices returns what a contribution to each recipe takes of a record's budget, by the price of its
// mechanism.
func (p *Plan) Prices(price func(privacy.Mechanism) (float64, error)) ([]float64, error) {
	prices := make([]float64, p.Recipes())
	for i := range prices {
		s, err := p.Sum(i, 1, 1)
		if err != nil {
			return nil, err
		}
		if prices[i], err = price(s.Mechanism); err != nil {
			return nil, err
		}
	}
	return prices, nil
}

// Affordable returns the recipes for all of whose rounds a record's budget pays, together, if a
// contribution to the i-th recipe takes prices[i] of it. The task's order says which come first.
func (p *Plan) Affordable(prices []float64) (recipes []int) {
	left := 1.0
	for i, r := range p.recipes {
		if all := prices[i] * float64(r.Rounds()); all <= left {
			recipes = append(recipes, i)
			left -= all
		}
	}
	return recipes
}

// Recipes returns how many recipes there are; 0: the task has no sums.
func (p *Plan) Recipes() int { return len(p.recipes) }

// Recipe returns the i-th recipe, ready for adding up and for reading results.
func (p *Plan) Recipe(i int) *learner.Summing { return p.recipes[i].Summing }

// Members returns the peers of the committee, in its order. The caller must not change
// the slice.
func (p *Plan) Members() []peer.ID { return p.members }

// Kind returns the kind of the i-th recipe.
func (p *Plan) Kind(i int) string { return p.task.Sums.Recipes[i].Kind }

// Epochs returns how many times each recipe is summed up.
func (p *Plan) Epochs() int { return p.task.Sums.Epochs }

// Committee returns the committee that adds up.
func (p *Plan) Committee() sums.Committee { return p.committee }

const (
	// askEvery is how often a device asks a committee at first, and restAtMost how seldom
	// later. In a short epoch they are at most an eighth of the time in which a sum takes
	// contributions.
	askEvery, restAtMost = 15 * time.Second, 4 * time.Minute
	// laterAtLeast is the shortest time after its closing in which a sum may still be
	// opened. The time is longer if the sum took contributions for longer.
	laterAtLeast = time.Hour
)

// Config completes c for a desk that serves the sums of this plan.
func (p *Plan) Config(c Config) Config {
	c.Retry, c.Rest = min(askEvery, p.open()/mostRests), min(restAtMost, p.open()/mostRests)
	return c
}

// Membership returns how a member of the committee takes part in a sum that does not begin
// before a time.
func (p *Plan) Membership(root string, opens time.Time) Membership {
	return Membership{Root: root, Opens: opens, Open: p.open(), Later: max(laterAtLeast, p.open())}
}

// open returns for how long a sum takes contributions.
func (p *Plan) open() time.Duration {
	return time.Duration(p.task.Sums.CloseSeconds * float64(time.Second))
}

// Sum returns the sum of a recipe in an epoch and a round. Both count from 1.
func (p *Plan) Sum(i int, epoch, round uint64) (*sums.Sum, error) {
	r := &p.recipes[i]
	s, err := sums.New(sums.Terms{
		Task: p.hash, Recipe: r.text, Catalogue: p.catalogue, Epoch: epoch, Round: round, Committee: p.committee,
		Distance: r.Distance(), Std: r.std, Dimension: r.Dimension(),
		Contributors: p.task.Sums.Contributors, Records: p.task.Sums.Records,
	})
	if err != nil {
		return nil, fmt.Errorf("summing: sum %d of recipe %d: %w", epoch, i+1, err)
	}
	return s, nil
}

// sums visits the sums of a recipe in order: epoch by epoch, and round by round in each.
func (p *Plan) sums(recipe int) iter.Seq[*sums.Sum] {
	return func(yield func(*sums.Sum) bool) {
		rounds := uint64(p.Recipe(recipe).Rounds())
		for k := range uint64(p.Epochs()) * rounds {
			s, err := p.Sum(recipe, 1+k/rounds, 1+k%rounds)
			if err != nil || !yield(s) {
				return
			}
		}
	}
}
