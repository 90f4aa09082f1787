package node

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
)

// Records that arrive between reading them and fitting are not lost: the fit
// reads what is stored.
func TestFitReadsWhatIsStored(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(1, 1)), 30), nil)
	want, err := n.Personal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n.records.forget()
	n.fits.recordsDeleted()
	got, err := n.Personal(t.Context())
	if err != nil || !floats.Same(got.Theta, want.Theta) || floats.Norm(got.Theta, 2) == 0 {
		t.Errorf("theta %v, %v; want %v", got.Theta, err, want.Theta)
	}
}

// An Add that fails has stored nothing, so that it can be tried again.
func TestFailedAddStoresNothing(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), nil, nil)
	start(t, n)
	require.Eventually(t, "running", func() bool { return status(t, n).Running })
	good := []float64{0, 0, 1}
	for name, r := range map[string]learner.Record{
		"dimension":  {X: []float64{1}},
		"no X":       {},
		"NaN":        {X: []float64{0, math.NaN(), 1}},
		"infinite y": {X: good, Y: math.Inf(1)},
		"range of y": {X: good, Y: 3.01},
		"norm":       {X: []float64{0.8, 0.8, 1}},
	} {
		if err := n.Add(t.Context(), []learner.Record{{X: good}, r}); err == nil || !strings.Contains(err.Error(), "record 2 of 2 ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	stored := 0
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel() // before, while or after it is stored
		if n.Add(ctx, []learner.Record{{X: good}}) == nil {
			stored++
		}
		cancel()
	}
	if s := status(t, n); s.Records != stored {
		t.Errorf("%d records, want the %d of the calls that succeeded", s.Records, stored)
	}
}

// A model that is right beside one that is upside down: the comparison says so, and how
// sure it is, and of two that are the same it cannot tell.
func TestCompareSaysHowSureItIs(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(3, 3)), 60), nil)
	fitted, err := n.Personal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	down := floats.ScaleTo(make([]float64, 3), -1, fitted.Theta)
	for _, c := range []struct {
		theta, alone []float64
		want         string
	}{{fitted.Theta, down, learner.Better}, {down, fitted.Theta, learner.Worse}, {fitted.Theta, fitted.Theta, learner.CannotTell}} {
		got := n.compare(&Fitted{PersonalModel: learner.PersonalModel{Theta: c.theta, Alone: c.alone}}, own(t, n))
		if got.Verdict != c.want || got.HeldOut != 12 || got.Measure != learner.RMSE || got.LogLoss != nil || got.AUC != nil || got.MajorityOnly {
			t.Errorf("%+v; want %s on 12 held-out records, and nothing of classes", got, c.want)
		}
		if v := got.PersonalInterval; !(v.Low < got.Personal && got.Personal < v.High) {
			t.Errorf("interval %+v of an error of %v", v, got.Personal)
		}
		if got.Gain.Mean != got.Alone-got.Personal || !(min(got.Personal, got.Alone) < got.Base) {
			t.Errorf("gain %+v, base %v; personal %v, alone %v", got.Gain, got.Base, got.Personal, got.Alone)
		}
	}
}

// Of two classes there are log loss and area under the curve too, and a model of one
// class is found out.
func TestCompareClasses(t *testing.T) {
	task := lineTask()
	task.Loss, task.Target = "logistic", learner.Target{Name: "y"}
	records := lineRecords(rand.New(rand.NewPCG(3, 4)), 60)
	for i := range records {
		records[i].Y = 1
		if i%3 == 0 {
			records[i].Y = -1
		}
	}
	n := testNode(t, task, records, nil)
	got := n.compare(&Fitted{PersonalModel: learner.PersonalModel{Theta: []float64{0, 0, 1}, Alone: []float64{0, 0, -1}}}, own(t, n))
	// Every third of the twelve held out, the records 5, 10, ..., is of class -1.
	if got.Measure != learner.ErrorShare || got.Personal != 4./12 || got.Alone != 8./12 || got.Base != 4./12 || !got.MajorityOnly {
		t.Errorf("%+v; want the shares of the two classes, and only the majority predicted", got)
	}
	if got.AUC == nil || *got.AUC != (api.Three{Personal: 0.5, Alone: 0.5, Base: 0.5}) || got.LogLoss == nil || !(got.LogLoss.Base < got.LogLoss.Alone) {
		t.Errorf("area %+v, log loss %+v: want that of chance, and the constant's less than the wrong model's", got.AUC, got.LogLoss)
	}
}

// A class that is rare, and that no model predicts: what the owner is told is by log loss,
// in the comparison, in the point that is kept of it and in the event.
func TestRareClassIsComparedByLogLoss(t *testing.T) {
	task := lineTask()
	task.Loss, task.Target = "logistic", learner.Target{Name: "y"}
	r := rand.New(rand.NewPCG(3, 5))
	records := lineRecords(r, 1000)
	for i := range records {
		records[i].Y = -1
		if likely := 0.4 * (1 + records[i].X[0]) / 2 * (1 + records[i].X[1]) / 2; r.Float64() < likely {
			records[i].Y = 1
		}
	}
	n := testNode(t, task, records, nil)
	model := learner.PersonalModel{Theta: []float64{1.5, 1.5, -3}, Alone: []float64{0, 0, -2}}
	got := n.compare(&Fitted{PersonalModel: model}, own(t, n))
	if got.Verdict != learner.Better || !got.ByLogLoss || !got.MajorityOnly || got.LogLossGain == nil || got.LogLossGain.Mean != got.LogLoss.Alone-got.LogLoss.Personal {
		t.Errorf("%+v; want better by log loss", got)
	}
	fitted := &Fitted{PersonalModel: model, Comparison: got}
	if p := pointOf(fitted, 1); p.Verdict != learner.Better || !p.ByLogLoss {
		t.Errorf("what is kept of it is %+v", p)
	}
	n.tellFit(fitted)
	n.diary.Close() // does not wait with what comes many at a time
	for e := range n.Events(t.Context(), 0) {
		if e.Kind == api.EventFitted && e.Verdict == learner.Better && e.ByLogLoss {
			break // else the test never ends
		}
	}
}

// Whatever the agent is doing, a release for example, the owner is told at once how it was
// before, what the last fit brought, and who the neighbours are.
func TestStatusDoesNotWaitForTheAgent(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 30), nil)
	before, err := n.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var agent *busyAgent
	n.observe = func(a learner.Agent) learner.Agent {
		agent = newBusyAgent(a)
		return agent
	}
	start(t, n)
	require.Eventually(t, "running", func() bool { return status(t, n).Running })
	done := agent.work(n.current())
	owner := served(t, n)
	s, err := owner.Status(t.Context())
	if err != nil || !s.Running || s.Records != 30 || s.Personal == nil || !reflect.DeepEqual(s.Personal, before.Personal) {
		t.Errorf("%+v, %v; want running, with the fit of before", s, err)
	}
	if peers, err := owner.Peers(t.Context()); err != nil || len(peers) != 0 {
		t.Errorf("%v, %v", peers, err)
	}
	if m, err := owner.Predict(t.Context(), map[string]string{"a": "1", "b": "0"}); err != nil || m.Value == 0 {
		t.Errorf("%+v, %v; want a prediction", m, err)
	}
	done()
}

// own is what the node has in memory of its records.
func own(t *testing.T, n *Node) ownRows {
	t.Helper()
	rows, err := n.records.all()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
