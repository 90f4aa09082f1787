package node

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/summing"
	"p2pnode/storage"
	"p2pnode/sums"
)

// Sums lists the private sums of the node's task, as far as the node knows them.
func (n *Node) Sums(context.Context) (api.Sums, error) {
	if n.sums == nil {
		return api.Sums{}, noSums(&n.files)
	}
	s, err := n.describeSums(false)
	if err != nil {
		return api.Sums{}, err
	}
	return *s, nil
}

func noSums(files *datadir.Files) error {
	return fmt.Errorf("node: the task %q %w", files.Task.Name, api.ErrNoSums)
}

// describeSums lists, for each recipe, the results that are here, or only the last of
// them, and the next sum. It returns nil if the task has no private sums.
func (n *Node) describeSums(lastOnly bool) (*api.Sums, error) {
	k := n.sums
	if k == nil {
		return nil, nil
	}
	paid := make(map[string]storage.Contributed)
	for _, c := range n.ledger.Contributions() {
		paid[hex.EncodeToString(c.Sum[:])] = c
	}
	desk := n.desk()
	out := &api.Sums{SumCounts: api.SumCounts{Paid: len(paid)}, Running: desk != nil, Paused: n.Paused(), Committee: k.plan.DescribeCommittee(desk, n.self), List: []api.Sum{}}
	k.mu.Lock()
	defer k.mu.Unlock()
	out.OnlyFetches = len(k.paid) == 0
	for i, w := range k.walks {
		add := func(s api.Sum) {
			s.Price, s.Part = k.prices[i], part(s, paid)
			out.List = append(out.List, s)
		}
		rounds := k.plan.Recipe(i).Rounds()
		out.All += k.plan.Epochs() * rounds
		for j, s := range w.results {
			if s.State == api.SumHere {
				out.Known++
			}
			if s.Part == api.PartListed {
				out.Listed++
			}
			if !lastOnly || j == len(w.results)-1 {
				add(s)
			}
		}
		next, err := w.Next()
		if err != nil {
			return nil, err
		}
		if next != nil {
			add(k.plan.Describe(desk, next, i, w.Opens()))
		}
	}
	return out, nil
}

// part returns this node's part in a sum: what the result says of it, or else what the
// ledger says.
func part(s api.Sum, paid map[string]storage.Contributed) api.SumPart {
	c, ok := paid[s.ID]
	switch {
	case s.Part == api.PartListed, !ok:
		return s.Part
	case !c.Kept:
		return api.PartLost
	case s.State == api.SumHere, s.State == api.SumDead:
		return api.PartLeftOut
	}
	return api.PartSent
}

// sumsOf returns what a cohort has to do with private sums; "" if the task has none.
func (n *Node) sumsOf(c api.CohortBudget) api.SumsOfRecord {
	if n.sums == nil {
		return ""
	}
	switch epoch := n.ledger.Epoch(c.Cohort); {
	case epoch > 0 && !c.Retired && n.sums.goesOn(epoch):
		return api.SumsPaid
	case epoch > 0:
		return api.SumsOver
	case !c.Retired && n.sums.begins():
		return api.SumsToCome
	}
	return api.SumsNever
}

// desk returns the session's desk; nil unless Run is running.
func (n *Node) desk() *summing.Desk {
	if s := n.current(); s != nil {
		return s.desk
	}
	return nil
}

// sumsBudget returns what the sums take of the budget; nil if the task has none.
func (n *Node) sumsBudget() (*api.SumsBudget, error) {
	known, err := n.describeSums(true)
	if known == nil || err != nil {
		return nil, err
	}
	t, c := n.files.Task, known.Committee
	b := &api.SumsBudget{
		Share: t.Sums.Share(), Only: t.Silent(), Committee: c, Recipes: []api.RecipePrice{}, Epochs: t.Sums.Epochs, OnlyFetches: known.OnlyFetches,
		Excess: math.Sqrt(float64(len(c.Members)) / float64(len(c.Members)-c.Colluding)), Left: known.All - known.Known,
	}
	for i, r := range t.Sums.Recipes {
		rounds := n.sums.plan.Recipe(i).Rounds()
		b.Recipes = append(b.Recipes, api.RecipePrice{
			Recipe: r.Kind, Rounds: rounds, Share: r.Share, Price: float64(rounds) * n.sums.prices[i], Skipped: !slices.Contains(n.sums.paid, i),
		})
	}
	return b, nil
}

// VerifySum checks a file with the result of a private sum against the task of a data
// directory, which may be in use. It checks the committee's signatures and, if the
// certified list is beside the file, who is in the sum.
func VerifySum(dir, file string) (api.SumFile, error) {
	files, err := datadir.Read(dir)
	if err != nil {
		return api.SumFile{}, err
	}
	return verifySum(&files, file)
}

// VerifySumOf is VerifySum for anybody who has the task, and the content of the file that lists
// its keys if it sums up by them.
func VerifySumOf(t *learner.Task, catalogue []byte, file string) (api.SumFile, error) {
	files := datadir.Files{Task: t, Config: datadir.DefaultConfig(t)}
	var err error
	if files.Catalogue, err = datadir.ReadCatalogue(t, catalogue); err != nil {
		return api.SumFile{}, err
	}
	return verifySum(&files, file)
}

// verifySum is VerifySum. The files may be without an identity.
func verifySum(files *datadir.Files, file string) (api.SumFile, error) {
	if len(files.Task.Sums.Recipes) == 0 {
		return api.SumFile{}, noSums(files)
	}
	plan, err := datadir.Plan(files.Task, files.Catalogue)
	if err != nil {
		return api.SumFile{}, err
	}
	v, err := plan.Verify(file)
	if err != nil {
		return api.SumFile{}, fmt.Errorf("node: %w", err)
	}
	told := api.SumFile{Sum: plan.DescribeResult(v.Sum, v.Recipe, v.Result, v.Voters, file), ListChecked: v.List != nil}
	if told.Price, err = files.Price(v.Sum.Mechanism); err != nil {
		return api.SumFile{}, err
	}
	if v.List != nil && files.Key != nil {
		key, err := datadir.SigningKey(files.Key)
		if err != nil {
			return api.SumFile{}, err
		}
		if _, listed := v.List.Find(sums.Identity(key.Public().(ed25519.PublicKey))); listed {
			told.Part = api.PartListed
		}
	}
	return told, nil
}

// MemberKeys says which keys a member of a committee keeps in its directory, or in that
// of a relay. The directory may be in use.
func MemberKeys(dir string) (api.MemberKeys, error) {
	self, err := datadir.PeerOf(dir)
	if err != nil {
		return api.MemberKeys{}, err
	}
	held, err := summing.Holdings(filepath.Join(dir, datadir.CommitteeDir))
	if err != nil {
		return api.MemberKeys{}, fmt.Errorf("node: %w", err)
	}
	keys := api.MemberKeys{Peer: self.String(), Sums: []api.KeysForSum{}}
	plan := new(summing.Plan)
	if files, err := datadir.Read(dir); err == nil { // a relay's directory has no task
		if plan, err = datadir.Plan(files.Task, files.Catalogue); err != nil {
			return api.MemberKeys{}, err
		}
		keys.Member = slices.Contains(files.Task.Sums.Committee, keys.Peer)
	}
	for _, h := range held {
		k := api.KeysForSum{ID: h.Name, Erased: h.Over, Contributions: h.Contributions}
		if !h.Made.IsZero() {
			k.Made = h.Made.Unix()
		}
		if s, recipe := plan.Named(h.Name); s != nil {
			k.Recipe, k.Epoch, k.Round = plan.Kind(recipe), s.Epoch, s.Round
		}
		keys.Sums = append(keys.Sums, k)
	}
	return keys, nil
}
