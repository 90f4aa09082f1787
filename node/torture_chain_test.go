//go:build linux && amd64

package node

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"p2pnode/node/datadir"
	"p2pnode/privacy"
)

// chainLength is how many points one directory goes through.
const chainLength = 40

// point is a fault in the life of a directory: in its first start, or later.
type point struct {
	fault fault
	fresh bool
	step  step // where it is expected to strike
}

// chain is one directory after the other, and what is known of the current one.
type chain struct {
	flaw  flaw
	plans bool // some directories have a plan, which takes long to open
	base  string
	dir   string
	past  *past
	made  int // points in dir
	dirs  int
}

// designs are the privacy of one directory after the other. A record has 40
// releases, so that old cohorts run out of budget while newer ones go on.
func designs(c datadir.Config) []datadir.Config {
	c.Releases = 40
	all := make([]datadir.Config, 6)
	for i := range all {
		all[i] = c
	}
	all[1].Noise, all[1].Accounting = string(privacy.Laplace), string(privacy.PureFilter)
	all[2].Noise, all[2].Accounting = string(privacy.Laplace), string(privacy.RenyiFilter)
	all[3].Pace, all[3].Contraction = string(privacy.Growing), 0.9
	all[4].Unprotected = datadir.Consent
	all[5].Noise, all[5].Accounting = string(privacy.TruncatedLaplace), string(privacy.CommittedPlan)
	return all
}

// renew begins a new directory.
func (c *chain) renew() error {
	if err := os.RemoveAll(c.dir); err != nil {
		return err
	}
	t := lineTask()
	t.CohortSize = 20
	all := designs(datadir.DefaultConfig(t))
	if !c.plans {
		all = all[:len(all)-1]
	}
	config := all[c.dirs%len(all)]
	c.dirs++
	c.dir = filepath.Join(c.base, strconv.Itoa(c.dirs))
	c.past, c.made = newPast(), 0
	return datadir.Init(c.dir, t, config)
}

// outcome is what a point led to.
type outcome struct {
	steps   []step
	hit     step
	reached bool
	how     string
	rounds  int // paid
}

// torture puts a directory through one point and verifies it.
func (c *chain) torture(p point) (outcome, error) {
	if p.fresh || c.dir == "" || c.made >= chainLength {
		if err := c.renew(); err != nil {
			return outcome{}, err
		}
	}
	c.made++
	i := newInjector(p.fault)
	text, status, err := runChild(i, c.dir, c.flaw)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{steps: i.steps, reached: i.hit >= 0}
	if o.reached {
		o.hit = i.steps[i.hit]
	}
	before := c.past.held.round
	if o.how, err = c.verify(text, status, i); err != nil {
		return o, fmt.Errorf("%w\npoint: %v, at %v; fresh: %v, point %d of %s; the child said:\n%s",
			err, p.fault, o.hit, p.fresh, c.made, c.dir, text)
	}
	o.rounds = int(c.past.held.round - before)
	if o.how == "budget used" {
		c.made = chainLength // the next point begins anew
	}
	return o, nil
}

// verify checks how the child ended, what it said and what it left behind.
func (c *chain) verify(text string, status syscall.WaitStatus, i *injector) (how string, err error) {
	all, err := parseSayings(text)
	if err != nil {
		return "", err
	}
	if how, err = ending(all, status, i); err != nil {
		return how, err
	}
	said := -1
	if i.told() {
		said = i.said
	}
	if err := c.past.hear(all, said); err != nil {
		return how, err
	}
	held, err := readCopy(c.dir)
	if err != nil && c.past.empty() && strings.Contains(err.Error(), "delete it and start again") {
		// The first write of all was cut. That may be, if the advice is good.
		how += ", begins anew"
		if err := os.Remove(filepath.Join(c.dir, datadir.StoreFile)); err != nil {
			return how, err
		}
		held, err = readCopy(c.dir)
	}
	if err != nil {
		return how, fmt.Errorf("the directory does not open: %w", err)
	}
	return how, c.past.compare(held)
}

// ending says how a child ended, in one of the ways it may.
func ending(all []saying, status syscall.WaitStatus, i *injector) (string, error) {
	last := ""
	if len(all) > 0 {
		last = all[len(all)-1].what
	}
	switch {
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		if !i.killed {
			return "", errors.New("the child did not end by itself")
		}
		return "killed", nil
	case status != 0:
		return "", fmt.Errorf("the child crashed: status %#x", uint32(status))
	case last == "done":
		if i.told() {
			return "", errors.New("the child went on after an error")
		}
		return "went on", nil
	case last == "used":
		return "budget used", nil
	case last == "failed" && len(all) == 1:
		return "did not start", nil
	case last == "refused":
		return "stopped releasing", nil
	case last == "failed" && !i.told():
		return "could not read", nil
	}
	return "", errors.New("the child ended without a reason")
}

// runChild runs this test binary as a child on a directory until it ends, and
// returns what it said.
func runChild(i *injector, dir string, f flaw) (text string, status syscall.WaitStatus, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", 0, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return "", 0, err
	}
	defer read.Close()
	heard := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(read)
		heard <- string(text)
	}()
	env := append(os.Environ(), tortureVariable+"="+dir, flawVariable+"="+string(f),
		"GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1", "GOGC=off") // fewer stops
	status, err = trace(i, dir, []string{self}, env, []uintptr{0, write.Fd(), 2})
	err = errors.Join(err, write.Close())
	return <-heard, status, err
}
