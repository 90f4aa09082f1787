package node

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/summing"
	"p2pnode/privacy"
	"p2pnode/storage"
	"p2pnode/sums"
)

// population is nodes of a task with private sums: the committee comes first.
type populace struct {
	t     *testing.T
	task  *learner.Task
	nodes []*Node
	stops []func()
}

// committeeTask is lineTask with sums by a committee whose identities are in the files.
func committeeTask(t *testing.T, keys []string) *learner.Task {
	t.Helper()
	task := lineTask()
	task.Learner = "sums"
	task.Release.Epsilon = 10 // as many records as here say little with more noise
	task.Sums = learner.Sums{
		Recipes:   []learner.Recipe{{Kind: "mean", Share: 1}},
		Colluding: 1, Contributors: 100, Records: 1000, Epochs: 1, CloseSeconds: 20,
	}
	for _, file := range keys {
		id, err := datadir.NewIdentity(file)
		if err != nil {
			t.Fatal(err)
		}
		task.Sums.Committee = append(task.Sums.Committee, id.String())
	}
	return task
}

const committeeSize = 4

// newPopulace makes directories for a committee and for devices with records, all of whom
// are near one line.
func newPopulace(t *testing.T, devices int, change func(*learner.Task)) *populace {
	t.Helper()
	base := t.TempDir()
	var keys []string
	for i := range committeeSize {
		keys = append(keys, filepath.Join(base, fmt.Sprintf("member%d.key", i)))
	}
	p := &populace{t: t, task: committeeTask(t, keys)}
	change(p.task)
	random := rand.New(rand.NewPCG(15, 1))
	for i := range committeeSize + devices {
		c := datadir.DefaultConfig(p.task)
		c.Listen, c.MDNS = []string{"/ip4/127.0.0.1/tcp/0"}, false
		made := datadir.New{Task: p.task, Config: c}
		if i < committeeSize {
			made.Identity = keys[i]
		}
		dir := filepath.Join(base, fmt.Sprintf("node%d", i))
		if err := datadir.Make(dir, made); err != nil {
			t.Fatal(err)
		}
		n := openNode(t, dir)
		if i >= committeeSize {
			if err := n.Add(t.Context(), alike(random, 30)); err != nil {
				t.Fatal(err)
			}
		}
		p.nodes, p.stops = append(p.nodes, n), append(p.stops, func() {})
	}
	return p
}

// alike are records of one line for everybody, which 30 of them tell only roughly.
func alike(random *rand.Rand, m int) []learner.Record {
	out := make([]learner.Record, m)
	for i := range out {
		a, b := 2*random.Float64()-1, 2*random.Float64()-1
		y := 1.5*a - b + 0.5 + random.NormFloat64()
		x := []float64{a, b, 1}
		norm := max(1, math.Sqrt(a*a+b*b))
		x[0], x[1] = a/norm, b/norm
		out[i] = learner.Record{X: x, Y: min(max(y, -3), 3)}
	}
	return out
}

// run starts a node that knows the last node of the committee.
func (p *populace) run(i int) {
	p.t.Helper()
	n := p.nodes[i]
	p.stops[i] = start(p.t, n)
	last := p.nodes[committeeSize-1]
	if i == committeeSize-1 {
		return
	}
	addrs, err := last.Addrs(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := n.AddPeer(p.t.Context(), addrs[0]); err != nil {
		p.t.Fatal(err)
	}
}

// timely makes populations whose sums take contributions for so many seconds, until one
// that was not too slow. A busy machine needs many; a short run tries few first.
func timely(populate func(seconds float64) *populace, slow func(*populace) bool) (p *populace) {
	windows := []float64{20}
	if testing.Short() {
		windows = []float64{5, 15, 60}
	}
	for i, seconds := range windows {
		if i > 0 {
			p.stop()
		}
		if p = populate(seconds); !slow(p) {
			break
		}
	}
	return p
}

// open starts all nodes, the first one last: then the committee is complete, and the sum
// opens. By then the devices are connected.
func (p *populace) open() {
	p.t.Helper()
	p.run(committeeSize - 1)
	for i := range p.nodes {
		if i != committeeSize-1 && i != 0 {
			p.run(i)
		}
	}
	for _, n := range p.nodes[committeeSize:] {
		require.Eventually(p.t, "the devices are connected", func() bool { return status(p.t, n).Connections > 0 })
	}
	p.run(0)
}

// late reports, once a sum is over, whether a device is not in it.
func (p *populace) late() bool { return p.lateIn(1) }

// lateIn reports it of so many sums.
func (p *populace) lateIn(sums int) bool {
	p.t.Helper()
	return slices.ContainsFunc(p.nodes[committeeSize:], func(n *Node) bool {
		require.Eventually(p.t, "the sums are over", func() bool { return status(p.t, n).Sums.Known >= sums })
		return status(p.t, n).Sums.Listed < sums
	})
}

// stop stops all nodes.
func (p *populace) stop() {
	for _, stop := range p.stops {
		stop()
	}
}

// opened is how many sums of a recipe a node has the results of.
func (p *populace) opened(i, recipe int) int {
	k := p.nodes[i].sums
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.walks[recipe].opened)
}

// Nodes make the private sums of an epoch: those with records pay for them and are in them, one
// without has their results for nothing, and what they say is in their personal models. It is there
// after a restart without anybody.
func TestNodesMakeAPrivateSum(t *testing.T) {
	t.Parallel()
	const devices, rounds = 6, 2
	p := timely(func(seconds float64) *populace {
		p := newPopulace(t, devices, func(task *learner.Task) { task.Sums.CloseSeconds = seconds })
		p.open()
		return p
	}, func(p *populace) bool { return p.lateIn(rounds) })
	for i := range p.nodes {
		require.Eventually(t, fmt.Sprintf("node %d has the result", i), func() bool { return p.opened(i, 0) == 1 })
	}
	for i, n := range p.nodes {
		paid, told := len(n.ledger.Contributions()), n.sums.walks[0].opened[0]
		if contributes := i >= committeeSize; min(paid, 1) != len(n.ledger.Spending()) || contributes != (paid == rounds) || told.listed != contributes || told.records != devices*24 {
			t.Errorf("node %d paid for %d sums and spent %+v; the sum: listed %v, of %d records", i, paid, n.ledger.Spending(), told.listed, told.records)
		}
		p.described(i, rounds, paid == rounds)
	}

	// A record that comes later begins a cohort of its own.
	n := p.nodes[committeeSize]
	if err := n.Add(t.Context(), alike(rand.New(rand.NewPCG(15, 2)), 1)); err != nil {
		t.Fatal(err)
	}
	if cohorts, err := n.cohorts(); err != nil || len(cohorts) != 2 || cohorts[0].Left != 0 {
		t.Errorf("cohorts: %+v, %v", cohorts, err)
	}

	// Offline, from its disk, a node knows what all know.
	for _, i := range []int{1, len(p.nodes) - 1} {
		p.stops[i]()
		dir := p.nodes[i].dir
		if err := p.nodes[i].Close(); err != nil {
			t.Fatal(err)
		}
		p.nodes[i] = openNode(t, dir)
		m, err := p.nodes[i].Personal(t.Context())
		if err != nil || m.Known == nil || p.opened(i, 0) != 1 {
			t.Fatalf("node %d after a restart: %+v, %v", i, m, err)
		}
		// With the noise of these sums the error of a member is .22, with a standard deviation
		// of .08, and that of a device .46, with .01 (10 runs; false failures: 1e-15). A model
		// that knows nothing has 1.36.
		truth := []float64{1.5, -1, 0.5}
		if got := p.task.Score(m.Theta, slices.Values(exactly(truth))).Error; !(got < 0.9) {
			t.Errorf("node %d: error %v of the line that all share", i, got)
		}
	}
	if files, err := os.ReadDir(filepath.Join(p.nodes[0].dir, datadir.CommitteeDir)); err != nil || len(files) != rounds {
		t.Errorf("a member keeps %v, %v", files, err)
	}
}

// An old copy of a directory learns from the committee that this node contributed, and
// stops for good.
func TestOldCopyOfAContributor(t *testing.T) {
	t.Parallel()
	const last = committeeSize + 1
	var old string
	p := timely(func(seconds float64) *populace {
		p := newPopulace(t, 2, func(task *learner.Task) {
			task.Sums.Epochs, task.Sums.CloseSeconds = 100, seconds // so it is in one of them
		})
		dir := p.nodes[last].dir
		if err := p.nodes[last].Close(); err != nil {
			t.Fatal(err)
		}
		old = copyDir(t, dir)
		p.nodes[last] = openNode(t, dir)
		p.open()
		return p
	}, (*populace).late)
	require.Eventually(t, "its contribution is in the sum", func() bool { return status(t, p.nodes[last]).Sums.Listed == 1 })
	p.stops[last]()
	if err := p.nodes[last].Close(); err != nil {
		t.Fatal(err)
	}

	p.nodes[last] = openNode(t, old)
	n := p.nodes[last]
	addrs, err := p.nodes[committeeSize-1].Addrs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.AddPeer(t.Context(), addrs[0]); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it is known at the next start
		err := n.Run(t.Context())
		if !errors.Is(err, ErrRolledBack) || !strings.Contains(err.Error(), "a contribution of this node is in a private sum") || !strings.Contains(err.Error(), "stop the other copy") {
			t.Fatalf("an old copy ran: %v", err)
		}
		if s := status(t, n); !s.ForeignSum || s.Sums.Paid != 0 {
			t.Errorf("it says %+v", s)
		}
	}
}

// What a member must not lose, show or put back is in no backup, and a restore that the
// owner confirms erases it. A member that was stopped before it erased its keys goes on.
func TestMemberKeepsToItself(t *testing.T) {
	t.Parallel()
	var root, id string
	var keys api.MemberKeys
	var secret []byte
	p := timely(func(seconds float64) *populace {
		p := newPopulace(t, 1, func(task *learner.Task) { task.Sums.CloseSeconds = seconds })
		p.open()
		return p
	}, func(p *populace) bool { // the sum was closed before all was seen that a member has until then
		member := p.nodes[0]
		sum := func() api.Sum { return status(t, member).Sums.List[0] }
		require.Eventually(t, "the sum is open", func() bool {
			s := sum()
			return s.State == api.SumOpen && s.Duty != nil || s.State != api.SumOpen && s.State != api.SumWaiting
		})
		if s := sum(); s.State == api.SumOpen && s.Dies != s.Closes+3600 {
			t.Errorf("a sum that closes at %d is dead at %d, not an hour later", s.Closes, s.Dies)
		}
		root, id = filepath.Join(member.dir, datadir.CommitteeDir), sum().ID[:32]
		var err error
		keys, err = MemberKeys(member.dir)
		require.NoError(t, err)
		secret, err = os.ReadFile(filepath.Join(root, id, "keys"))
		return err != nil || sum().State != api.SumOpen
	})
	member := p.nodes[0]
	if !keys.Member || keys.Peer != member.self.String() || len(keys.Sums) != 1 || keys.Sums[0].ID != id || keys.Sums[0].Made == 0 || keys.Sums[0].Erased || keys.Sums[0].Recipe != "mean" || len(secret) < 48 {
		t.Fatalf("a member has %+v, and %d bytes of keys", keys, len(secret))
	}
	var copied bytes.Buffer
	if err := member.Backup(t.Context(), &copied); err != nil || bytes.Contains(copied.Bytes(), secret[8:]) || bytes.Contains(copied.Bytes(), secret[16:48]) {
		t.Errorf("a backup holds a member's keys, %v", err)
	}
	require.Eventually(t, "the sum is over", func() bool {
		k, err := MemberKeys(member.dir)
		return err == nil && k.Sums[0].Erased && k.Sums[0].Made == 0 && p.opened(0, 0) == 1
	})
	p.stops[0]()
	if err := member.Close(); err != nil {
		t.Fatal(err)
	}

	// As if it had been killed before it erased.
	if err := errors.Join(os.Remove(filepath.Join(root, id, "over")), os.WriteFile(filepath.Join(root, id, "keys"), secret, 0o600)); err != nil {
		t.Fatal(err)
	}
	p.nodes[0] = openNode(t, member.dir)
	p.run(0)
	require.Eventually(t, "it goes on", func() bool {
		d := p.nodes[0].desk()
		return d != nil && d.State(p.only().ID).Duty != nil
	})
	p.stops[0]()
	if err := p.nodes[0].Close(); err != nil {
		t.Fatal(err)
	}

	refused := errors.New("no")
	if _, err := datadir.Restore(member.dir, "", func(int) error { return refused }); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, id, "keys")); err != nil {
		t.Errorf("a restore that was refused erased the keys: %v", err)
	}
	if _, err := datadir.Restore(member.dir, "", nil); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("after a restore %v are left, %v", left, err)
	}
}

// only is the task's only sum.
func (p *populace) only() *sums.Sum {
	p.t.Helper()
	s, err := p.nodes[0].sums.plan.Sum(0, 1, 1)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// described checks what a node whose only epoch is over says of it.
func (p *populace) described(i, rounds int, listed bool) {
	p.t.Helper()
	n, paid, part := p.nodes[i], 0, api.PartNone
	if listed {
		paid, part = rounds, api.PartListed
	}
	got, err := n.Sums(p.t.Context())
	if err != nil || got.All != rounds || got.Known != rounds || got.Paid != paid || got.Listed != paid || got.OnlyFetches || len(got.List) != rounds || len(got.Committee.Members) != committeeSize {
		p.t.Fatalf("node %d: %+v, %v", i, got, err)
	}
	s, whole := got.List[rounds-1], float64(rounds)
	if s.State != api.SumHere || s.Part != part || s.People != len(p.nodes)-committeeSize || whole*s.Price < 0.999 || whole*s.Price > 1 || len(s.Signed) != 2 || len(s.Voted) != 3 {
		p.t.Errorf("node %d: %+v", i, s)
	}
	checked, err := VerifySum(n.dir, s.File)
	if err != nil || !checked.ListChecked || checked.ID != s.ID || checked.Digest != s.Digest || checked.Part != part {
		p.t.Errorf("node %d: %+v, %v", i, checked, err)
	}
}

// exactly are records of a line without noise.
func exactly(theta []float64) (list []learner.Record) {
	for _, a := range []float64{-0.7, 0.7} {
		for _, b := range []float64{-0.7, 0.7} {
			list = append(list, learner.Record{X: []float64{a, b, 1}, Y: theta[0]*a + theta[1]*b + theta[2]})
		}
	}
	return list
}

// A recipe of rounds goes from one sum to the next, also across a restart in between, and
// sums go beside releases.
func TestNodesWalkThroughRounds(t *testing.T) {
	t.Parallel()
	p := newPopulace(t, 3, func(task *learner.Task) {
		task.Learner = "personal"
		task.Sums.Recipes = []learner.Recipe{{Kind: "gradient", Share: 0.5, Rounds: 2}}
		task.Sums.CloseSeconds = 3
	})
	p.run(committeeSize - 1)
	for i := range p.nodes {
		if i != committeeSize-1 {
			p.run(i)
		}
	}
	last := len(p.nodes) - 1
	require.Eventually(t, "the first round is over", func() bool { return p.round(last) > 1 || p.opened(last, 0) == 1 })
	p.stops[last]()
	dir := p.nodes[last].dir
	if err := p.nodes[last].Close(); err != nil {
		t.Fatal(err)
	}
	p.nodes[last] = openNode(t, dir)
	p.run(last)
	for i := range p.nodes {
		require.Eventually(t, "all rounds are over", func() bool { return p.opened(i, 0) == 1 })
	}
	want := p.nodes[0].sums.walks[0].opened[0].values
	for i, n := range p.nodes {
		if got := n.sums.walks[0].opened[0].values; !slices.Equal(got, want) || len(got) != p.task.Dimension() {
			t.Errorf("node %d came to %v, another to %v", i, got, want)
		}
	}
}

// round is the round of a recipe that a node waits for.
func (p *populace) round(i int) uint64 {
	k := p.nodes[i].sums
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.walks[0].Round
}

// A node adds to no sum unless its budget pays for all rounds of that recipe beside those of
// the recipes before it. The task's own budget pays for all of them.
func TestRecipesShareABudget(t *testing.T) {
	t.Parallel()
	task := flowTask(t)
	for _, c := range []struct {
		prices []float64
		want   []int
	}{
		{[]float64{0.2, 0.1, 0.05}, []int{0, 1, 2}}, {[]float64{0.5, 0.25, 0}, []int{0, 1, 2}}, {[]float64{0.5, 0.3, 0.1}, []int{0, 2}},
		{[]float64{1.1, 0.3, 0.1}, []int{1, 2}}, {[]float64{1.1, 0.6, 0.6}, nil},
	} {
		plan, err := datadir.Plan(task, task.Hashed())
		require.NoError(t, err)
		if got := plan.Affordable(c.prices); !slices.Equal(got, c.want) {
			t.Errorf("of prices %v, recipes %v are paid, not %v", c.prices, got, c.want)
		}
	}
	for _, shares := range [][]float64{{0.2, 0.2, 0.1}, {0.3, 0.3, 0.4}, {0.1, 0.1, 0.8}} {
		for i := range shares {
			task.Sums.Recipes[i].Share = shares[i]
		}
		plan, prices := pricesOf(t, task)
		if got := plan.Affordable(prices); len(got) != len(shares) {
			t.Errorf("of shares %v with prices %v, only recipes %v are paid", shares, prices, got)
		}
	}
}

// pricesOf returns what each recipe of a task takes of its own budget.
func pricesOf(t *testing.T, task *learner.Task) (*summing.Plan, []float64) {
	plan, err := datadir.Plan(task, task.Hashed())
	require.NoError(t, err)
	files := datadir.Files{Task: task, Config: datadir.DefaultConfig(task), Catalogue: task.Hashed()}
	prices, err := plan.Prices(files.Price)
	require.NoError(t, err)
	return plan, prices
}

// A small budget and wide sums, whose rounding costs more than that of others, are no exception:
// neither for one recipe, nor for two of different widths, nor beside releases.
func TestSmallBudgetPaysForWideSums(t *testing.T) {
	t.Parallel()
	for _, buckets := range []int{1024, 1 << 17} {
		for _, epsilon := range []float64{1, 0.1, 0.01} {
			for _, shares := range [][]float64{{1, 0}, {0, 1}, {0.5, 0.5}, {0.01, 0.99}, {0, 0.5}} {
				task := &learner.Task{
					Name:     "wide",
					Features: []learner.Feature{{Name: "a", Kind: "number", Min: -5, Max: 1}, {Name: "k", Kind: "key", Buckets: buckets}},
					Target:   learner.Target{Name: "y", Min: 1, Max: 5},
				}
				keys := learner.Keys{"release.epsilon": true, "sums.committee": true, "sums.recipes": true}
				task.Sums.Committee, task.Release.Epsilon = flowTask(t).Sums.Committee, epsilon
				for i, kind := range []string{"mean", "items"} {
					if shares[i] > 0 {
						keys[fmt.Sprintf("sums.recipes[%d].kind", len(task.Sums.Recipes))] = true
						task.Sums.Recipes = append(task.Sums.Recipes, learner.Recipe{Kind: kind, Share: shares[i]})
					}
				}
				if shares[0]+shares[1] < 1 {
					task.Learner, keys["learner"] = "diffusion", true
				}
				task = task.Complete(keys, learner.Expected{})
				require.NoError(t, task.Validate())
				plan, prices := pricesOf(t, task)
				left := 1.0
				if task.Learner != "sums" {
					left = task.Sums.Share()
				}
				for i, r := range task.Sums.Recipes {
					all := prices[i] * float64(plan.Recipe(i).Rounds())
					if all > left || all < 0.99*r.Share || all > 1.01*r.Share {
						t.Errorf("%d buckets, epsilon %g: %s takes %v of the budget, of which %v is left for a share of %v", buckets, epsilon, r.Kind, all, left, r.Share)
					}
					left -= all
				}
				s, err := plan.Sum(0, 1, 1)
				require.NoError(t, err)
				scale, err := plan.Recipe(0).Scale(privacy.Budget{Epsilon: epsilon, Delta: task.Release.Delta})
				require.NoError(t, err)
				// The first of two could always be paid, so it is the same sum as ever.
				if kept := s.Terms.Std == scale*(1+1e-6); shares[0] > 0 && shares[1] > 0 && !kept {
					t.Errorf("%d buckets, epsilon %g: the first sum of shares %v has other noise than ever", buckets, epsilon, shares)
				}
			}
		}
	}
}

// Records that come between the rounds of an epoch wait for the next one.
func TestLateRecordsWaitForAnEpoch(t *testing.T) {
	t.Parallel()
	p := newPopulace(t, 1, func(task *learner.Task) { task.Sums.Epochs = 2 })
	n := p.nodes[committeeSize]
	payers := func(epoch, round uint64) []privacy.Cohort { return p.payers(committeeSize, epoch, round) }
	p.stand(committeeSize, api.SumsToCome, 30)
	paid := n.sums.paid
	n.sums.paid = n.sums.plan.Affordable([]float64{0.6}) // which a budget has once, and not for both rounds
	if got := payers(1, 1); got != nil {
		t.Errorf("cohorts %v pay for a round without the budget for the next one", got)
	}
	p.stand(committeeSize, api.SumsNever, 30)
	n.sums.paid = paid
	if got := payers(1, 2); got != nil {
		t.Errorf("without the first round, cohorts %v pay for the second", got)
	}
	s := p.only()
	p.pay(committeeSize, payers(1, 1))
	require.NoError(t, n.Add(t.Context(), alike(rand.New(rand.NewPCG(15, 2)), 1)))
	if second, next := payers(1, 2), payers(2, 1); !slices.Equal(second, []privacy.Cohort{1}) || !slices.Equal(next, []privacy.Cohort{2}) {
		t.Errorf("cohorts %v pay for the second round, %v for the next epoch", second, next)
	}
	p.stand(committeeSize, api.SumsPaid, 30)
	p.stand(committeeSize, api.SumsToCome, 1)
	require.NoError(t, n.sums.take(n.sums.walks[0], s, &summing.Outcome{Paid: true}))
	p.stand(committeeSize, api.SumsOver, 30)
	p.stand(committeeSize, api.SumsToCome, 1)
}

// While records are stored nobody pays: those that join a cohort would pay for a sum that they are
// not in, and be in none ever.
func TestNobodyPaysDuringAnImport(t *testing.T) {
	t.Parallel()
	p := newPopulace(t, 1, func(task *learner.Task) { task.Sums.Epochs = 2 })
	n, taken := p.nodes[committeeSize], 0
	file := "a,b,y\n" + strings.Repeat("0.5,0.25,1\n", 20)
	_, err := n.Import(t.Context(), strings.NewReader(file), api.ImportOptions{Room: func() error {
		adding := n.contributionTo(p.only(), n.sums.walks[0]).Adding
		if taken++; taken == 10 && adding.TryLock() {
			defer adding.Unlock()
			p.pay(committeeSize, p.payers(committeeSize, 1, 1))
		}
		return nil
	}})
	require.NoError(t, err)
	p.stand(committeeSize, api.SumsToCome, 50)
	if got := p.payers(committeeSize, 1, 1); !slices.Equal(got, []privacy.Cohort{1}) {
		t.Errorf("cohorts %v pay after the import", got)
	}
}

// payers are the cohorts of a node that may pay for a sum of the first recipe.
func (p *populace) payers(i int, epoch, round uint64) []privacy.Cohort {
	p.t.Helper()
	n := p.nodes[i]
	s, err := n.sums.plan.Sum(0, epoch, round)
	require.NoError(p.t, err)
	list, err := n.contributionTo(s, n.sums.walks[0]).Cohorts()
	require.NoError(p.t, err)
	return list
}

// pay lets cohorts of a node pay for the sum of the only recipe that comes first.
func (p *populace) pay(i int, cohorts []privacy.Cohort) {
	p.t.Helper()
	s := p.only()
	_, err := p.nodes[i].ledger.Contribute(storage.Contribution{Sum: storage.SumID(s.ID), Epoch: 1, Mechanism: s.Mechanism, Cohorts: cohorts}, func([]privacy.Cohort) ([]byte, error) {
		return []byte("masked"), nil
	})
	require.NoError(p.t, err)
}

// A record that pays is in the sum: those that a sum has no room for wait for the next epoch.
func TestRecordsThatASumDoesNotTakeWait(t *testing.T) {
	t.Parallel()
	p := newPopulace(t, 1, func(task *learner.Task) { task.Sums.Epochs, task.Sums.Records = 3, 20 })
	n := p.nodes[committeeSize]
	require.NoError(t, n.Add(t.Context(), alike(rand.New(rand.NewPCG(15, 2)), 25)))
	counts, err := n.records.count()
	require.NoError(t, err)
	if want := map[privacy.Cohort]int{1: 20, 2: 20, 3: 4}; !maps.Equal(counts.Slots, want) {
		t.Errorf("training records by cohort are %v, want %v", counts.Slots, want)
	}
	if got := p.payers(committeeSize, 1, 1); !slices.Equal(got, []privacy.Cohort{1}) {
		t.Errorf("cohorts %v pay for the first epoch", got)
	}
	p.pay(committeeSize, []privacy.Cohort{1})
	p.stand(committeeSize, api.SumsPaid, 25)
	p.stand(committeeSize, api.SumsToCome, 30)
	if got := p.payers(committeeSize, 2, 1); !slices.Equal(got, []privacy.Cohort{2}) {
		t.Errorf("cohorts %v pay for the second epoch", got)
	}
	// Of a record that was held out and is deleted there is no slot that takes another one's place.
	require.NoError(t, n.Delete(t.Context(), []uint64{learner.Fold}))
	if _, slots, err := n.contributionTo(p.only(), n.sums.walks[0]).Vector([]privacy.Cohort{1}); err != nil || slots != 20 {
		t.Errorf("%d records of a cohort are in the sum, want 20, %v", slots, err)
	}
	// An earlier version made larger cohorts: then the sum takes what it can of one.
	n.files.Task.Sums.Records = 10
	if got := p.payers(committeeSize, 2, 1); !slices.Equal(got, []privacy.Cohort{2}) {
		t.Errorf("cohorts %v pay for a sum of fewer records", got)
	}
	n.files.Task.Sums.Records = 24
	if got := p.payers(committeeSize, 2, 1); !slices.Equal(got, []privacy.Cohort{2, 3}) {
		t.Errorf("cohorts %v pay for a sum that has room for both", got)
	}
}

// stand checks how many records of a node have this to do with private sums.
func (p *populace) stand(i int, want api.SumsOfRecord, records int) {
	p.t.Helper()
	got := 0
	for _, r := range listed(p.t, p.nodes[i], false) {
		if r.Sums == want && r.UsedUp == (want == api.SumsOver || want == api.SumsNever) {
			got++
		}
	}
	if got != records {
		p.t.Errorf("%d records have private sums %q, want %d", got, want, records)
	}
}

// After a sum that never has a result a node goes on with the next epoch.
func TestDeadSumEndsItsEpoch(t *testing.T) {
	t.Parallel()
	p := newPopulace(t, 1, func(task *learner.Task) {
		task.Sums.Recipes = []learner.Recipe{{Kind: "gradient", Share: 1, Rounds: 3}}
		task.Sums.Epochs = 2
	})
	k := p.nodes[committeeSize].sums
	w := k.walks[0]
	s, err := k.next(w)
	if err != nil {
		t.Fatal(err)
	}
	require.NoError(t, k.take(w, s, &summing.Outcome{Paid: true}))
	if s, err = k.next(w); err != nil || s == nil || s.Epoch != 2 || s.Round != 1 {
		t.Fatalf("the next sum is %+v, %v", s, err)
	}
	got, err := p.nodes[committeeSize].Sums(t.Context())
	if err != nil || got.All != 6 || got.Known != 0 || len(got.List) != 2 || got.List[0].State != api.SumDead || got.List[1].State != api.SumWaiting {
		t.Errorf("%+v, %v", got, err)
	}
	for i, n := range p.nodes {
		if f, err := n.Leave(t.Context()); err != nil || f.SumsWait != (i < committeeSize) {
			t.Errorf("node %d leaves: %+v, %v", i, f, err)
		}
	}
	require.NoError(t, k.take(w, s, &summing.Outcome{}))
	if s, err = k.next(w); err != nil || s != nil {
		t.Errorf("after the last epoch comes %+v, %v", s, err)
	}
	p.stand(committeeSize, api.SumsNever, 30)
}

// After a restart a node goes on with the sums of each recipe, also where those of the one before
// are all over.
func TestEachRecipeGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	p := newPopulace(t, 1, func(task *learner.Task) {
		task.Sums.Recipes = []learner.Recipe{{Kind: "gradient", Share: 0.5, Rounds: 2}, {Kind: "mean", Share: 0.5}}
	})
	n := p.nodes[committeeSize]
	kept := filepath.Join(n.dir, datadir.ResultsDir, strings.Replace(summing.ResultFile(p.only().ID), ".sum", ".dead", 1))
	require.NoError(t, n.Close(), os.MkdirAll(filepath.Dir(kept), 0o700), os.WriteFile(kept, nil, 0o600))
	n = openNode(t, n.dir)
	var got []string
	known, err := n.Sums(t.Context())
	for _, s := range known.List {
		got = append(got, fmt.Sprint(s.Recipe, " ", s.State))
	}
	if want := []string{"gradient dead", "mean waiting"}; err != nil || known.All != 4 || !slices.Equal(got, want) {
		t.Errorf("%d sums, %q, %v; want %q", known.All, got, err, want)
	}
	p.nodes[committeeSize] = n
	p.stand(committeeSize, api.SumsToCome, 30)
}
