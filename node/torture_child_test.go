//go:build linux && amd64

package node

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// tortureVariable names the directory of a child process that makes releases
// until it is killed; flawVariable makes it do that wrong.
const (
	tortureVariable = "P2PNODE_TORTURE_CHILD"
	flawVariable    = "P2PNODE_TORTURE_FLAW"
)

// tortureReleases is how many releases a child makes if nothing befalls it.
const tortureReleases = 3

// waiting is how many parallel tests run at once in a short run: they mostly wait for
// the network, and leave processors idle when there are no more of them than those.
const waiting = 10

func TestMain(m *testing.M) {
	if dir := os.Getenv(tortureVariable); dir != "" {
		c := &child{flaw: flaw(os.Getenv(flawVariable))}
		switch err := c.run(dir); {
		case err == nil:
			c.say("done")
		case errors.Is(err, errUsed):
			c.say("used")
		default:
			c.say("failed %q", err)                                                      // on one line
			if read, ok := errors.AsType[*fs.PathError](err); !ok || read.Op != "read" { // what cannot be read now takes nothing from the ledger
				c.insist()
			}
		}
		os.Exit(0)
	}
	flag.Parse()
	processors := runtime.GOMAXPROCS(0)
	if atOnce := flag.Lookup("test.parallel").Value; testing.Short() && processors < waiting && atOnce.String() == strconv.Itoa(processors) {
		_ = atOnce.Set(strconv.Itoa(waiting))
	}
	os.Exit(m.Run())
}

// flaw is a mistake in the order of a release. The torture must find each.
type flaw string

const (
	publishFirst flaw = "publishes before the commit"
	drawFirst    flaw = "draws the noise before the debit is durable"
	carryOn      flaw = "publishes though the commit failed"
	drawAgain    flaw = "draws again for the stored round"
)

// flaws are all of them, each with what the torture must say of it.
func flaws() map[flaw]string {
	return map[flaw]string{
		publishFirst: "is published and not stored",
		drawFirst:    "which is not paid",
		carryOn:      "is sent after an error",
		drawAgain:    "two different releases",
	}
}

// child is a node whose host nobody can reach. What it tells its parent, line by
// line, survives its death: noise that was drawn, models that were published.
type child struct {
	flaw flaw
	node *Node
	loop *loop
}

func (c *child) say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (c *child) sent(round uint64, message []byte) { c.say("sent %d %x", round, message) }

// telltale says when noise has been drawn.
type telltale struct {
	learner.Agent
	say func(string, ...any)
}

func (w telltale) Released(now time.Duration, a privacy.Answer) learner.Output {
	if !a.Exhausted() {
		w.say("drawn %d", w.State().Round+1)
	}
	return w.Agent.Released(now, a)
}

// run makes releases with the node's own session, from the stored message, which
// is published again, to the last one.
func (c *child) run(dir string) (err error) {
	if err := c.begin(dir); err != nil {
		return err
	}
	round, message := c.node.ledger.Outgoing()
	if round > 0 {
		c.sent(round, message)
	}
	neighbour := []learner.Edge{{Peer: "other", Weight: 1, Live: true}}
	if err := c.loop.handle(c.loop.agent.Neighbours(0, neighbour)); err != nil {
		return err
	}
	for i := range tortureReleases {
		// The node writes other things too; if one fails, so must the release.
		_ = c.node.store.SavePeers(storage.Peer{ID: c.node.self.String(), LastSeen: int64(i)})
		if err := c.release(round); err != nil {
			return err
		}
	}
	return nil
}

// begin opens the directory, adds records and starts a session.
func (c *child) begin(dir string) (err error) {
	ctx := context.Background() // it ends with the process
	if c.node, err = Open(dir, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	c.node.observe = func(a learner.Agent) learner.Agent { return telltale{a, c.say} }
	if err := c.node.Add(ctx, lineRecords(rand.New(rand.NewPCG(1, 1)), 3)); err != nil {
		return err
	}
	c.node.files.Config.Listen = nil
	h, _, _, err := c.node.newHost()
	if err != nil {
		return err
	}
	s, err := c.node.newSession(h)
	if err != nil {
		return err
	}
	c.loop = s.loop
	c.loop.timer = time.NewTimer(time.Hour)
	return c.node.attach(s)
}

// errUsed: the budget of every record is used.
var errUsed = errors.New("the budget is used")

// release is one wake, and the slot at which its model is published.
func (c *child) release(stored uint64) error {
	c.loop.woke += time.Hour // every wake is due
	out := c.loop.agent.Tick(c.loop.woke)
	if out.Ask == nil {
		return errUsed // the plan has come to its end
	}
	if c.flaw != "" {
		return c.releaseWrongly(out.Ask, stored)
	}
	if err := c.loop.handle(out); err != nil {
		return err
	}
	if len(c.loop.outgoing) == 0 {
		return errUsed
	}
	c.sent(c.loop.agent.State().Round, (<-c.loop.outgoing).message)
	return nil
}

// releaseWrongly is handle and commit with a mistake in them.
func (c *child) releaseWrongly(q *learner.Query, stored uint64) error {
	var answer privacy.Answer
	var err error
	if c.flaw == drawFirst {
		answer = privacy.NewLiveNoise().Answer(q.Mechanism, q.Sums)
	} else if answer, err = c.loop.door.release(q); err != nil {
		return err
	}
	out := c.loop.agent.Released(c.loop.woke, answer)
	if len(out.Send) == 0 {
		return errUsed
	}
	m := out.Send[0]
	message := fmt.Appendf(nil, "%v", m.Real)
	switch {
	case c.flaw == drawFirst:
		if _, err := c.loop.door.release(q); err != nil {
			return err
		}
	case c.flaw == publishFirst:
		c.sent(m.Round, message)
	case c.flaw == drawAgain && stored > 0:
		c.sent(stored, message)
	}
	state, err := json.Marshal(c.loop.agent.State())
	if err != nil {
		return err
	}
	err = c.node.ledger.Commit(m.Round, message, state)
	if c.flaw == carryOn || (err == nil && c.flaw != publishFirst) {
		c.sent(m.Round, message)
	}
	return err
}

// insist tries to release after a failure. A ledger that lets it is caught by
// the line this says.
func (c *child) insist() {
	if c.node == nil || c.node.ledger == nil {
		return
	}
	round := c.node.ledger.Round() + 1
	d := &door{ledger: c.node.ledger, consent: true} // without a limit, which would answer first
	answer, err := d.release(query(mechanism(c.node), round, 1<<20))
	switch {
	case errors.Is(err, storage.ErrPoisoned):
		c.say("refused")
	case !answer.Exhausted():
		c.say("drawn %d", round)
	}
}
