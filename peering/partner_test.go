package peering

import (
	"testing"
	"time"

	"p2pnode/learner/graph"
)

// exchanges are the calls that exchange entries.
func exchanges(out Output) (calls []Call) {
	for _, c := range out.Calls {
		if c.Kind == Exchange {
			calls = append(calls, c)
		}
	}
	return calls
}

// Where every partner is as good as another, a node exchanges entries with the peer that it
// asks for an edge, once that has answered: whatever it answers, there is a connection.
func TestItExchangesWithWhomItAsks(t *testing.T) {
	for name, answer := range map[string]func(Call) Answered{
		"accepted": agrees,
		"declined": func(c Call) Answered { return declined(c.To.Peer) },
	} {
		n := newNode(byRule("random", 2))
		n.sees(make([][]float64, 10)...) // it knows enough, so that an edge is no reason to hurry
		out := n.step(Tick{})
		asked := asks(out)
		if len(asked) != 1 || len(exchanges(out)) > 0 {
			t.Fatalf("%s: %+v, want one peer asked and no exchange", name, out.Calls)
		}
		got := exchanges(n.step(answer(out.Calls[0])))
		if len(got) != 1 || got[0].To.Peer != asked[0] || len(got[0].Known) == 0 {
			t.Errorf("%s: exchanges %+v, want one with %s, with entries", name, got, asked[0])
		}
		n.window.answered()
		out = n.step(Tick{})
		for _, c := range out.Calls {
			if more := exchanges(n.step(agrees(c))); len(more) > 0 {
				t.Errorf("%s: a second exchange is due: %+v", name, more)
			}
		}
	}
}

// Peers that do not answer do not keep it from exchanging entries with others.
func TestItExchangesAlthoughNobodyAnswers(t *testing.T) {
	n := newNode(byRule("random", 2))
	n.sees(make([][]float64, 10)...)
	for range 10 {
		out := n.step(Tick{})
		if len(exchanges(out)) > 0 {
			return
		}
		for _, c := range out.Calls {
			n.step(Answered{From: c.To.Peer, Failed: true})
		}
		n.wait(time.Second)
	}
	t.Error("no exchange in ten seconds")
}

// By similarity, the partner is the one from whom it learns most, and waits for nobody.
func TestPartnersBySimilarity(t *testing.T) {
	n := newNode(byRule("profile", 2))
	n.step(Declared{graph.End{Vector: []float64{1, 0}}})
	n.sees([]float64{1, 0.1}, []float64{1, 0.2}, []float64{1, 0.3})
	for range 10 {
		if out := n.step(Tick{}); len(exchanges(out)) > 0 {
			return
		}
		n.wait(5 * time.Second) // nobody answers
	}
	t.Error("no exchange while a request for an edge is under way")
}

// Who has its neighbours under the rule "random", and knows enough peers, exchanges entries
// as seldom as it ever will, at once.
func TestExchangesAreRareForWhoHasAll(t *testing.T) {
	n := newNode(byRule("random", 1))
	n.sees(nil, nil, nil)
	n.joined(t, "a")
	n.step(Tick{}) // the first is due at once
	count := 0
	for range 60 {
		n.wait(time.Second)
		out := n.step(Tick{})
		count += len(exchanges(out))
		for _, c := range out.Calls {
			n.step(agrees(c))
		}
	}
	if count > 2 {
		t.Errorf("%d exchanges in a minute", count)
	}
}
