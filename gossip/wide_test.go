package gossip

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/learner"
)

// wideModel is as large as a message can be: every weight in double precision.
func wideModel(round uint64) learner.Message {
	values := make([]float64, learner.MaxDimension)
	for i := range values {
		values[i] = math.Sin(float64(i)+float64(round)) / 1000
	}
	return model(round, values...)
}

func wideNode(t *testing.T) *node {
	c := testConfig()
	c.Rules = modelRules(learner.MaxDimension, 2)
	return startNode(t, newKey(t), c)
}

// A subscriber that has no connection to the author, or lost it, gets the widest model from
// another one, which tells it once a second what it has heard.
func TestTheWidestModelComesRoundABrokenLink(t *testing.T) {
	author, between, far := wideNode(t), wideNode(t), wideNode(t)
	befriend(t, author, between)
	connect(t, between.host, far.host)
	if err := far.Follow(author.id()); err != nil {
		t.Fatal(err)
	}
	waitForListeners(t, author, between)
	for round := range uint64(3) {
		sent := wideModel(round + 1)
		if err := author.Publish(t.Context(), author.encode(t, sent)); err != nil {
			t.Fatal(err)
		}
		sent.From = ID(author.id())
		for _, n := range []*node{between, far} {
			if got := take(t, n); len(got) != 1 || !same(got[0], sent) {
				t.Fatalf("round %d: %d models arrived, or another", round+1, len(got))
			}
		}
	}
}

// What waits in memory for one who sends, or reads, slowly does not grow with the models.
func TestQueuesHoldAsManyBytesForWideModels(t *testing.T) {
	for dimension, want := range map[int]struct{ queue, readers, edges int }{
		10:                   {queueLength, maxReaders, 256},
		784 * 10:             {queueLength, 256, 256},
		learner.MaxDimension: {134, 31, 58},
	} {
		rules := learner.Rules{learner.KindModel: {Reals: dimension, Radius: 1}, learner.KindGradient: {Reals: dimension, Radius: 1}}
		size := max(usualMessage, largest(rules)+envelopeSize)
		g := &Gossip{config: Config{Rules: rules}}
		if n := queueFor(size); n > queueLength || n*size > queueLength*usualMessage || n != want.queue {
			t.Errorf("%d weights: a queue of %d messages of %d bytes", dimension, n, size)
		}
		if n := readersFor(largestDirected(rules)); n != want.readers || n*largestDirected(rules) > readerMemory {
			t.Errorf("%d weights: %d readers, want %d", dimension, n, want.readers)
		}
		if n := edgeQuota(g.maxEdgeSize()).streams; n != want.edges || n*g.maxEdgeSize() > edgeMemory {
			t.Errorf("%d weights: %d edge requests at once, want %d", dimension, n, want.edges)
		}
	}
	// Acknowledgements are short whatever the models are.
	if n := largestDirected(learner.Rules{learner.KindModel: {Reals: learner.MaxDimension}, learner.KindAck: {Reals: 1}}); n > 1024 {
		t.Errorf("an acknowledgement may have %d bytes", n)
	}
}

// A neighbour that publishes without end is heard as far as an honest one could want to
// be; what comes beyond that is ignored, so gossipsub does not keep it either.
func TestWhatAnAuthorPublishesIsBounded(t *testing.T) {
	author, listener := wideNode(t), wideNode(t)
	befriend(t, author, listener)
	waitForListeners(t, author, listener)
	const sent = 3 * largestAtOnce
	begun := time.Now()
	for round := range uint64(sent) {
		if err := author.Publish(t.Context(), author.encode(t, wideModel(round+1))); err != nil {
			t.Fatal(err)
		}
	}
	waitForStats(t, listener, func(s Stats) bool { return s.Delivered+s.Ignored == sent })
	most := largestAtOnce + 1 + uint64(time.Since(begun).Seconds()*largestAtOnce*modelPace/modelBurst)
	if s := listener.Stats(); s.Delivered < largestAtOnce || s.Delivered > most || s.Rejected > 0 {
		t.Errorf("%+v, want at most %d", s, most)
	}
}

// A peer that asks for the whole model again and again gets so many bytes and no more.
func TestWhatAPeerIsServedIsBounded(t *testing.T) {
	data := mustEncode(t, wideModel(1))
	c := testConfig()
	c.Rules = modelRules(learner.MaxDimension, 2)
	c.OnEdge = func(context.Context, peer.ID, EdgeRequest) EdgeReply {
		return EdgeReply{Answer: EdgeAccepted, Latest: data}
	}
	victim, eager := startNode(t, newKey(t), c), wideNode(t)
	connect(t, eager.host, victim.host)
	begun, answered := time.Now(), 0
	for range 40 {
		if r, err := eager.Ask(t.Context(), victim.id(), EdgeRequest{Kind: EdgeAsk}); err == nil && len(r.Latest) == len(data) {
			answered++
		}
	}
	windows := 1 + int(time.Since(begun)/requestWindow)
	each := int(edgeQuota(1).peerBytes)/len(data) + 1
	if answered < each || answered > windows*each {
		t.Errorf("%d of 40 requests got the model of %d bytes, in %d windows of %d", answered, len(data), windows, each)
	}
}

// Renewing an edge sends no model that the other end has, and sends it again to an end
// that has lost it.
func TestAModelThatIsHeldIsNotSentAgain(t *testing.T) {
	key := newKey(t)
	models := make(map[peer.ID][]byte)
	var served []byte
	var got []EdgeRequest
	c := testConfig()
	c.OnEdge = func(_ context.Context, _ peer.ID, q EdgeRequest) EdgeReply {
		got = append(got, q)
		return EdgeReply{Answer: EdgeAccepted, Latest: served}
	}
	a, b := newNode(t), startNode(t, key, c)
	befriend(t, a, b)
	for _, n := range []*node{a, b} {
		data, err := n.config.Signer.Encode(model(5, 0.5, 0, 0))
		if err != nil {
			t.Fatal(err)
		}
		models[n.id()] = data
	}
	served = models[b.id()]
	renew := func() EdgeReply {
		t.Helper()
		r, err := a.Ask(t.Context(), b.id(), EdgeRequest{Kind: EdgeAsk, Latest: models[a.id()]})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := renew(); len(r.Latest) == 0 || r.Holds != 0 || len(got[0].Latest) == 0 || got[0].Holds != 0 {
		t.Fatalf("at first: %d bytes there, %d back", len(got[0].Latest), len(r.Latest))
	}
	for _, n := range []*node{a, b} {
		other := a
		if n == a {
			other = b
		}
		if _, err := n.Hear(other.id(), models[other.id()]); err != nil {
			t.Fatal(err)
		}
	}
	if r := renew(); len(r.Latest) > 0 || r.Holds != 5 || got[1].Holds != 5 {
		t.Errorf("a held model came again: %+v, %+v", r, got[1])
	}
	if r := renew(); len(r.Latest) > 0 || len(got[2].Latest) > 0 {
		t.Errorf("a held model went again: %d bytes there, %d back", len(got[2].Latest), len(r.Latest))
	}
	a.Missed(b.id())
	if r := renew(); len(r.Latest) == 0 || got[3].Holds != 0 {
		t.Error("a missed model did not come again")
	}
	if err := b.Unfollow(a.id()); err != nil {
		t.Fatal(err)
	}
	if err := b.Follow(a.id()); err != nil {
		t.Fatal(err)
	}
	renew() // now the other end says that it holds nothing any more
	if renew(); len(got[5].Latest) == 0 {
		t.Error("a model that was forgotten did not go again")
	}
}
