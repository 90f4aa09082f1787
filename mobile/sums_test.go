package mobile

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"p2pnode/internal/committee"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// thingsConfig is a phone of a task with private sums.
func thingsConfig(t *testing.T, task *learner.Task, peer string) *Config {
	t.Helper()
	c := testConfig(t)
	text, err := datadir.FormatTask(task)
	require.NoError(t, err)
	c.Task = string(text)
	if peer != "" {
		require.NoError(t, c.AddBootstrap(peer))
	}
	require.NoError(t, c.SetCatalogue([]byte(committee.Catalogue)))
	return c
}

// likes are examples of somebody who likes the last things best, as everybody does.
func likes(r *rand.Rand, count int) []byte {
	var v []float64
	for range count {
		a, thing := 2*r.Float64()-1, 1+r.IntN(6)
		v = append(v, a, float64(thing), 0.5*a+float64(thing)/2-1.75)
	}
	return encodeVector(v)
}

// status is what a phone says of itself.
func status(t *testing.T, n *Node) api.Status {
	t.Helper()
	s, err := n.node.Progress(t.Context())
	require.NoError(t, err)
	return s
}

func onWiFi(t *testing.T, n *Node) *Node {
	t.Helper()
	check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start())
	return n
}

// A phone adds what its examples say to private sums, once each, and fetches what all say
// together, when it is in Wi-Fi and on the charger, and not before. Examples that come later
// are part of a later sum. One that has none predicts with the result at once.
func TestPhonesTakePartInPrivateSums(t *testing.T) {
	task := committee.Task()
	peer := committee.Start(t, task)
	for i := range 4 {
		n := open(t, thingsConfig(t, task, peer), nil)
		check(t, n.AddExamples(likes(fixed(uint64(i)), 40)))
		onWiFi(t, n)
	}
	r := &recorder{}
	c := thingsConfig(t, task, peer)
	c.RequireCharging = true
	held := open(t, c, r)
	check(t, held.AddExamples(likes(fixed(5), 40)), held.SetPower(50, false, false), held.SetNetwork(NetMetered, "", ""), held.Start())
	newcomers := thingsConfig(t, task, peer)
	newcomer := onWiFi(t, open(t, newcomers, nil))
	require.Eventually(t, "the newcomer has a result", func() bool { return status(t, newcomer).Sums.Known > 0 })

	awaitHeard(t, r, "waiting for Wi-Fi")
	check(t, held.SetNetwork(NetUnmetered, "", ""))
	awaitHeard(t, r, "waiting for the charger")
	if s := status(t, held); s.Sums.Known != 0 || s.Sums.Paid != 0 || s.Privacy.Spent != 0 {
		t.Errorf("held back by its conditions, a phone has %+v and spent %v", s.Sums, s.Privacy.Spent)
	}
	check(t, held.SetPower(50, true, false))
	require.Eventually(t, "its examples are in a sum", func() bool { return status(t, held).Sums.Listed == 1 })
	awaitHeard(t, r, `"listed":1}`)
	require.NoError(t, held.AddExamples(likes(fixed(6), 1)))
	require.Eventually(t, "the later example is in a later sum", func() bool { return status(t, held).Sums.Listed == 2 })

	predictsWithTheSum(t, newcomer)
	check(t, newcomer.Stop())
	if best, worst := predicted(t, open(t, newcomers, nil)); !(best > worst+0.5) {
		t.Errorf("opened again without a network, the best thing is at first predicted as %v, the worst as %v", best, worst)
	}
}

// predictsWithTheSum looks at a phone whose own examples say nothing of things.
func predictsWithTheSum(t *testing.T, n *Node) {
	t.Helper()
	row := func(thing int) string { return fmt.Sprintf(`{"a":0,"thing":%d}`, thing) }
	require.Eventually(t, "the model knows the sum", func() bool {
		worst, err := n.PredictJSON(row(1))
		best, err2 := n.PredictJSON(row(6))
		check(t, err2)
		return parse(t, best, err2)["value"].(float64) > parse(t, worst, err)["value"].(float64)+0.5
	})
	if best, worst := predicted(t, n); !(best > worst+0.5) {
		t.Errorf("the best thing is predicted as %v, the worst as %v", best, worst)
	}
	if model, err := n.ExportModel(); err != nil || len(model) != 8*(2+2) {
		t.Errorf("a model of %d bytes, %v", len(model), err)
	}
}

// predicted is what a phone predicts for the thing that all like best, and for the worst.
func predicted(t *testing.T, n *Node) (best, worst float64) {
	t.Helper()
	worst, err := n.Predict(encodeVector([]float64{0, 1}))
	best, err2 := n.Predict(encodeVector([]float64{0, 6}))
	require.NoError(t, err, err2)
	return best, worst
}

// A catalogue comes with the app once: the directory keeps it, and an app that brings
// another is told.
func TestCatalogueOfAPhone(t *testing.T) {
	task := committee.Task()
	for range 4 {
		task.Sums.Committee = append(task.Sums.Committee, open(t, testConfig(t), nil).node.ID().String())
	}
	c := thingsConfig(t, task, "")
	without := *c
	without.catalogue = nil
	for what, missing := range map[string]*Config{"none": &without, "another": thingsConfig(t, task, "")} {
		if what == "another" {
			require.NoError(t, missing.SetCatalogue([]byte("thing\n1\n")))
		}
		if _, err := NewNode(missing, nil); errorCode(err) != CodeInput || !strings.Contains(err.Error(), "SHA-256") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := c.SetCatalogue(nil); errorCode(err) != CodeInput {
		t.Errorf("an empty catalogue: %v", err)
	}
	n := open(t, c, nil)
	if model, err := n.ExportModel(); err != nil || len(model) != 8*(2+2) { // as long before there is a result
		t.Errorf("a model of %d bytes, %v", len(model), err)
	}
	check(t, n.Stop())
	again := open(t, &without, nil)
	if len(again.config.catalogue) != 0 {
		t.Error("the node keeps the catalogue's bytes")
	}
	check(t, again.Stop())

	c = testConfig(t)
	require.NoError(t, c.SetCatalogue([]byte("x")))
	if _, err := NewNode(c, nil); errorCode(err) != CodeInput || !strings.Contains(err.Error(), "leave the file out") {
		t.Errorf("a catalogue without need: %v", err)
	}
}
