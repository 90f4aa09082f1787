package audit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// path is a release path under audit, and what the auditor knows about it.
type path struct {
	task         *learner.Task
	policy       privacy.Policy
	releases     int                     // number that an agent makes before its budget is used
	slots, batch int                     // number of records, and how many of them a release takes
	norm         func([]float64) float64 // the norm in which gradients are clipped
	laws         []law                   // law of the noise of each release
	door         door
}

// door answers one query with noise from a seed.
type door func(seed uint64, q *learner.Query) privacy.Answer

// realDoor is the door of package privacy, except for the source of its noise.
func realDoor(seed uint64, q *learner.Query) privacy.Answer {
	return privacy.NewSeededNoise(seed).Answer(q.Mechanism, q.Sums)
}

// newPath returns the product's path for a design. batch is slots if every record takes
// part.
func newPath(name string, d privacy.Design, slots int) (*path, error) {
	task, err := of(name, extremeTask(d.Dimension))
	if err != nil {
		return nil, err
	}
	policy, err := d.Policy()
	if err != nil {
		return nil, err
	}
	p := &path{task: task, policy: policy, slots: slots, batch: slots, norm: clipNorm(d.Noise), door: realDoor}
	if d.Batch > 0 {
		p.batch = d.Batch
	}
	p.releases, err = admitted(policy)
	p.laws = laws(policy, p.releases)
	return p, err
}

// admitted is how many releases the account lets a cohort pay for. That depends on no
// record, so it is asked once for all runs.
func admitted(p privacy.Policy) (int, error) {
	account, err := privacy.NewAccount(p)
	if err != nil {
		return 0, err
	}
	for n := 0; ; n++ {
		m, ok := p.Next(n)
		debits := account.Admit(m, []privacy.Cohort{cohort})
		if !ok || len(debits) == 0 {
			return n, nil
		}
		if err := account.Apply(debits[0]); err != nil {
			return 0, err
		}
	}
}

// laws returns the law of the noise of each release.
func laws(p privacy.Policy, releases int) []law {
	laws := make([]law, releases)
	for k := range laws {
		m, _ := p.Next(k)
		laws[k] = lawOf(m)
	}
	return laws
}

// worlds returns the two data sets with the canary; in world 1 its target is positive.
func (p *path) worlds(c canary) *[2]world {
	return &[2]world{c.newWorld(-extreme, p.slots, p.batch, p.norm), c.newWorld(extreme, p.slots, p.batch, p.norm)}
}

// wakes is how often an agent that has made k releases may be woken before it must have
// asked again. A round begins by listening, and an agent whose neighbours have not gone
// on with it waits one more deadline for each square of the rounds that it is ahead.
func wakes(k int) int { return 4 + int(math.Sqrt(float64(k))) }

// score lets an agent make all its releases in world b, and returns the log-likelihood
// ratio of world 1 over world 0.
func (p *path) score(worlds *[2]world, b int, random *rand.Rand) (float64, error) {
	agent, err := newAgent(p.task, p.policy, random)
	if err != nil {
		return 0, err
	}
	if err := agent.Records(worlds[b].records, nil); err != nil {
		return 0, err
	}
	out := agent.Neighbours(0, []learner.Edge{{Peer: "auditor", Weight: 1, Live: true}})
	var score float64
	for k, l := range p.laws {
		var now time.Duration
		for range wakes(k) {
			now = out.Next
			if out = agent.Tick(now); out.Ask != nil || out.Next == learner.Never {
				break
			}
		}
		if out.Ask == nil {
			return 0, fmt.Errorf("audit: the agent asked for %d releases, its account admits %d", k, p.releases)
		}
		a := p.door(random.Uint64(), out.Ask)
		score += l.ratio(a.Sum, worlds)
		out = agent.Released(now, a)
	}
	return score, nil
}

// games returns the game of each canary.
func (p *path) games() (all []game) {
	for _, c := range canaries(p.task.Dimension()) {
		worlds := p.worlds(c)
		all = append(all, func(b int, random *rand.Rand) (float64, error) { return p.score(worlds, b, random) })
	}
	return all
}

// game plays once in world b, and returns the log-likelihood ratio of world 1 over
// world 0.
type game func(b int, random *rand.Rand) (float64, error)

// scores plays runs games in each world, on all processors. The same seed gives the
// same scores, whatever their number. done is called after each game.
func (g game) scores(ctx context.Context, runs int, seed uint64, done func()) ([2][]float64, error) {
	scores := [2][]float64{make([]float64, runs), make([]float64, runs)}
	var next atomic.Int64
	workers, ctx := errgroup.WithContext(ctx)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() error {
			for {
				number := int(next.Add(1)) - 1
				if number >= 2*runs {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				b, i := number%2, number/2
				score, err := g(b, rand.New(rand.NewPCG(seed, uint64(number))))
				if err != nil {
					return err
				}
				scores[b][i] = score
				done()
			}
		})
	}
	return scores, workers.Wait()
}
