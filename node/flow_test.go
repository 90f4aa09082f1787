package node

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/learner/graph"
	"p2pnode/node/datadir"
	"p2pnode/node/summing"
	"p2pnode/peering"
	"p2pnode/privacy"
	"p2pnode/storage"
	"p2pnode/sums"
)

// open are the packages whose code is part of what is looked at.
var open = []string{"p2pnode/node", "p2pnode/peering", "p2pnode/learner", "p2pnode/node/summing", "p2pnode/sums"}

// reaches lists the types that code with a value of this type can come to: by any
// field within the packages of open, elsewhere by exported fields and the results of methods.
func reaches(typ reflect.Type, seen map[reflect.Type]bool) {
	if seen[typ] {
		return
	}
	seen[typ] = true
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		reaches(typ.Elem(), seen)
	case reflect.Map:
		reaches(typ.Key(), seen)
		reaches(typ.Elem(), seen)
	case reflect.Func:
		for i := range typ.NumOut() {
			reaches(typ.Out(i), seen)
		}
	case reflect.Struct:
		ours := strings.HasPrefix(typ.PkgPath(), "p2pnode/") || typ.PkgPath() == ""
		for i := range typ.NumField() {
			f := typ.Field(i)
			if ours && (f.IsExported() || slices.Contains(open, typ.PkgPath())) {
				reaches(f.Type, seen)
			}
		}
		if ours {
			reaches(reflect.PointerTo(typ), seen)
		}
	}
	if strings.HasPrefix(typ.PkgPath(), "p2pnode/") || typ.Kind() == reflect.Pointer && strings.HasPrefix(typ.Elem().PkgPath(), "p2pnode/") {
		for i := range typ.NumMethod() {
			reaches(typ.Method(i).Type, seen)
		}
	}
}

// What decides about edges cannot reach those who hold records: not through what it
// holds, nor through what that can be asked. Nor can it, the agent's driver, any agent or
// the desk of private sums reach what the owner's models are made of: what private sums
// told, and the fits.
func TestWhatSpeaksReachesNoRecords(t *testing.T) {
	t.Parallel()
	holders := []reflect.Type{reflect.TypeFor[storage.Store](), reflect.TypeFor[Node]()}
	predicting := []reflect.Type{
		reflect.TypeFor[knowledge](), reflect.TypeFor[fits](), reflect.TypeFor[Fitted](), reflect.TypeFor[learner.Known](),
		reflect.TypeFor[learner.Population](), reflect.TypeFor[learner.PersonalModel](), reflect.TypeFor[summing.Outcome](),
	}
	edges, driver, desk := make(map[reflect.Type]bool), make(map[reflect.Type]bool), make(map[reflect.Type]bool)
	reaches(reflect.TypeFor[neighbourhood](), edges)
	reaches(reflect.TypeFor[gossip.Gossip](), edges)
	reaches(reflect.TypeFor[loop](), driver)
	for _, name := range []string{"personal", "sums"} {
		task := flowTask(t)
		if task.Learner = name; name == "sums" {
			task.Graph, task.Sums.Recipes[0].Share = lineTask().Graph, 0.7
		}
		a, err := learner.New(learner.Config{Self: "self", Task: task, Policy: testNode(t, task, nil, nil).policy, WakeMean: 1, Schedule: rand.New(rand.NewPCG(1, 1))})
		if err != nil {
			t.Fatal(err)
		}
		reaches(reflect.TypeOf(a), driver)
	}
	reaches(reflect.TypeFor[summing.Desk](), desk)
	reaches(reflect.TypeFor[summing.Contribution](), desk)
	for what, seen := range map[string]map[reflect.Type]bool{"the neighbourhood": edges, "the loop or an agent": driver, "the desk of private sums": desk} {
		for _, h := range slices.Concat(holders, predicting) {
			if seen[h] && !(h == reflect.TypeFor[summing.Outcome]() && what == "the desk of private sums") { // which it hands out
				t.Errorf("%s can reach %v", what, h)
			}
		}
	}
	if agent := reflect.TypeFor[learner.Agent](); edges[agent] || desk[agent] {
		t.Error("the neighbourhood or the desk can reach the agent")
	}
	for _, want := range []reflect.Type{reflect.TypeFor[graph.View](), reflect.TypeFor[history](), reflect.TypeFor[*gossip.Inbox]()} {
		if !edges[want] {
			t.Errorf("the walk never came to %v: it proves nothing", want)
		}
	}
	if !driver[reflect.TypeFor[storage.Ledger]()] || !desk[reflect.TypeFor[sums.Published]()] {
		t.Error("the walks never came to the ledger or to a result: they prove nothing")
	}
	planted := make(map[reflect.Type]bool)
	reaches(reflect.TypeFor[*session](), planted)
	reaches(reflect.TypeFor[*Node](), planted)
	for _, h := range predicting {
		if !planted[h] && h != reflect.TypeFor[summing.Outcome]() {
			t.Errorf("somebody who held the node would not be noticed: %v", h)
		}
	}
}

// What a device adds to a private sum is asked for within the ledger's payment only, and
// what sums told is read for a fit only. Who calls, in the source:
func TestCallersOfWhatIsPrivate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dir, method, callers string }{
		{"summing", "c.Vector", "pay in Ledger.Contribute"},
		{".", "n.contribution", "contributionTo, known"},
		{".", "s.Contribution", "contribution"},
		{".", "sums.read", "known"},
		{".", "n.known", "fit, newcomers"},
		{".", "n.newcomers", "Fitted"},
	} {
		if got := strings.Join(callersOf(t, c.dir, c.method), ", "); got != c.callers {
			t.Errorf("%s is called by %q; only %q may", c.method, got, c.callers)
		}
	}
}

// callersOf lists the functions of a package that name a method, written with the last name
// before its dot; "f in Ledger.m" if they do so in a function that they give to a ledger's
// method m.
func callersOf(t *testing.T, dir, method string) (callers []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s: %v", dir, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				for _, within := range naming(f.Body, method) {
					callers = append(callers, strings.TrimSuffix(f.Name.Name+" in "+within, " in "))
				}
			}
		}
	}
	slices.Sort(callers)
	return slices.Compact(callers)
}

// naming returns, for each place where a method is named, the ledger's method that is
// given the function around it; "" where there is none.
func naming(n ast.Node, method string) (found []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if written(n) == method {
			found = append(found, "")
		}
		call, ok := n.(*ast.CallExpr)
		if !ok || !strings.HasPrefix(written(call.Fun), "Ledger.") {
			return true
		}
		for _, argument := range call.Args {
			inside := naming(argument, method)
			if _, ok := argument.(*ast.FuncLit); ok && len(inside) > 0 {
				inside = []string{written(call.Fun)}
			}
			found = append(found, inside...)
		}
		return false
	})
	return found
}

// written is a selector with the last name before its dot: "c.Vector" of k.c.Vector.
func written(n ast.Node) string {
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	switch x := s.X.(type) {
	case *ast.Ident:
		return x.Name + "." + s.Sel.Name
	case *ast.SelectorExpr:
		return x.Sel.Name + "." + s.Sel.Name
	}
	return s.Sel.Name
}

// puppet is an agent whose releases are answered as the test says, whatever its
// records are, and that writes down what it wants said and when.
type puppet struct {
	learner.Agent
	whole bool // what is asked is written down too, not only that something is
	said  *[]string
}

func (p puppet) note(o learner.Output) learner.Output {
	asks := "nothing"
	if o.Ask != nil {
		asks = fmt.Sprintf("round %d with %+v", o.Ask.Round, o.Ask.Mechanism)
		if p.whole {
			asks += fmt.Sprintf(": %v", privacy.NewSeededNoise(1).Answer(o.Ask.Mechanism, o.Ask.Sums).Sum)
		}
	}
	*p.said = append(*p.said, fmt.Sprintf("sends %v, asks %s, next at %v", o.Send, asks, o.Next))
	return o
}

func (p puppet) Tick(now time.Duration) learner.Output { return p.note(p.Agent.Tick(now)) }

func (p puppet) Neighbours(now time.Duration, edges []learner.Edge) learner.Output {
	return p.note(p.Agent.Neighbours(now, edges))
}

func (p puppet) Released(now time.Duration, a privacy.Answer) learner.Output {
	for i := range a.Sum {
		a.Sum[i] = float64(i+1) / 10 // the same noise and the same sum, as it were
	}
	return p.note(p.Agent.Released(now, a))
}

// private is what nobody but the owner may be able to tell from what leaves her node.
type private struct {
	own []learner.Record
	// early is what the clock says too much at all wakes, so that nothing is late.
	early time.Duration
	// told is how large each coordinate is of what private sums told, one a time; and
	// listed whether the node's own contribution is in it.
	told   []float64
	listed bool
	// whole: the records are the same, so what they add to sums, under their noise too,
	// must be.
	whole bool
}

// speaker is a node that is driven by a test.
type speaker struct {
	*testing.T
	private
	*Node
	session *session
	key     []byte
	said    []string
}

func (s *speaker) note(format string, values ...any) {
	s.said = append(s.said, fmt.Sprintf(format, values...))
}

// saysAll drives a node with these private things and otherwise always the same inputs, and
// returns all that leaves it, with the times, and all that it logs.
func saysAll(t *testing.T, key []byte, p private) []string {
	t.Helper()
	s := &speaker{T: t, private: p, key: key}
	s.open()
	peers, others := fixedPeers(t, 12), rand.New(rand.NewPCG(9, 9))
	s.session.loop.agent.Neighbours(0, []learner.Edge{{Peer: gossip.ID(peers[0]), Weight: 1, Live: true}})
	var now time.Duration
	s.session.hood.now = func() time.Duration { return now }
	s.session.hood.posted.empty(t.Context())
	for k := range 40 {
		now = time.Duration(k) * time.Second
		if k%10 == 4 {
			s.learn(1 + k/10)
		}
		s.meet(now, peers[others.IntN(len(peers))], []float64{others.NormFloat64(), others.NormFloat64(), 1})
		s.wakeAt(now)
	}
	s.contribute(2)
	return s.said
}

// flowTask has releases, neighbours by what was released, and private sums of three kinds, of one of
// which the own part is taken out.
func flowTask(t *testing.T) *learner.Task {
	t.Helper()
	task := lineTask()
	task.Graph = learner.Graph{Rule: "released", Degree: 2, Gamma: 1}
	task.Features = append(task.Features, learner.Feature{Name: "what", Kind: "key", Buckets: 3})
	task.Sums = learner.Sums{
		Recipes:   []learner.Recipe{{Kind: "items", Share: 0.2}, {Kind: "mean", Share: 0.2}, {Kind: "gradient", Share: 0.1, Rounds: 2}},
		Colluding: 1, Contributors: 100, Records: 1000, Epochs: 2, CloseSeconds: 60,
	}
	for _, who := range fixedPeers(t, committeeSize) {
		task.Sums.Committee = append(task.Sums.Committee, who.String())
	}
	return task
}

// open makes the node, with the same key always, and what it had paid before.
func (s *speaker) open() {
	s.Helper()
	task := flowTask(s.T)
	dir := filepath.Join(s.TempDir(), "node")
	c := datadir.DefaultConfig(task)
	c.Listen, c.MDNS = nil, false
	if err := datadir.Init(dir, task, c); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, datadir.KeyFile), s.key, 0o600); err != nil {
		s.Fatal(err)
	}
	var err error
	if s.Node, err = Open(dir, slog.New(notebook{new(sync.Mutex), &s.said})); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.Node.Close() })
	if err := s.Add(s.Context(), s.own); err != nil {
		s.Fatal(err)
	}
	s.contribute(1)
	s.learn(0)
	seed := uint64(0)
	s.source = func() (rand.Source, error) { seed++; return rand.NewPCG(seed, 5), nil }
	s.observe = func(a learner.Agent) learner.Agent { return puppet{a, s.whole, &s.said} }
	s.session = idleSession(s.T, s.Node) // the test lets each part take its steps
	attach(s.T, s.Node, s.session)
	s.session.loop.timer = time.NewTimer(time.Hour)
	s.session.loop.start = time.Now().Add(s.early)
}

// contribute pays for the sums of an epoch as a contribution does, and writes down what
// everybody may see of it.
func (s *speaker) contribute(epoch uint64) {
	s.Helper()
	for _, w := range s.Node.sums.walks {
		sum, err := s.Node.sums.plan.Sum(w.recipe, epoch, 1)
		if err != nil {
			s.Fatal(err)
		}
		c := s.contributionTo(sum, w)
		cohorts, err := c.Cohorts()
		if err != nil {
			s.Fatal(err)
		}
		s.note("sum of epoch %d by cohorts %v", epoch, cohorts)
		_, err = s.ledger.Contribute(storage.Contribution{Sum: storage.SumID(sum.ID), Epoch: epoch, Mechanism: sum.Mechanism, Cohorts: cohorts}, func([]privacy.Cohort) ([]byte, error) {
			return []byte("masked"), nil
		})
		s.note("pays: %v; spent %+v", err, s.ledger.Spending())
		v, slots, err := c.Vector(cohorts)
		s.note("adds %d slots in %d coordinates (%v)", slots, len(v), err)
		if s.whole {
			s.note("namely %x", v)
		}
	}
}

// learn lets the node hear what the private sums of each recipe's next epoch told, and asks it
// all that its owner can.
func (s *speaker) learn(at int) {
	s.Helper()
	if at < len(s.told) {
		for _, w := range s.Node.sums.walks {
			for range s.Node.sums.plan.Recipe(w.recipe).Rounds() {
				s.hear(w, s.told[at])
			}
		}
		s.fits.outdated()
	}
	m, err := s.Personal(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	if m.Known == nil {
		s.Fatal("the personal model does not know the population: the test is idle")
	}
	if _, err := s.Predict(s.Context(), map[string]string{"a": "0.5", "b": "-0.5", "what": "tea"}); err != nil {
		s.Fatal(err)
	}
}

// hear lets the node hear what the next private sum of a recipe told.
func (s *speaker) hear(w *walk, told float64) {
	s.Helper()
	sum, err := s.Node.sums.next(w)
	if err != nil || sum == nil {
		s.Fatalf("no sum to come: %v", err)
	}
	result := &sums.Result{Entries: 50, Records: 1500, Values: make([]float32, sum.Dimension)}
	for j := range result.Values {
		result.Values[j] = float32(told * float64(j+1))
	}
	outcome := &summing.Outcome{
		Result: &sums.Published{Result: result, Opening: &sums.Opening{}},
		List:   &sums.List{Entries: []sums.Listed{{Records: 1500}}}, Listed: s.listed,
	}
	if err := s.Node.sums.take(w, sum, outcome); err != nil {
		s.Fatal(err)
	}
}

// meet lets the neighbourhood see a peer, ask, be answered and be asked.
func (s *speaker) meet(now time.Duration, from peer.ID, vector []float64) {
	hood := s.session.hood
	step := func(in peering.Input) peering.Output { return hood.machine.Step(now, in) }
	step(peering.Seen{Peer: graph.Entry{Peer: gossip.ID(from), End: graph.End{Round: 1, Vector: vector}}})
	for _, c := range step(peering.Tick{}).Calls {
		q, err := hood.requestToWire(c.Request)
		s.note("at %v: to %v %+v (%v)", now, c.To, q, err)
		step(peering.Answered{From: c.To.Peer, Reply: peering.Reply{Answer: peering.Later, Own: graph.Entry{Peer: c.To.Peer}}})
	}
	asks := gossip.EdgeRequest{Kind: gossip.EdgeKind(1 + int(now/time.Second)%2), Own: gossip.Entry{Peer: from}}
	r, err := hood.replyToWire(*step(requestFromWire(from, "", asks)).Reply)
	s.note("at %v: %v is answered %+v (%v); edges %+v", now, from, r, err, hood.machine.Edges())
}

// wakeAt wakes the agent and publishes what it wants.
func (s *speaker) wakeAt(now time.Duration) {
	s.Helper()
	l := s.session.loop
	l.woke = now
	if err := l.handle(l.agent.Tick(now)); err != nil {
		s.Fatal(err)
	}
	for len(l.outgoing) > 0 {
		o := <-l.outgoing
		s.note("leaves at %v: %x, estimate %+v", o.at, o.message, *cmp.Or(o.estimate, new(learner.Estimate)))
		s.session.hood.serve(o.message, o.estimate)
		s.session.hood.posted.empty(s.Context())
	}
}

// notebook is a log that is written down, without the times. While a node closes, libp2p
// logs too.
type notebook struct {
	mu   *sync.Mutex
	said *[]string
}

func (n notebook) Enabled(context.Context, slog.Level) bool { return true }
func (n notebook) WithAttrs([]slog.Attr) slog.Handler       { return n }
func (n notebook) WithGroup(string) slog.Handler            { return n }
func (n notebook) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "slow heartbeat" {
		return nil // of a busy machine
	}
	line := "logs " + r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	n.mu.Lock()
	defer n.mu.Unlock()
	*n.said = append(*n.said, line)
	return nil
}

// fixedPeers are the same in every run of the test.
func fixedPeers(t *testing.T, count int) []peer.ID {
	t.Helper()
	ids := make([]peer.ID, count)
	for i := range ids {
		ids[i] = peer.ID(append([]byte{0, 36, 8, 1, 18, 32}, slices.Repeat([]byte{byte(i + 1)}, 32)...))
	}
	return ids
}

// Two nodes with the same key, the same public inputs and the same answers of the
// door, and with other records, or with the same records and other knowledge of the
// population: whom they ask, what they answer, what they publish, log and pay for, and
// when, is the same to the bit. What private sums told, with the own contribution taken
// out of it or not, is known to the personal model alone, so what the records add to
// releases and to later sums is the same too.
func TestNothingPrivateFlowsIntoWhatLeaves(t *testing.T) {
	model := testNode(t, lineTask(), nil, nil)
	key, err := os.ReadFile(filepath.Join(model.dir, datadir.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	records := func(seed uint64) []learner.Record {
		return groupRecords(rand.New(rand.NewPCG(seed, seed-40)), int(seed-41), 30)
	}
	for what, worlds := range map[string][2]private{
		"records":              {{own: records(41), early: time.Hour, told: []float64{1, 2}, listed: true}, {own: records(42), early: 2 * time.Hour, told: []float64{1, 2}, listed: true}},
		"what sums told":       {{own: records(41), early: time.Hour, told: []float64{1, 2}, whole: true}, {own: records(41), early: 2 * time.Hour, told: []float64{-3, 0.5}, whole: true}},
		"the own contribution": {{own: records(41), early: time.Hour, told: []float64{1, 2}, whole: true}, {own: records(41), early: 2 * time.Hour, told: []float64{1, 2}, listed: true, whole: true}},
	} {
		t.Run(what, func(t *testing.T) {
			sameSaid(t, saysAll(t, key, worlds[0]), saysAll(t, key, worlds[1]))
		})
	}
}

func sameSaid(t *testing.T, first, second []string) {
	t.Helper()
	for i := range min(len(first), len(second)) {
		if first[i] != second[i] {
			t.Fatalf("%d of what leaves differs:\n%s\n%s", i, first[i], second[i])
		}
	}
	if len(first) != len(second) {
		t.Errorf("%d and %d things leave", len(first), len(second))
	}
	for _, what := range []string{"leaves at ", ": to ", "asks round ", "pays: <nil>", "adds 24 slots"} {
		if !slices.ContainsFunc(first, func(s string) bool { return strings.Contains(s, what) }) {
			t.Errorf("nowhere is there %q: the test is idle", what)
		}
	}
}
