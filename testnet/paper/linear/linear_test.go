package linear

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"p2pnode/privacy/accountant"
	"p2pnode/testnet"
	"p2pnode/testnet/paper"
	"p2pnode/testnet/sim"
)

// The plain loop and the agents are two programs for one objective: without noise
// both come to its minimiser.
func TestLoopAndAgentsReachTheMinimiser(t *testing.T) {
	d := draw(1, 30, 3)
	judge := d.pose(2, d.unit(false))
	want, err := judge.minimiser()
	if err != nil {
		t.Fatal(err)
	}
	agents, err := judge.descend(nil, 200, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range (reading{mu: 2}).descend(d, 200, 1) {
		if a, b := floats.Distance(m, want[i], 2), floats.Distance(agents[i], want[i], 2); a > 1e-3 || b > 1e-3 {
			t.Errorf("person %d: the loop ends %g and the agents %g from the minimiser", i, a, b)
		}
	}
}

// A sum of m losses is m times their mean, so for one person's step it is the same
// as m times mu. Both have one m here.
func TestSumIsMeanTimesRecords(t *testing.T) {
	d := draw(1, 5, 3)
	for i := range d.people {
		e := &d.people[i].train
		e.x, e.y = e.x[:10], e.y[:10]
	}
	sum, mean := reading{mu: 0.1, sum: true}.descend(d, 5, 1), reading{mu: 1}.descend(d, 5, 1)
	for i := range sum {
		if floats.Distance(sum[i], mean[i], 2) > 1e-12 {
			t.Errorf("person %d: %v and %v", i, sum[i], mean[i])
		}
	}
}

// Every update sends a model to each neighbour, an activation of ADMM four; the start
// is sent once.
func TestVectorsAreCounted(t *testing.T) {
	const n, rounds = 20, 4
	d := draw(3, n, 4)
	numbers, err := figure1(3, n, 4, rounds)
	if err != nil {
		t.Fatal(err)
	}
	last := func(name string) float64 { v := numbers[name]; return v[len(v)-1] }
	for name, want := range map[string]float64{
		byPaper + " iterations": n * rounds, byPaper + " broadcasts": n * (1 + rounds), byPaper + " vectors": (1 + rounds) * d.degree(),
		byADMM + " iterations": n * rounds, byADMM + " vectors": d.degree() + 4*n*rounds, byADMM + " broadcasts": d.degree() + 4*n*rounds,
	} {
		if got := last(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if numbers[byPaper+" vectors"][0] != d.degree() || numbers[byAgents+" vectors"][0] != d.degree() {
		t.Errorf("the start is %v and %v vectors, want %v", numbers[byPaper+" vectors"][0], numbers[byAgents+" vectors"][0], d.degree())
	}
	// The agents' clocks are Poisson: what they sent lies between what the fewest and
	// the most neighbours would have made of their iterations.
	its, vectors, sent := last(byAgents+" iterations"), last(byAgents+" vectors"), last(byAgents+" broadcasts")
	if sent != its+n || vectors < d.degree()+its || vectors > d.degree()+n*its {
		t.Errorf("%v iterations, %v broadcasts, %v vectors", its, sent, vectors)
	}
	for _, key := range []string{byPaper, byAgents, byPublic, byADMM} {
		if gap := numbers[key+" gap"]; gap[0] <= gap[len(gap)-1] || gap[len(gap)-1] < 0 {
			t.Errorf("%s: Q - Q* goes from %g to %g", key, gap[0], gap[len(gap)-1])
		}
	}
}

// The noise of a reading moves a model by alpha mu c Laplace(scale/m), of variance
// twice the squared scale. 20,000 draws have that variance to a relative 1.6% (of a
// Laplace law the standard deviation of the square is sqrt(5) times its mean); the
// bound of 10% fails by chance less than once in a million.
func TestNoiseIsWhatTheReadingSays(t *testing.T) {
	d := draw(2, 40, 50)
	for _, sum := range []bool{false, true} {
		noisy := newDescent(reading{mu: 0.5, sum: sum, scale: []float64{3}}, d)
		quiet := newDescent(reading{mu: 0.5, sum: sum}, d)
		random := seeded(1, 0, 1)
		var squares float64
		const draws = 20_000
		for k := range draws / d.p {
			i := k % len(d.people)
			clear(noisy.models[i])
			clear(quiet.models[i])
			noisy.update(i, 0, random)
			quiet.update(i, 0, nil)
			m := float64(len(d.people[i].train.x))
			c := m / 100
			alpha := 1 / (1 + 0.5*c*noisy.smooth[i])
			x := floats.Distance(noisy.models[i], quiet.models[i], 2) / (alpha * 0.5 * c * 3 / m)
			squares += x * x / draws
			clear(noisy.models[i]) // nobody hears it
			clear(quiet.models[i])
		}
		if math.Abs(squares/2-1) > 0.1 {
			t.Errorf("sum %v: the noise has variance %v, want 2", sum, squares)
		}
	}
}

func TestPerUpdate(t *testing.T) {
	// One update: the bound is the epsilon itself. Ten at 1.05: an independent program.
	for _, c := range []struct {
		epsilon float64
		updates int
		want    float64
	}{{1.05, 1, 1.05}, {1.05, 5, 0.21}, {1.05, 10, 0.11056419002473043}} {
		if got := accountant.KairouzShare(c.epsilon, delta, c.updates); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d updates within %v: %v each, want %v", c.updates, c.epsilon, got, c.want)
		}
	}
}

// One Laplace release with shift a has delta = 1 - e^((eps - a)/2), so epsilon is a +
// 2 ln(1 - delta). A record in [-1, 1]^p moves its gradient by up to 2p, the mean of
// 100 by p/50 and the noise is 2/(eps 100): a = p eps; for the sum it is 100 p eps.
func TestTrueEpsilon(t *testing.T) {
	const p, epsilon = 20, 0.55
	for a, r := range map[float64]reading{
		p * epsilon:       literalReading(epsilon, 1),
		100 * p * epsilon: figReading(epsilon, 1),
	} {
		got, err := r.trueEpsilon(p)
		if want := a + 2*math.Log1p(-math.Exp(-5)); err != nil || math.Abs(got/want-1) > 1e-3 {
			t.Errorf("true epsilon %v, %v; want %v", got, err, want)
		}
	}
}

func TestAllocationsKeepTheBudget(t *testing.T) {
	for _, a := range allocationsTried {
		var total float64
		for _, scale := range spread(a, 0.7, 12) {
			total += 2 / scale
		}
		if math.Abs(total-0.7) > 1e-12 {
			t.Errorf("%s spends %v", a.name, total)
		}
	}
}

// What is known to order the methods is far larger than chance here, and the seed is
// fixed: with 10,000 test records an accuracy has a standard error below .005, and
// the gaps asked for are .02 and more.
func TestOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes seconds")
	}
	d := draw(1, 100, 20)
	numbers, err := readings(d)
	if err != nil {
		t.Fatal(err)
	}
	free, err := notPrivate(d)
	if err != nil {
		t.Fatal(err)
	}
	tuned, err := lone(d, 100)
	if err != nil {
		t.Fatal(err)
	}
	fitted, err := silent(d, gaussian(1.05), 100)
	if err != nil {
		t.Fatal(err)
	}
	order := []struct {
		name string
		of   []float64
	}{
		{"target", numbers[target]}, {"together", free[together]}, {"silent fit", fitted[accuracy]}, {"alone", tuned[accuracy]},
		{"letter", numbers[name(literal, 1.05)]}, {"Laplace", numbers[name(pure, 1.05)]},
	}
	for k := 1; k < len(order); k++ {
		if better, worse := stat.Mean(order[k-1].of, nil), stat.Mean(order[k].of, nil); better < worse+0.02 {
			t.Errorf("%s %.4f is not clearly better than %s %.4f", order[k-1].name, better, order[k].name, worse)
		}
	}
	if a := stat.Mean(numbers[name(fig, 0.15)], nil) - stat.Mean(numbers[name(shared, 0.15)], nil); a < 0.1 {
		t.Errorf("the reading that is not private is %.4f better than the shared models that are", a)
	}
	if a := stat.Mean(numbers[hidden], nil); math.Abs(a-0.5) > 0.1 {
		t.Errorf("accuracy %.4f after local differential privacy, want chance", a)
	}
}

// Propagation ends where its equation holds: T_i (1 + mu c_i) is the mean of the
// neighbours plus mu c_i times what was released. And noise of the size of what one
// record moves leaves chance, at 50 features, of 100 people: the standard error of
// their mean accuracy is below .02, the bound 5 of them away.
func TestWarmStart(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes a second, ten under the race detector")
	}
	d := draw(1, 100, 50)
	local := d.alone()
	models := d.propagate(local)
	for i := range models {
		var degree float64
		want := make([]float64, d.p)
		for _, e := range d.edges[i] {
			degree += e.Weight
			floats.AddScaled(want, e.Weight, models[sim.Number(e.Peer)])
		}
		c := 0.3 * float64(len(d.people[i].train.x)) / 100
		floats.Scale(1/degree, want)
		floats.AddScaled(want, c, local[i])
		floats.Scale(1/(1+c), want)
		if distance := floats.Distance(want, models[i], 2); distance > 1e-3*floats.Norm(want, 2) {
			t.Errorf("person %d is %g from the solution", i, distance)
		}
	}
	numbers := warmStart(d)
	if a := numbers[warmSpread]; a[0] < 0.8 || math.Abs(a[1]-0.5) > 0.1 || a[2] < 0.75 {
		t.Errorf("accuracies %v without noise, with it, and with too little", a)
	}
}

// A problem is that of the command's task, record by record.
func TestDrawIsTheTasksProblem(t *testing.T) {
	set, err := testnet.Linear(4, 6)
	if err != nil {
		t.Fatal(err)
	}
	d := draw(4, 6, 20)
	for i, p := range set.People {
		mine, k := d.people[i].train.records(byNorm(2)), 0
		for _, r := range p.Records {
			if r.Seq.HeldOut() {
				continue
			}
			if r.Seq != mine[k].Seq || r.Y != mine[k].Y || floats.Distance(r.X, mine[k].X, 2) > 1e-14 {
				t.Fatalf("person %d, record %d: %v and %v", i, k, r, mine[k])
			}
			k++
		}
		if k != len(mine) || len(p.Test) != len(d.people[i].test.x) {
			t.Errorf("person %d has %d records, %d here", i, k, len(mine))
		}
	}
}

// A report can be made of anything that is done, also of nothing.
func TestReportOfWhatIsDone(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes a second, ten under the race detector")
	}
	plan, err := Experiment().Plan(paper.Options{Seed: 1, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	done := paper.Done{}
	if r, err := plan.Report(done); err != nil || len(r.Rows) != 0 || len(r.Sections) != 0 {
		t.Errorf("of nothing: %v, %v", r, err)
	}
	for _, c := range plan.Cells {
		if c.Key == "readings, p 20, seed 1" || c.Key == "alone, n 100, p 20, seed 1" {
			if done[c.Key], err = c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := plan.Report(done)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) == 0 || len(r.Sections) == 0 {
		t.Fatalf("%d rows, %d sections", len(r.Rows), len(r.Sections))
	}
	for _, row := range r.Rows {
		if row.Accuracy == nil || row.Valid && row.Epsilon == nil || !row.Valid && row.Epsilon != nil && !(*row.TrueEps > *row.Epsilon) {
			t.Errorf("row %+v", row)
		}
	}
}
