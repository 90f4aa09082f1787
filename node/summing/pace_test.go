package summing

import (
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/sums"
)

// A committee rests for as long as its sums have taken so far, but for a season at most,
// and never between the rounds of an epoch.
func TestPace(t *testing.T) {
	const day = 24 * 60 * 60
	var p Pace
	if !p.Opens(1).IsZero() {
		t.Error("the first epoch waits")
	}
	opens := int64(0)
	for _, want := range []int64{3, 9, 21, 45, 93, 93 + 93, 93 + 2*93, 93 + 3*93} {
		for round := range uint64(2) {
			opened := p.Opens(round + 1)
			if round > 0 && !opened.IsZero() {
				t.Errorf("round %d waits until %v", round+1, opened)
			}
			p.Closed(&sums.Published{Opening: &sums.Opening{Closes: opens + int64(round+1)*day}})
		}
		at := p.Opens(1).Unix()
		if at != want*day {
			t.Errorf("after the epoch that opened on day %d the next one opens on day %d, not %d", opens/day, at/day, want)
		}
		opens = at
	}
}

// A member whose clock says that a sum does not begin yet begins with it when others do,
// of whom one is honest.
func TestMemberWithASlowClock(t *testing.T) {
	r := &trial{t: t, opens: time.Now().Add(100 * time.Hour)}
	members, keys := committee(t)
	r.sum, r.members = testSum(t, 3, keys), members
	t.Cleanup(r.running.Wait)
	slow := r.members[0]
	stop := r.start(slow)
	require.Eventually(t, "it takes part", func() bool { return slow.desk.known(r.sum.ID) != nil })
	part := slow.desk.known(r.sum.ID)
	colluding := r.sum.Committee.Colluding
	for i := range colluding {
		part.otherBegan(1 + i)
		part.otherBegan(1 + i)
	}
	select {
	case <-part.others:
		t.Fatalf("it follows %d members, all of whom may lie", colluding)
	default:
	}
	stop()
	if slow.desk.runs(r.sum.ID) || Holds(slow.root, r.sum.ID) {
		t.Error("it made keys before it began")
	}
	r.start(slow)
	r.opens = time.Time{}
	for _, m := range r.members[1:] {
		r.start(m)
	}
	require.Eventually(t, "the sum is open", func() bool { return slow.desk.opening(r.sum.ID) != nil })
}

// A device asks seldom before the time at which a sum begins, and is there when it does.
func TestDeviceWaitsForTheOpening(t *testing.T) {
	d := newDevice(t, newIdentity(t), t.TempDir())
	_, keys := committee(t)
	s := testSum(t, 3, keys)
	machine, err := sums.NewContributor(s, d.desk.self, nil)
	require.NoError(t, err)
	for opens, want := range map[time.Duration][2]time.Duration{
		-time.Minute:     {time.Second, time.Second},
		10 * time.Minute: {9 * time.Minute, 10*time.Minute + d.desk.config.Retry},
		100 * time.Hour:  {longestPause, longestPause},
	} {
		k := &contributor{desk: d.desk, sum: s, machine: machine, c: Contribution{Opens: time.Now().Add(opens)}}
		if pause, _ := k.pause(time.Second); pause < want[0] || pause > want[1] {
			t.Errorf("of a sum that opens in %v it asks in %v, not between %v and %v", opens, pause, want[0], want[1])
		}
	}
}
