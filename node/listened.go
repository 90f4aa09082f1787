package node

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// audience records who listened to the node's releases, and says whether another one may
// be made today. It is stored with each release. Its methods are safe for concurrent use.
type audience struct {
	mu    sync.Mutex
	heard listened
}

// listened is the stored part of an audience.
type listened struct {
	Listeners []api.Listener `json:",omitempty"` // sorted by peer
	Releases  []int64        `json:",omitempty"` // Unix seconds of the newest ones, oldest first
}

const (
	maxListeners = 1000 // those who listened last are kept
	maxDaily     = datadir.MaxDaily
	day          = 24 * time.Hour
)

// note records who listens to a release.
func (a *audience) note(now time.Time, edges []learner.Edge) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make(map[string]*api.Listener, len(a.heard.Listeners)+len(edges))
	for _, l := range a.heard.Listeners {
		list[l.Peer] = &l
	}
	for _, e := range edges {
		if !e.Live {
			continue
		}
		l := list[string(e.Peer)]
		if l == nil {
			l = &api.Listener{Peer: string(e.Peer), First: now.Unix()}
			list[l.Peer] = l
		}
		l.Last, l.Releases = now.Unix(), l.Releases+1
	}
	latest := slices.SortedFunc(maps.Values(list), func(x, y *api.Listener) int {
		return cmp.Or(cmp.Compare(y.Last, x.Last), cmp.Compare(x.Peer, y.Peer))
	})
	for _, l := range latest[min(len(latest), maxListeners):] {
		delete(list, l.Peer)
	}
	kept := make([]api.Listener, 0, len(list))
	for _, p := range slices.Sorted(maps.Keys(list)) {
		kept = append(kept, *list[p])
	}
	recent := append(slices.Clone(a.heard.Releases), now.Unix())
	a.heard = listened{kept, recent[max(0, len(recent)-maxDaily):]}
}

// stored returns what is to be stored. The caller must not change it.
func (a *audience) stored() listened {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heard
}

// again returns when another release may be made if there may be so many a day (0: no
// limit); the zero time if it may be made now. A time in the future, which a wrong clock
// noted, counts as the time at which that is discovered, so nobody waits for more than a
// day.
func (a *audience) again(now time.Time, daily int) time.Time {
	list := a.until(now)
	if daily == 0 || len(list) < daily {
		return time.Time{}
	}
	if at := time.Unix(list[len(list)-daily], 0).Add(day); at.After(now) {
		return at
	}
	return time.Time{}
}

// until returns the times of releases. It first changes those that are after now to now.
func (a *audience) until(now time.Time) []int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if latest := a.heard.Releases; slices.ContainsFunc(latest, func(at int64) bool { return at > now.Unix() }) {
		a.heard.Releases = make([]int64, len(latest))
		for i, at := range latest {
			a.heard.Releases[i] = min(at, now.Unix())
		}
	}
	return a.heard.Releases
}
