package mobile

import (
	"context"
	"errors"
	"slices"
	"time"

	"p2pnode/node/api"
)

const (
	// longestSlice is the longest that Train may be asked for.
	longestSlice = time.Hour
	// fitShare is the divisor of a slice's length that gives the part, at most fitTime,
	// kept for the personal model.
	fitShare = 4
	fitTime  = 10 * time.Second
	// leaveWait is how long Train waits for the node to leave the network.
	leaveWait = time.Second
	// sliceLook is the time between two looks at a slice. lull is how long nothing must
	// have been heard before a node that has nothing to send has nothing left to do.
	sliceLook = time.Second
	lull      = 15 * time.Second
)

// training is the result of a slice.
type training struct {
	Millis       int64  `json:"millis"`
	OnlineMillis int64  `json:"online_millis"`
	Waiting      string `json:"waiting"`
	Stored       int    `json:"stored"`
	Releases     uint64 `json:"releases"`
	Heard        int    `json:"heard"`
	Fitted       bool   `json:"fitted"`
}

// Train does one slice of work, for WorkManager and BGProcessingTask: writes what
// waits, takes part in the network while the conditions allow it, and brings the
// personal model up to date, whether the node was started or not, and also while it is
// paused. It takes at most maxMillis milliseconds, up to an hour of them, and about a
// second more. Their last quarter, ten seconds at most, is kept for the personal model:
// where that needs less, Train returns sooner, of 8 seconds after a little more than 6. It
// ends earlier still when [Node.Pause] or [Node.Stop] is called meanwhile, and when nothing
// is left to do: the model knows all, and either the conditions do not allow the network,
// or no example can pay for a release, no private sum is being added up, and nothing new
// has come from the committee and from the neighbours, all of them there, for 15 seconds.
// It does not wait for conditions to change: call SetNetwork and SetPower before. The JSON
// says what was done:
//
//	{"millis":…, "online_millis":…, "waiting":"waiting for Wi-Fi", "stored":…, "releases":…, "heard":…, "fitted":true}
//
// waiting is the state's reason when the slice ended; stored how many examples were
// written; releases how many models left the device; heard from how many neighbours a
// newer one has come; fitted whether the personal model knows everything. Calls at the
// same time share the work, and each says what was done in its own time. Stopped
// meanwhile it fails with [CodeStopped].
func (n *Node) Train(maxMillis int) (resultJSON string, err error) {
	return n.json(func() (any, error) {
		if maxMillis < 1 || maxMillis > int(longestSlice.Milliseconds()) {
			return nil, wrongInput("a slice of %d ms is outside 1 to %d", maxMillis, longestSlice.Milliseconds())
		}
		began, length := time.Now(), time.Duration(maxMillis)*time.Millisecond
		ctx, cancel := context.WithTimeout(n.ctx, length)
		defer cancel()
		out, err := n.train(ctx, length)
		if n.ctx.Err() != nil {
			return nil, errStopped
		}
		out.Millis = time.Since(began).Milliseconds()
		return out, err
	})
}

// train is Train's work, until ctx ends.
func (n *Node) train(ctx context.Context, length time.Duration) (out training, err error) {
	before, err := n.progressCounts()
	if err != nil {
		return out, err
	}
	// A slice does not wait for room on the disk, and no longer than it lasts for another write.
	if err := n.queue.write(ctx); err != nil && !errors.Is(err, api.ErrFull) && !errors.Is(err, ctx.Err()) {
		return out, err
	}
	s := n.driver.beginSlice()
	defer n.driver.endSlice(s) // after a panic too
	learning, cancel := context.WithTimeout(ctx, length-min(length/fitShare, fitTime))
	n.learn(learning, s)
	cancel()
	online, waiting, off := n.driver.endSlice(s)
	out.OnlineMillis, out.Waiting = online.Milliseconds(), waiting
	if !off {
		if err := n.models.whole(ctx); err != nil {
			return out, err
		}
		newest, _ := n.models.now()
		out.Fitted = n.knows(newest)
	}
	left, cancel := context.WithTimeout(n.ctx, leaveWait)
	defer cancel()
	_ = n.driver.idle(left) // the node goes on leaving by itself
	after, err := n.progressCounts()
	if err != nil {
		return out, err
	}
	out.Stored, out.Releases, out.Heard = max(0, after.stored-before.stored), after.round-before.round, after.newer(before)
	return out, nil
}

// learn waits while the node takes part, until nothing is left to do or ctx ends.
func (n *Node) learn(ctx context.Context, s *slice) {
	look := time.NewTicker(sliceLook)
	defer look.Stop()
	q := quiet{silent: n.node.Task().Silent(), since: time.Now()}
	for {
		possible, changed := n.driver.possible(s)
		if !possible {
			return
		}
		select {
		case <-changed:
			continue
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if status, err := n.node.Progress(ctx); err == nil && q.over(status, time.Now()) {
			return
		}
	}
}

// quiet notices when a node has nothing left to do in the network for now.
type quiet struct {
	silent    bool // the task has private sums and nothing else
	delivered uint64
	sums      api.SumCounts
	since     time.Time // the time since which nothing was delivered while everybody was there
}

func (q *quiet) over(s api.Status, now time.Time) bool {
	busy := !s.Running || s.Traffic.Delivered != q.delivered
	if s.Sums != nil {
		busy = busy || s.Sums.SumCounts != q.sums || summing(s.Sums)
		q.sums = s.Sums.SumCounts
	}
	if !q.silent { // the task has releases, the node's own and its neighbours'
		busy = busy || s.Records > 0 && !s.Done || s.Neighbours == 0 || s.Listening < s.Neighbours
	}
	if busy {
		q.delivered, q.since = s.Traffic.Delivered, now
	}
	return now.Sub(q.since) >= lull
}

// summing reports whether the committee has not answered yet, or is adding up a sum. A
// sum that stays open for a while, or waits for its committee, is left for another
// slice.
func summing(s *api.Sums) bool {
	if s.Known == s.All {
		return false
	}
	answered := slices.ContainsFunc(s.Committee.Members, func(m api.Member) bool { return m.Answered > 0 })
	return !answered || slices.ContainsFunc(s.List, func(sum api.Sum) bool { return sum.State == api.SumClosed })
}

// progressCounts holds the counts that a slice adds to.
type progressCounts struct {
	stored int
	round  uint64
	heard  map[string]uint64 // rounds of the neighbours
}

func (n *Node) progressCounts() (s progressCounts, err error) {
	status, err := n.node.Progress(n.ctx)
	if err != nil {
		return s, err
	}
	s.stored, s.round = status.Records, status.Round
	peers, err := n.node.Peers(n.ctx)
	s.heard = make(map[string]uint64, len(peers))
	for _, p := range peers {
		s.heard[p.ID] = p.Round
	}
	return s, err
}

// newer counts the neighbours from which something newer has come since before.
func (s *progressCounts) newer(before progressCounts) (count int) {
	for id, round := range s.heard {
		if round > before.heard[id] {
			count++
		}
	}
	return count
}
