package summing

import (
	"errors"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// What is known of a member says why a sum waits for it.
func TestWanting(t *testing.T) {
	const m = peer.ID("m")
	answers, absent, on := Contact{Answered: time.Now()}, map[peer.ID]bool{m: true}, &Duty{Missing: []int{2}}
	for want, c := range map[string]struct {
		contact Contact
		state   State
		i       int
	}{
		"does not answer":                        {Contact{Answered: time.Now(), Failure: errors.New("no")}, State{Absent: absent}, 1},
		"was not called yet":                     {Contact{}, State{Duty: on}, 2},
		"has not begun with this sum":            {answers, State{Absent: absent}, 1},
		"has not sent usable keys, or its noise": {answers, State{Duty: on}, 2},
	} {
		if got := wanting(c.contact, &c.state, m, c.i); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	for what, s := range map[string]State{
		"all is here": {Duty: on, Absent: absent}, "open": {Closes: time.Now(), Absent: absent}, "nothing is known": {},
	} {
		if got := wanting(answers, &s, m, 1); got != "" {
			t.Errorf("%s: %q", what, got)
		}
	}
	if got := wanting(answers, &State{Duty: on, Absent: absent}, m, 2); got != "has not begun with this sum" {
		t.Errorf("a member knows %q", got)
	}
}

// An open sum goes on without as many members as may collude, and not without more.
func TestOpenSumSaysWhoIsMissing(t *testing.T) {
	plan, keys := planOf(t)
	s, err := plan.Sum(0, 1, 1)
	require.NoError(t, err)
	d := NewDesk(fast(keys[0], t.TempDir()))
	p, err := d.part(s)
	require.NoError(t, err)
	p.closes = time.Now().Add(time.Hour)
	for i, want := range []int{0, 2, 3} {
		d.called(plan.members[i+1], errors.New("asleep"))
		p.duty = nil
		if device := plan.Describe(d, s, 0, time.Time{}); len(device.Missing) > 0 {
			t.Errorf("a device, which calls nobody while a sum is open, misses %q", device.Missing)
		}
		p.duty = &Duty{}
		c, told := plan.DescribeCommittee(d, plan.members[0]), plan.Describe(d, s, 0, time.Time{})
		stake := told.Stake(c.Lacks(len(told.Missing)))
		if told.State != api.SumOpen || len(told.Missing) != want || len(told.MissingWhy) != want || (stake == "") != (want == 0) {
			t.Errorf("%d are asleep: %+v, at stake %q", i+1, told, stake)
		}
	}
}
