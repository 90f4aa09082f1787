package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/client"
	"p2pnode/node/datadir"
	"p2pnode/node/local"
)

// newCommittee writes the identities member1.key to member4.key and sums.toml, the example
// task of private sums with them as its committee and short epochs. Others are members that
// have their identities, instead of the last ones.
func newCommittee(dir string, epochs int, seconds float64, others ...string) error {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "tasks", "sums.toml"))
	if err != nil {
		return err
	}
	var members []string
	for i := range 4 - len(others) {
		id, err := datadir.NewIdentity(filepath.Join(dir, fmt.Sprintf("member%d.key", i+1)))
		if err != nil {
			return err
		}
		members = append(members, fmt.Sprintf("%q", id.String()))
	}
	for _, id := range others {
		members = append(members, fmt.Sprintf("%q", id))
	}
	task := string(text)
	for pattern, value := range map[string]string{
		`committee = \[[^]]*\]`: fmt.Sprintf("committee = [%s]", strings.Join(members, ", ")),
		`epochs = \d+`:          fmt.Sprintf("epochs = %d", epochs),
		`close_seconds = \S+`:   fmt.Sprintf("close_seconds = %.1f", seconds),
	} {
		task = regexp.MustCompile(pattern).ReplaceAllLiteralString(task, value)
	}
	return os.WriteFile(filepath.Join(dir, "sums.toml"), []byte(task), 0o600)
}

// committee SECONDS [DIR] makes the identities of four members and sums.toml, a task with
// 50 epochs that take contributions for so long. The relay of DIR is one of them.
func committee(ts *testscript.TestScript, neg bool, args []string) {
	var seconds float64
	if _, err := fmt.Sscan(strings.Join(args[:1], ""), &seconds); neg || err != nil || len(args) > 2 {
		ts.Fatalf("usage: committee SECONDS [DIR]")
	}
	var others []string
	for _, dir := range args[1:] {
		id, err := datadir.PeerOf(ts.MkAbs(dir))
		ts.Check(err)
		others = append(others, id.String())
	}
	ts.Check(newCommittee(ts.MkAbs("."), 50, seconds, others...))
}

// incomplete DIR waits until the status of the committee says that a sum waits for one member.
func incomplete(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: incomplete DIR")
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(between) {
		_ = ts.Exec("p2pnode", "committee", "status", "--dir", args[0]) // whose exit code is not 0
		if strings.Contains(strings.Join(strings.Fields(ts.ReadFile("stdout")), " "), "not open yet, 0 contributions here, 1 member missing; it waits for its committee.") {
			return
		}
	}
	ts.Fatalf("not incomplete within %v", patience)
}

// result DIR WHICH copies a result that a directory keeps, and its list, to result.sum and
// result.list: one that the node is listed in, or that, damaged.
func result(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || args[1] != "listed" && args[1] != "damaged" {
		ts.Fatalf("usage: result DIR listed|damaged")
	}
	var known api.Sums
	ts.Check(ts.Exec("p2pnode", "sums", "list", "--json", "--dir", args[0]))
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &known))
	i := slices.IndexFunc(known.List, func(s api.Sum) bool { return s.Part == api.PartListed })
	ts.Check(copyResult(known.List[i].File, ts.MkAbs("."), func(content []byte) {
		if args[1] == "damaged" {
			content[len(content)/2] ^= 1
		}
	}))
}

// copyResult copies a result and its list to result.sum and result.list in a directory.
func copyResult(file, to string, change func(content []byte)) error {
	for from, name := range map[string]string{file: "result.sum", strings.TrimSuffix(file, ".sum") + ".list": "result.list"} {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		change(content)
		if err := os.WriteFile(filepath.Join(to, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// summed is the directory of a stopped node that has the result of a private sum, to which
// it contributed. Four daemons made it, the last of whom comes after the node.
func summed(t *testing.T) (dir string) {
	t.Helper()
	base := shortTemp(t)
	require.NoError(t, newCommittee(base, 1, 7))
	dir = filepath.Join(base, "person")
	var daemons []*daemon
	begin := func(dir string, flags ...string) {
		args := append([]string{"init", "--dir", dir, "--task", filepath.Join(base, "sums.toml"), "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0"}, flags...)
		if len(daemons) > 0 {
			args = append(args, "--bootstrap", daemons[0].address)
		}
		cli(t, nil, args...)
		if len(flags) == 0 {
			cli(t, nil, "data", "import", filepath.Join("testdata", "files", "house.csv"), "--dir", dir)
		}
		daemons = append(daemons, start(t, dir))
	}
	member := func(i int) {
		begin(filepath.Join(base, fmt.Sprint(i)), "--identity", filepath.Join(base, fmt.Sprintf("member%d.key", i)))
	}
	member(1)
	member(2)
	member(3)
	begin(dir)
	person := daemons[3]
	require.Eventually(t, "the person is connected", func() bool { return person.status(t).Connections > 0 })
	member(4)
	require.Eventually(t, "the results of both rounds are here", func() bool {
		s, err := person.owner.Sums(t.Context())
		return err == nil && s.Known == 2
	})
	for _, d := range daemons {
		d.interrupt(t, os.Interrupt)
	}
	return dir
}

// setSummed puts the directory of such a node in place of another, and a copy of its result
// and of its task, sums.toml, into home.
func setSummed(t *testing.T, from, home, node string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(node))
	copyNode(t, from, node)
	task, err := os.ReadFile(filepath.Join(node, datadir.TaskFile))
	require.NoError(t, err, os.WriteFile(filepath.Join(home, "sums.toml"), task, 0o600))
	var known api.Sums
	cli(t, &known, "sums", "list", "--dir", node)
	require.NoError(t, copyResult(known.List[0].File, home, func([]byte) {}))
}

// committee status ends with exit code 1 while a sum cannot go on.
func TestStuck(t *testing.T) {
	all := api.Sums{Running: true, Committee: api.Committee{Members: []api.Member{{Answered: 1}, {}}}}
	for _, c := range []struct {
		sum  api.Sum
		want bool
	}{
		{api.Sum{State: api.SumWaiting, Part: api.PartNone}, true},
		{api.Sum{State: api.SumWaiting, Part: api.PartNone, Opens: 1}, false},
		{api.Sum{State: api.SumWaiting, Part: api.PartSent}, false},
		{api.Sum{State: api.SumOpen}, false},
		{api.Sum{State: api.SumOpen, Missing: []string{"x", "y"}}, true},
		{api.Sum{State: api.SumOpen, Duty: &api.Duty{Silent: true}}, true},
		{api.Sum{State: api.SumWaiting, Opens: 1, Duty: &api.Duty{Failure: "no space left"}}, true},
	} {
		if got := stuck(&all, &c.sum); got != c.want {
			t.Errorf("%+v: %v", c.sum, got)
		}
	}
	if stuck(&api.Sums{Running: true, Committee: api.Committee{Members: []api.Member{{}}}}, &api.Sum{State: api.SumWaiting, Part: api.PartNone}) {
		t.Error("a sum waits for a committee of which nobody has told anything yet")
	}
}

// The texts about private sums say what an owner must not miss.
func TestSumTexts(t *testing.T) {
	member := func(i int, m api.Member) api.Member {
		m.Peer = fmt.Sprintf("12D3KooWmember%d", i)
		return m
	}
	four := api.Committee{Colluding: 1, Quorum: 3, Members: []api.Member{
		member(1, api.Member{Self: true}), member(2, api.Member{Answered: 1}), member(3, api.Member{}), member(4, api.Member{Failure: "node: it timed out", Answered: 1}),
	}}
	here := api.Sum{
		ID: strings.Repeat("ab", 32), Recipe: "items", Epoch: 1, Epochs: 2, Round: 1, Rounds: 1, State: api.SumHere, Part: api.PartListed, Price: 1, People: 3, Records: 96,
		Signed: []string{"12D3KooWmember1", "12D3KooWmember3"}, Voted: []string{"12D3KooWmember1", "12D3KooWmember2", "12D3KooWmember3"}, File: "f.sum", Noise: 2.5, Numbers: 9,
	}
	with := func(change func(*api.Sum)) api.Sum {
		s := here
		change(&s)
		return s
	}
	coming := func(state api.SumState, part api.SumPart) api.Sum {
		return with(func(s *api.Sum) { s.State, s.Part, s.Signed, s.Voted = state, part, nil, nil })
	}
	lacking := func(missing int) api.Sum {
		return with(func(s *api.Sum) {
			s.State, s.Signed, s.Voted = api.SumClosed, nil, nil
			for i := range missing {
				s.Missing = append(s.Missing, four.Members[3-i].Peer)
			}
			s.Dies = time.Date(2099, time.November, 30, 17, 5, 0, 0, time.Local).Unix()
		})
	}
	noted := func(keys []api.KeysForSum, list ...api.Sum) api.MemberKeys {
		noteSilent(keys, list)
		return api.MemberKeys{Peer: "12D3", Sums: keys}
	}
	inRound := func(epoch, round uint64) api.Status { // the last whose result is here, and the next
		last := with(func(s *api.Sum) { s.Recipe, s.Epoch, s.Round, s.Rounds = "gradient", epoch, round, 16 })
		next := last
		next.Round, next.State = round%16+1, api.SumOpen
		return api.Status{Sums: &api.Sums{SumCounts: api.SumCounts{Known: int(round)}, List: []api.Sum{last, next}}, Privacy: api.BudgetSummary{SumsOnly: true}}
	}
	known := api.Sums{Committee: four}
	for _, c := range []textCase{
		{
			sumsText(api.Sums{List: []api.Sum{here, with(func(s *api.Sum) {
				s.Recipe, s.Rounds, s.Round, s.State, s.Part = "gradient", 16, 2, api.SumClosed, api.PartSent
			}), coming(api.SumWaiting, api.PartSent)}}),
			[]string{"abababab items 1 of 2 result here 3 96 is in it", "gradient 1 of 2, round 2 of 16 closed, being added up - - has paid, and sends its part", "opened, no news since - - has paid"}, "only fetches",
		},
		{sumsText(api.Sums{OnlyFetches: true}), []string{"only fetches results", "costs more than its whole budget"}, ""},
		{
			sumText(known, here),
			[]string{
				"3, with 96 records", "2 signed the result (S), where 2 must; 3 certified who is in it (V), where 3 must", "member1 SV this node", "member2 -V answered", "member3 SV not called yet",
				"member4 -- does not answer", "member4: it timed out", "paid 100 % of their budget", "taken out before your model sees it", "standard deviation 2.5 in each of 9 numbers",
			}, "node: it",
		},
		{sumText(known, with(func(s *api.Sum) { s.Part = api.PartNone })), []string{"Your personal model uses it", "It cost this node nothing."}, "paid"},
		{sumText(known, with(func(s *api.Sum) { s.Part = api.PartLeftOut })), []string{"closed the list without this node. What was paid stays spent"}, "taken out"},
		{sumText(known, with(func(s *api.Sum) { s.Recipe, s.Rounds = "gradient", 16 })), []string{"clipped gradients"}, "taken out"},
		{sumText(known, with(func(s *api.Sum) { s.Recipe, s.Rounds = "mean", 2 })), []string{"how far they spread", "The next round is made from it"}, "taken out"},
		{sumText(known, with(func(s *api.Sum) { s.Recipe = "moments" })), []string{"of those with 10 records in it or more", "beside what it learns alone", "If no other device has 10 records in it, it says nothing. Those of"}, "The next round"},
		{sumText(known, with(func(s *api.Sum) { s.People, s.Records = 0, 0 })), []string{"Nobody added to it", "over, nobody contributed"}, "result here"},
		{statusText("")(api.Status{Sums: &api.Sums{List: []api.Sum{with(func(s *api.Sum) { s.People, s.Records, s.Part = 0, 0, api.PartNone })}}}), []string{"items, epoch 1 of 2: over, nobody contributed; this node has added nothing"}, "0 people"},
		{sumText(known, with(func(s *api.Sum) { s.Recipe, s.Round, s.Rounds = "mean", 2, 2 })), []string{"Your personal model uses it"}, "The next round"},
		{sumText(known, coming(api.SumOpen, api.PartLost)), []string{"stopped before there was anything to send. That stays spent"}, "signed the result"},
		{sumText(known, coming(api.SumOpen, api.PartSent)), []string{"open until", "masked and sent"}, "with 96"},
		{sumText(known, coming(api.SumOpen, api.PartNone)), []string{"no records, or none with a budget left"}, "masked"},
		{sumText(api.Sums{Committee: four, OnlyFetches: true}, coming(api.SumOpen, api.PartNone)), []string{"only fetches results"}, "no records"},
		{sumText(known, coming(api.SumClosed, api.PartNone)), []string{"The committee adds up."}, "masked"},
		{sumText(known, lacking(2)), []string{"closed, being added up it needs 1 more of the members until 17:05 (Monday 30 November); otherwise it is dead, and what was paid for it is lost"}, "opens"},
		{sumText(known, lacking(1)), []string{"closed, being added up"}, "otherwise"},
		{dutiesText(api.Sums{Committee: four, List: []api.Sum{lacking(2)}}), []string{"2 members missing", "It needs 1 more of the members until 17:05"}, "opens"},
		{statusText("")(api.Status{Sums: &api.Sums{Committee: four, List: []api.Sum{lacking(3)}}}), []string{"3 of 4 members of the committee are missing", "it needs 2 more of the members until 17:05"}, "opens"},
		{
			dutiesText(api.Sums{Running: true, Committee: four, List: []api.Sum{with(func(s *api.Sum) {
				s.State, s.Missing, s.MissingWhy, s.Dies = api.SumOpen, lacking(2).Missing, []string{"does not answer", "does not answer"}, lacking(2).Dies
			})}}),
			[]string{"open until", "2 members missing.", "member4, which does not answer", "It needs 1 more of the members until 17:05"}, "waits",
		},
		{sumText(known, coming(api.SumWaiting, api.PartNone)), []string{"not open yet", "Nothing is paid for it yet. It opens when all members"}, "masked"},
		{sumText(known, coming(api.SumWaiting, api.PartSent)), []string{"opened, no news since", "this node has paid", "looked for in the result when that is here"}, "not open yet"},
		{
			statusText("")(api.Status{
				Learner: "sums", Sums: &api.Sums{SumCounts: api.SumCounts{Known: 1}, Committee: four, OnlyFetches: true, List: []api.Sum{here, with(func(s *api.Sum) {
					s.Epoch, s.State, s.Part, s.Missing, s.MissingWhy, s.Duty = 2, api.SumWaiting, api.PartNone, []string{"12D3KooWmember4"}, []string{"has not sent usable keys, or its noise"}, &api.Duty{Silent: true}
				})}},
				Privacy: api.BudgetSummary{Epsilon: 1, Delta: 1e-6, Spent: 1, SumsShare: 1, SumsOnly: true}, Done: true, Connected: 5,
				Personal: &api.Comparison{Measure: "RMSE", Verdict: "better", LogLoss: &api.Three{}, Gain: &learner.Interval{Mean: 0.25, Low: 0.125, High: 0.375}},
			}),
			[]string{
				"records none, and a member of the committee needs none", "committee this node is one of its 4 members (p2pnode committee status says more)",
				"items, epoch 1 of 2: result here, of 3 people with 96 records; this node is in it", "items, epoch 2 of 2: not open yet; this node has added nothing", "it is silent",
				"1 of 4 members of the committee is missing: 12D3KooWmember4, which has not sent usable keys, or its noise", "the newest records have spent 100 % of their budget, in private sums", "all private sums of the task are over", "it only fetches",
				"better: private sums change the error by -0.2500", "0.0000 with private sums", "peers 5 connected; nobody sends models here", "traffic 0 B in",
			}, "releases left",
		},
		{peerList{SumsOnly: true}.text(false, time.Now()), []string{"Nobody sends models here, so there are no neighbours"}, "yet"},
		{managerStatus(api.Status{Records: 9, Connected: 5, Privacy: api.BudgetSummary{SumsOnly: true, Spent: 0.5}}), []string{"9 records, 5 peers connected; 50 % of the privacy budget spent"}, "neighbours"},
		{managerStatus(api.Status{Done: true, Privacy: api.BudgetSummary{SumsOnly: true}}), []string{"0 peers connected; all private sums of the task are over"}, "budget"},
		{managerStatus(api.Status{Records: 9, Privacy: api.BudgetSummary{Unbounded: true}}), []string{"9 records, 0 neighbours; NO privacy guarantee"}, "spent"},
		{managerStatus(api.Status{Done: true, Privacy: api.BudgetSummary{Unbounded: true, Unprotected: true}}), []string{`the limit of rounds, key "releases", is reached`}, "budget"},
		{
			privacyLine(api.BudgetSummary{Epsilon: 1, Delta: 1e-6, Spent: 0.5, SumsShare: 0.25, Left: 4}),
			[]string{"50 % of the budget spent, 4 releases left; 25 % of it is for private sums"}, "in private",
		},
		{statusText("")(api.Status{Contradicted: 1, ForeignSum: true}), []string{"REFUSED", "a committee certified that a contribution of this node", "Stop the other copy"}, "holds round"},
		{budgetText(api.Budget{Contradicted: 1, ForeignSum: true, Unbounded: true}), []string{"REFUSED", "a committee certified"}, "holds round"},
		{others(api.Status{Sums: &api.Sums{}}), []string{"neighbours and private sums"}, "the"},
		{gainLine(&api.Comparison{}, api.Status{Sums: &api.Sums{}}), []string{"no neighbour was heard and no result of a private sum is here yet"}, "0.0000"},
		{gainLine(&api.Comparison{}, api.Status{Sums: &api.Sums{}, Privacy: api.BudgetSummary{SumsOnly: true}}), []string{"no result of a private sum is here yet"}, "neighbour"},
		{gainLine(&api.Comparison{Gain: &learner.Interval{}}, inRound(1, 15)), []string{"no private sum has ended its rounds yet, so there is nothing"}, "0.0000"},
		{gainLine(&api.Comparison{Gain: &learner.Interval{}}, inRound(1, 16)), []string{"private sums change the error by 0.0000"}, "rounds"},
		{gainLine(&api.Comparison{Gain: &learner.Interval{}}, inRound(2, 3)), []string{"private sums change the error by 0.0000"}, "rounds"},
		{gainLine(&api.Comparison{Verdict: "cannot tell", Gain: &learner.Interval{Mean: 1e-9, Low: -2e-9, High: 0.5}}, api.Status{Heard: 1}), []string{"change the error by 0.0000 [-0.5000, 0.0000]"}, "-0.0000"},
		{
			budgetText(api.Budget{Person: []api.PersonBudget{{Epsilon: 1}}, Cohorts: []api.CohortBudget{{Cohort: 1, Records: 32, Sums: 1, Spent: 1}, {Cohort: 2, Records: 3}}, Sums: &api.SumsBudget{
				Share: 1, Only: true, Committee: four, Epochs: 2, Excess: 1.1547, Left: 1, Recipes: []api.RecipePrice{{Recipe: "mean", Rounds: 1, Share: 1, Price: 1}},
			}}),
			[]string{
				"a committee of 4, whom the task names. As long as at most 1 of them works against you, with everybody else in the network on its side", "- 12D3KooWmember1 (this node)",
				"If 2 of them work together before a sum is over, they read exactly what this node adds", "100 % of each record's budget, once", "one of 2 epochs (mean 100 %)",
				"1.155 times the noise", "1 32 1 100.0 % has paid", "2 3 0 0.0 % has paid for none", "Nothing but private sums is sent, and 1 is to come",
			}, "used up",
		},
		{
			budgetText(api.Budget{Person: []api.PersonBudget{{Epsilon: 1}}, Left: 2, Cohorts: []api.CohortBudget{{Cohort: 1, Left: 2}}, Sums: &api.SumsBudget{
				Share: 0.5, Committee: four, Epochs: 1, OnlyFetches: true, Recipes: []api.RecipePrice{{Recipe: "gradient", Rounds: 16, Share: 0.5, Price: 2}},
			}}),
			[]string{"50 % of each record's budget (gradient 50 % (by your epsilon and delta, 200 % of yours) in 16 rounds). This node only fetches", "2 rounds are left", "or in a private sum"}, "once",
		},
		{recipesText(api.SumsBudget{Recipes: []api.RecipePrice{{Recipe: "items", Rounds: 1, Share: 0.5, Price: 0.6}, {Recipe: "mean", Rounds: 2, Share: 0.5, Price: 0.6, Skipped: true}}}), []string{
			"(items 50 % (by your epsilon and delta, 60 % of yours), mean 50 % (by your epsilon and delta, 60 % of yours) in 2 rounds, never paid here: less is left for it)",
		}, "items 60"},
		{stateOfSum(with(func(s *api.Sum) { s.State, s.Part, s.Opens = api.SumWaiting, api.PartNone, 1 })), []string{"opens after 1970-"}, "not open yet"},
		{budgetText(api.Budget{Unbounded: true, Sums: &api.SumsBudget{Committee: four}}), []string{"NO GUARANTEE"}, "committee"},
		{budgetText(api.Budget{Person: []api.PersonBudget{{}}, Sums: &api.SumsBudget{Only: true}}), []string{"there are no records yet", "all private sums of the task are over"}, "retired"},
		{
			committeeStatusText(" --dir d")(api.Sums{SumCounts: api.SumCounts{All: 2, Known: 1}, Running: true, Committee: four, List: []api.Sum{here, with(func(s *api.Sum) {
				s.State, s.Part, s.Missing, s.MissingWhy, s.Duty = api.SumWaiting, api.PartNone, []string{"12D3KooWmember4"}, []string{"does not answer"}, &api.Duty{Held: 1}
			})}}),
			[]string{
				"A committee of 4, of whom 1 may work together against the others. This node is a member.", "member1 this node", "member4 does not answer", "member4: it timed out",
				"(items, epoch 1 of 2) not open yet, 1 contribution here, 1 member missing; it waits for its committee.", "missing: 12D3KooWmember4, which does not answer", "1 of 2 sums are over",
			}, "not running",
		},
		{
			committeeStatusText(" --dir d")(api.Sums{Committee: api.Committee{Members: []api.Member{{Peer: "x"}}}, List: []api.Sum{coming(api.SumClosed, api.PartNone)}}),
			[]string{"This node is no member. It is not running", "closed, being added up."}, "contributions",
		},
		{
			committeeStatusText(" --dir d")(api.Sums{Committee: four, Paused: []api.Pause{{Reason: "metered"}}}),
			[]string{"It cannot tell who is there: it is paused since", "(metered); it takes part again after: p2pnode resume --dir d"}, "running",
		},
		{dutiesText(api.Sums{Running: true, Committee: four, List: []api.Sum{coming(api.SumWaiting, api.PartNone)}}), []string{"not open yet; it waits for its committee."}, "missing"},
		{statusText("")(api.Status{Sums: &api.Sums{Running: true, Committee: four, List: []api.Sum{coming(api.SumWaiting, api.PartNone)}}}), []string{"not open yet, waits for its committee; this node has"}, "missing"},
		{dutiesText(api.Sums{Running: true, Committee: four, List: []api.Sum{with(func(s *api.Sum) { s.State, s.Part, s.Opens = api.SumWaiting, api.PartNone, 1 })}}), []string{"opens after"}, "waits"},
		{dutyLine(with(func(s *api.Sum) { s.State, s.Duty = api.SumOpen, &api.Duty{Silent: true} })), []string{"SILENT: its keys were lost"}, "here"},
		{dutyLine(with(func(s *api.Sum) { s.State, s.Duty = api.SumWaiting, &api.Duty{Failure: "no space left"} })), []string{"TAKES NO PART until it can: no space left"}, "here"},
		{memberKeysText(api.MemberKeys{Peer: "12D3"}), []string{"12D3", "It has no keys for private sums"}, "SUM"},
		{
			memberKeysText(api.MemberKeys{Peer: "12D3", Sums: []api.KeysForSum{
				{ID: "abababababab", Recipe: "mean", Epoch: 3, Round: 2, Made: 1, Contributions: 7}, {ID: "cd", Erased: true}, {ID: "ef"},
			}}),
			[]string{"abababab mean 3, round 2 made 1970-", "7", "cd - - erased, as the sum is over 0", "ef - - not made yet 0"}, "silent",
		},
		{
			memberKeysText(noted([]api.KeysForSum{{ID: "abababab", Made: 1}, {ID: "cdcdcdcd", Made: 1}}, with(func(s *api.Sum) { s.Duty = &api.Duty{Silent: true} }))),
			[]string{"abababab - - SILENT: its keys were lost, and these are new 0", "cdcdcdcd - - made 1970-"}, "not made",
		},
		{newDirectory{Epsilon: 1, Delta: 1e-6, Releases: 1, Protected: true, SumsOnly: true, Sums: &newSums{Share: 1, Committee: []string{"a", "b", "c", "d"}, Colluding: 1}}.String(), []string{
			"epsilon 1, delta 1e-06.", "100 % of that is for private sums, which a committee of 4 adds up", "trust that no 2 of them work together", " d ",
		}, "is one of them"},
		{newDirectory{Epsilon: 0.5, Protected: true, SumsOnly: true, Sums: &newSums{Share: 1, OnlyFetches: true}}.String(), []string{"epsilon 0.5", "This node only fetches results"}, "100 %"},
		{newDirectory{Epsilon: 1, Delta: 1e-6, Releases: 3, Protected: true, Sums: &newSums{Share: 0.5, Member: true}}.String(), []string{"over at most 3 releases", "50 % of that", "This node is one of them"}, ""},
		{doctorText(" --dir d")(api.Diagnosis{Committee: []api.MemberCheck{{Self: true, Reached: true}, {Reached: true}, {}}}), []string{"committee 2 of 3 members reached"}, ""},
		{doctorText(" --dir d")(api.Diagnosis{Paused: []api.Pause{{}}}), []string{"PAUSED. Nobody reaches it: it is paused since", "p2pnode resume --dir d"}, "RUNNING"},
		{sumFileText(api.SumFile{Sum: here}, true), []string{"Sound: f.sum is the result of the sum abababab", "signed by 12D3KooWmember3", "who is in it was not checked"}, "identity is not"},
		{sumFileText(api.SumFile{Sum: here, ListChecked: true}, true), []string{"list by 12D3KooWmember2", "identity is in it"}, "not checked"},
		{sumFileText(api.SumFile{Sum: with(func(s *api.Sum) { s.Part = api.PartNone }), ListChecked: true}, true), []string{"identity is not in it"}, "not checked"},
		{sumFileText(api.SumFile{Sum: here, ListChecked: true}, false), []string{"The list beside it is the certified one."}, "This node"},
	} {
		c.check(t)
	}
}

// A sum is found by the beginning of its name, and without one the newest result is.
func TestPickSum(t *testing.T) {
	list := []api.Sum{{ID: "aa01", State: api.SumHere, Closes: 5}, {ID: "aa02", State: api.SumWaiting}, {ID: "bb03", State: api.SumHere, Closes: 9}, {ID: "bb04", State: api.SumOpen}}
	for begin, want := range map[string]string{"": "bb03", "aa01": "aa01", "AA02": "aa02", "bb04": "bb04"} {
		if s, err := pickSum(list, begin); err != nil || s.ID != want {
			t.Errorf("%q: %v, %v", begin, s.ID, err)
		}
	}
	if s, err := pickSum(list[1:2], ""); err != nil || s.ID != "aa02" {
		t.Errorf("without results: %v, %v", s.ID, err)
	}
	for begin, want := range map[string]string{"aa": "2 private sums begin", "c": "no private sum that is known here"} {
		if _, err := pickSum(list, begin); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", begin, err)
		}
	}
}

// What docs/sums.md says to paste into three terminals works: a committee of four makes a
// private sum to which people contribute. Ports and the time of a sum are other ones.
func TestCommitteeFromThePage(t *testing.T) {
	t.Parallel()
	dir := built(t)
	require.NoError(t, os.CopyFS(filepath.Join(dir, "docs", "tasks"), os.DirFS(filepath.Join("..", "..", "docs", "tasks"))))
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "sums.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Run a committee\n")
	blocks := regexp.MustCompile("(?ms)^```\n(.*?)^```$").FindAllStringSubmatch(section, 3)
	if !found || len(blocks) != 3 {
		t.Fatalf("the page has %d blocks", len(blocks))
	}
	ports := strings.NewReplacer("2110", freePorts(t), "30.0", "6.0", "wait\n", "\n")
	for _, b := range blocks[:2] {
		terminal := exec.CommandContext(t.Context(), "sh", "-e", "-c", ports.Replace(b[1])+"wait")
		terminal.Dir, terminal.SysProcAttr = dir, &syscall.SysProcAttr{Setpgid: true}
		var said bytes.Buffer
		terminal.Stdout, terminal.Stderr = &said, &said
		require.NoError(t, terminal.Start())
		t.Cleanup(func() {
			_ = syscall.Kill(-terminal.Process.Pid, syscall.SIGTERM)
			_ = terminal.Wait()
			if t.Failed() {
				t.Logf("a terminal:\n%s", &said)
			}
		})
		if b[1] == blocks[0][1] {
			require.Eventually(t, "the first member runs", func() bool {
				_, err := os.Stat(filepath.Join(dir, "try", "member1", "p2pnode.sock"))
				return err == nil
			})
		}
	}
	person := client.New(client.Socket(local.SocketPath(filepath.Join(dir, "try", "person1"))))
	defer person.Close()
	require.Eventually(t, "a person is in a sum", func() bool {
		s, err := person.Sums(t.Context())
		return err == nil && s.Listed > 0
	})
	third := exec.CommandContext(t.Context(), "sh", "-c", blocks[2][1])
	third.Dir = dir
	said, err := third.CombinedOutput()
	require.NoError(t, err)
	for _, want := range []string{"This node is\na member.", "is in it", "signed the result", "a committee of 4, whom the task names"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}

// freePorts returns the first four digits of ports of which those that end with 1 to 4 are
// free.
func freePorts(t *testing.T) string {
	t.Helper()
	for base := 2000 + os.Getpid()%1000; ; base++ {
		free := true
		for i := 1; i <= 4; i++ {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d%d", base, i))
			if free = free && err == nil; err == nil {
				require.NoError(t, l.Close())
			}
		}
		if free {
			return fmt.Sprint(base)
		}
	}
}
