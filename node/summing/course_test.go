package summing

import (
	"context"
	"crypto/ed25519"
	"slices"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/sums"
)

// A committee rests for as long as its sums have taken so far, but for a season at most,
// and never between the rounds of an epoch.
func TestPace(t *testing.T) {
	const day = 24 * 60 * 60
	var p pace
	if !p.opens(1).IsZero() {
		t.Error("the first epoch waits")
	}
	opens := int64(0)
	for _, want := range []int64{3, 9, 21, 45, 93, 93 + 93, 93 + 2*93, 93 + 3*93} {
		for round := range uint64(2) {
			opened := p.opens(round + 1)
			if round > 0 && !opened.IsZero() {
				t.Errorf("round %d waits until %v", round+1, opened)
			}
			p.closed(time.Unix(opens+int64(round+1)*day, 0))
		}
		at := p.opens(1).Unix()
		if at != want*day {
			t.Errorf("after the epoch that opened on day %d the next one opens on day %d, not %d", opens/day, at/day, want)
		}
		opens = at
	}
}

// A record is in the sums of one epoch, so recipes of one round and of several open the epochs
// of one number together, as far as adding up does not take longer for one than for the other.
func TestRecipesKeepStep(t *testing.T) {
	const day = 24 * 60 * 60
	opens := func(rounds, most int, adding int64) (list []int64) {
		p := pace{lag: time.Duration(most-rounds) * day * time.Second}
		at := int64(0)
		for range 30 {
			list = append(list, at)
			for range rounds {
				at += day
				p.closed(time.Unix(at, 0))
				at += adding
			}
			at = max(at, p.opens(1).Unix())
		}
		return list
	}
	for _, most := range []int{2, 16} {
		exact, slow, quick := opens(most, most, 0), opens(most, most, 300), opens(1, most, 300)
		for i := range exact {
			if ahead := slow[i] - quick[i]; ahead < 0 || ahead > exact[i]/10 {
				t.Errorf("%d and 1 rounds: epoch %d opens on day %.1f and %.1f", most, i+1, float64(slow[i])/day, float64(quick[i])/day)
			}
		}
	}
}

// A member whose clock is fast waits for the others, more of whom rest than may be wrong.
func TestMemberWithAFastClock(t *testing.T) {
	members, keys := committee(t)
	r := &trial{t: t, members: members, sum: testSum(t, 3, keys), opens: time.Now().Add(100 * time.Hour)}
	t.Cleanup(r.running.Wait)
	for _, m := range members[1:] {
		r.start(m)
	}
	fast := members[0]
	asked := func(since time.Time) bool { // all of them, since then
		for _, m := range members[1:] {
			id, err := PeerOf(m.desk.self)
			require.NoError(t, err)
			if c := fast.desk.Contact(id); c.Failure != nil || !c.Answered.After(since) {
				return false
			}
		}
		return true
	}
	r.opens = time.Time{}
	r.start(fast)
	for range 2 { // one that had begun would ask no more
		since := time.Now()
		require.Eventually(t, "it asks the others", func() bool { return asked(since) })
	}
	if Holds(fast.root, r.sum.ID) {
		t.Error("it begins while the others rest")
	}
	for _, m := range members[2:] {
		m.stopMember()
		r.start(m)
	}
	require.Eventually(t, "the sum is open", func() bool { return fast.desk.opening(r.sum.ID) != nil })
}

// While one member answers and takes no part yet, nobody makes keys: the sum would open when the
// time for contributions is over.
func TestMembersBeginTogether(t *testing.T) {
	members, keys := committee(t)
	r := &trial{t: t, members: members, sum: testSum(t, 3, keys)}
	t.Cleanup(r.running.Wait)
	last := members[len(members)-1]
	id, err := PeerOf(last.desk.self)
	require.NoError(t, err)
	for _, m := range members[:len(members)-1] {
		r.start(m)
	}
	for range 2 { // those that had begun would ask no more
		since := time.Now()
		require.Eventually(t, "all ask it", func() bool {
			return !slices.ContainsFunc(members[:len(members)-1], func(m *device) bool { return !m.desk.Contact(id).Answered.After(since) })
		})
	}
	began := time.Now()
	for _, m := range members {
		if Holds(m.root, r.sum.ID) {
			t.Error("one has begun without it")
		}
	}
	r.start(last)
	require.Eventually(t, "the sum is open", func() bool { return members[0].desk.opening(r.sum.ID) != nil })
	if closes := members[0].desk.State(r.sum.ID).Closes; closes.Before(began.Add(time.Hour).Truncate(time.Second)) {
		t.Errorf("it closes %v after the last member came, and takes contributions for an hour", closes.Sub(began))
	}
}

// Nor does anybody make keys while one is away that was there before.
func TestMembersWaitForOneThatLeft(t *testing.T) {
	members, keys := committee(t)
	r := &trial{t: t, members: members, sum: testSum(t, 3, keys)}
	t.Cleanup(r.running.Wait)
	leaves, last := members[2], members[3]
	for _, m := range members[:3] {
		r.start(m)
	}
	require.Eventually(t, "three see each other", func() bool {
		return !slices.ContainsFunc(members[:3], func(m *device) bool {
			d := m.desk.State(r.sum.ID).Duty
			return d == nil || !slices.Equal(d.Missing, []int{3})
		})
	})
	leaves.stopMember()
	leaves.stop()
	r.start(last)
	id, err := PeerOf(leaves.desk.self)
	require.NoError(t, err)
	for _, m := range members[:2] {
		require.Eventually(t, "one looks for it once more", func() bool { return m.desk.Contact(id).Failure != nil })
	}
	for _, m := range members {
		if Holds(m.root, r.sum.ID) {
			t.Error("one has begun without it")
		}
	}
}

// Members that buried a sum and were started again say to those who come later that it is dead.
func TestNewcomerAfterADeadSum(t *testing.T) {
	var keys []ed25519.PrivateKey
	for range 4 {
		keys = append(keys, newIdentity(t))
	}
	s := testSum(t, 3, keys)
	var members []*device
	for _, k := range keys {
		dir := t.TempDir()
		d := newDevice(t, k, dir)
		require.NoError(t, d.desk.bury(s, nil))
		d.stop()
		d = newDevice(t, k, dir)
		kept, err := d.desk.Serve(s, nil)
		require.NoError(t, err)
		if kept == nil || Holds(d.root, s.ID) {
			t.Fatal("the sum goes on")
		}
		members = append(members, d)
	}
	late := newDevice(t, newIdentity(t), t.TempDir())
	late.knows(members...)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if o, err := late.desk.Contribute(ctx, s, Contribution{}); err != nil || o.Result != nil {
		t.Errorf("the newcomer hears %+v, %v", o, err)
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
		-time.Minute:       {time.Second, time.Second},
		d.desk.config.Rest: {d.desk.config.Rest / 2, d.desk.config.Rest + d.desk.config.Retry},
		100 * time.Hour:    {mostRests * d.desk.config.Rest, mostRests * d.desk.config.Rest},
	} {
		k := &contributor{desk: d.desk, sum: s, machine: machine, c: Contribution{Opens: time.Now().Add(opens)}}
		if pause, _ := k.pause(time.Second); pause < want[0] || pause > want[1] {
			t.Errorf("of a sum that opens in %v it asks in %v, not between %v and %v", opens, pause, want[0], want[1])
		}
	}
}

// A member without records leaves out the other rounds of an epoch that ended without a result,
// as all nodes do, and goes on with the next one, also after a restart.
func TestAttendAfterADeadSum(t *testing.T) {
	plan, keys := planOf(t)
	var list []*sums.Sum // by epoch and round
	for s := range plan.sums(0) {
		list = append(list, s)
	}
	dir := t.TempDir()
	d := newDevice(t, keys[0], dir)
	require.NoError(t, d.desk.bury(list[0], nil))
	for range 2 {
		d.stop()
		d = newDevice(t, keys[0], dir)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.desk.Attend(ctx, plan, d.root) }()
		require.Eventually(t, "it takes part in the next epoch", func() bool { return d.desk.known(list[2].ID) != nil })
		if d.desk.known(list[1].ID) != nil {
			t.Error("it takes part in the second round of a dead epoch")
		}
		if newest, _ := plan.Attended(d.desk); len(newest) != 1 || newest[0].Epoch != 2 || newest[0].Round != 1 {
			t.Errorf("it says that it takes part in %+v", newest)
		}
		stop()
		require.NoError(t, <-ended)
	}
}

// planOf returns a plan of two epochs of two rounds, and the keys of its committee of four.
func planOf(t *testing.T) (*Plan, []ed25519.PrivateKey) {
	task := learner.Linear()
	task.Sums = learner.Sums{Recipes: []learner.Recipe{{Kind: "gradient", Share: 1, Rounds: 2}}, Colluding: 1, Contributors: 10, Records: 10, Epochs: 2, CloseSeconds: 60}
	var keys []ed25519.PrivateKey
	for range 4 {
		key := newIdentity(t)
		who, err := PeerOf(sums.Identity(key.Public().(ed25519.PublicKey)))
		require.NoError(t, err)
		keys, task.Sums.Committee = append(keys, key), append(task.Sums.Committee, who.String())
	}
	plan, err := NewPlan(task, nil, sums.Digest{1})
	require.NoError(t, err)
	return plan, keys
}
