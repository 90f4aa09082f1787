package node

import (
	"fmt"
	"path/filepath"
	"time"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/storage"
)

const (
	// clockKey is the key under which the database stores which times were believed.
	clockKey = "clock"
	// away is how far ahead of the last time that was believed the next one may be. A
	// device is often off for as long.
	away = 48 * time.Hour
	// proof is how long a clock that is further ahead must go on from there. Machines that
	// ask a server for the time have its answer by then.
	proof = time.Hour
	// noted is how old the stored time may be. It spares the disk.
	noted = time.Hour
	// clockTolerance is the largest difference between clocks that is not reported.
	clockTolerance = time.Minute
)

// clock knows which times of this machine can be believed. Without a battery for it, a
// machine's clock can say anything until it has asked for the time, and nothing must be
// deleted for that.
type clock struct {
	Believed time.Time     `json:"believed"` // the last time that was believed, at most noted before it; zero: none
	Ahead    time.Time     `json:"ahead"`    // the first time that was further ahead; zero: none since
	Jump     time.Duration `json:"jump"`     // how far Ahead was ahead of the time before
}

// believes reports whether a time can be believed, and notes it. One that is behind is
// believed, because it deletes less. One that is further ahead is believed when the clock
// has gone on from there for long enough: by running, or until the next start, if that is
// not much further ahead than the last one was.
func (c *clock) believes(now time.Time) bool {
	now = now.Round(0) // a monotonic clock knows nothing of earlier runs, nor of sleep
	passed := now.Sub(c.Believed)
	switch {
	case now.Before(storage.Earliest):
		return false
	case passed <= away:
	case c.Ahead.IsZero() || now.Before(c.Ahead):
		if c.Ahead, c.Jump = now, passed; c.Believed.IsZero() {
			c.Jump = 0
		}
		return false
	case now.Sub(c.Ahead) > max(away, 2*c.Jump):
		c.Ahead, c.Jump = now, now.Sub(c.Ahead)
		return false
	case now.Sub(c.Ahead) < proof:
		return false
	}
	if passed < 0 || passed >= noted || !c.Ahead.IsZero() {
		*c = clock{Believed: now}
	}
	return true
}

// openClock reads which times were believed.
func openClock(s *storage.Store) (c clock, err error) {
	if err := s.MetaJSON(clockKey, &c); err != nil {
		return c, fmt.Errorf("node: read which time was believed: %w", err)
	}
	return c, nil
}

// save stores which times were believed.
func (c clock) save(s *storage.Store) error {
	if err := s.PutMetaJSON(clockKey, c); err != nil {
		return fmt.Errorf("node: note which time was believed: %w", err)
	}
	return nil
}

// behindFiles returns how far a clock that says now is behind the time of the database
// file in dir, or behind any time at which it can have been set; 0: not noticeably.
func behindFiles(dir string, now time.Time) time.Duration {
	behind, _ := datadir.ClockBehind(now, filepath.Join(dir, datadir.StoreFile))
	if behind < clockTolerance {
		return 0
	}
	return behind
}

// clockProblem says that the clock is so many seconds behind, and what to do.
func clockProblem(behind float64) string {
	return fmt.Sprintf("this machine's clock is about %s behind: set it, or relays refuse it and announcements count as old", api.Lasting(behind))
}
