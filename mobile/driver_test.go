package mobile

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"p2pnode/node"
	"p2pnode/storage"
)

// stage is a driver on a made-up network.
type stage struct {
	*driver
	greets time.Duration                          // from the begin of a run until it takes part
	lasts  func(ctx context.Context, i int) error // the i-th run

	mu     sync.Mutex
	begins []time.Time
	now    int // runs at the moment
	most   int
	told   []state
}

// newStage drives until the test ends.
func newStage(t *testing.T, lasts func(ctx context.Context, i int) error) *stage {
	s := &stage{lasts: lasts, greets: time.Second}
	s.driver = newDriver(NewConfig("", ""), s.run, s.ready, func(now state) { s.told = append(s.told, now) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.drive(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	return s
}

func (s *stage) run(ctx context.Context) error {
	s.mu.Lock()
	i, lasts := len(s.begins), s.lasts
	s.begins = append(s.begins, time.Now())
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now--
	}()
	return lasts(ctx, i)
}

func (s *stage) ready(ctx context.Context) error {
	if s.greets < 0 {
		panic("a defect")
	}
	select {
	case <-time.After(s.greets):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// network tells the driver of a network, as SetNetwork does.
func (s *stage) network(kind int) {
	s.update(func() { s.around.network = kind; s.again() })
	synctest.Wait()
}

func (s *stage) expect(t *testing.T, name, reason string) {
	t.Helper()
	synctest.Wait()
	if got := s.driver.now(); got != (state{name, reason}) {
		t.Errorf("state %+v, want %s %q", got, name, reason)
	}
}

// untilTold is a run without trouble.
func untilTold(ctx context.Context, _ int) error { <-ctx.Done(); return nil }

func TestDriverFollowsWhatIsWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, untilTold)
		s.expect(t, stateOff, "")
		s.start()
		s.expect(t, stateWaiting, "waiting for a network")
		s.network(NetMetered)
		s.expect(t, stateWaiting, "waiting for Wi-Fi")
		s.network(NetUnmetered)
		s.expect(t, stateStarting, "")
		time.Sleep(time.Second)
		s.expect(t, stateRunning, "")
		s.network(NetUnmetered)
		s.update(func() { s.around.battery, s.around.charging = 50, false })
		if len(s.begins) != 1 || s.now != 1 {
			t.Errorf("a change that keeps the conditions made another run: %v", s.begins)
		}
		check(t, s.pause(t.Context(), "in the background"))
		s.expect(t, statePaused, "in the background")
		s.start() // changes nothing
		s.expect(t, statePaused, "in the background")
		s.resume()
		time.Sleep(time.Second)
		s.expect(t, stateRunning, "")
		s.network(NetNone)
		s.expect(t, stateWaiting, "waiting for a network")
		want := []string{
			stateWaiting, stateWaiting, stateStarting, stateRunning, statePaused, stateStarting, stateRunning, stateWaiting,
		}
		var got []string
		for _, e := range s.told {
			got = append(got, e.State)
		}
		if !slices.Equal(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
	})
}

func TestDriverTriesAgainLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, func(context.Context, int) error { return errors.New("the port is in use") })
		began := time.Now()
		s.network(NetUnmetered)
		s.start()
		s.expect(t, stateFailed, "the port is in use")
		time.Sleep(time.Hour)
		synctest.Wait()
		var gaps []time.Duration
		for i, at := range s.begins {
			if i > 0 {
				gaps = append(gaps, at.Sub(s.begins[i-1]))
			}
		}
		want := []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(gaps[:len(want)], want) || !s.begins[0].Equal(began) {
			t.Errorf("the pauses are %v, want %v", gaps, want)
		}
		before := len(s.begins)
		s.network(NetUnmetered) // perhaps another one
		if len(s.begins) != before+1 {
			t.Error("a new network is not tried at once")
		}
	})
}

// What failed after a long time does not wait as what never worked.
func TestDriverForgetsOldFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, func(_ context.Context, i int) error {
			if i == 8 {
				time.Sleep(2 * longPause)
			}
			return nil // which is a failure too: nobody told it to end
		})
		s.network(NetUnmetered)
		s.start()
		time.Sleep(3 * longPause)
		synctest.Wait()
		last := s.begins[9]
		if pause := last.Sub(s.begins[8]) - 2*longPause; pause != firstPause {
			t.Errorf("after a long run it waited %v", pause)
		}
		s.expect(t, stateFailed, errEnded.Error())
	})
}

func TestDriverGivesUp(t *testing.T) {
	for name, fails := range map[string]func() error{
		"an old copy":    func() error { return node.ErrRolledBack },
		"a failed write": func() error { return storage.ErrPoisoned },
		"a defect":       func() error { panic("a defect") },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, func(context.Context, int) error { return fails() })
			s.network(NetUnmetered)
			s.start()
			time.Sleep(time.Hour)
			s.network(NetUnmetered)
			check(t, s.pause(t.Context(), ""))
			s.resume()
			synctest.Wait()
			if len(s.begins) != 1 || s.driver.now().State != stateFailed {
				t.Errorf("%s: %d runs, %+v", name, len(s.begins), s.driver.now())
			}
		})
	}
}

// A panic while a run finds out that it takes part ends the run, and not the app.
func TestDriverGivesUpUnready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, untilTold)
		s.greets = -1
		s.network(NetUnmetered)
		s.start()
		time.Sleep(time.Hour)
		if now := s.driver.now(); len(s.begins) != 1 || now.State != stateFailed || !strings.Contains(now.Reason, "a defect") {
			t.Errorf("%d runs, %+v", len(s.begins), now)
		}
	})
}

// A run that takes its time to end: Pause says so in time, and nothing begins before.
func TestDriverWaitsForARunThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, func(ctx context.Context, _ int) error { <-ctx.Done(); time.Sleep(time.Minute); return nil })
		s.network(NetUnmetered)
		s.start()
		time.Sleep(2 * time.Second)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), stopWithin)
		defer cancel()
		if err := s.pause(ctx, ""); err == nil || time.Since(began) != stopWithin {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		s.expect(t, statePaused, "")
		check(t, s.pause(t.Context(), "")) // waits on
		if time.Since(began) != time.Minute {
			t.Errorf("ended after %v", time.Since(began))
		}

		s.resume()
		time.Sleep(2 * time.Second)
		s.network(NetNone)
		s.network(NetUnmetered)
		s.expect(t, stateStarting, "")
		time.Sleep(2 * time.Minute)
		s.expect(t, stateRunning, "")
		if s.most != 1 || len(s.begins) != 3 {
			t.Errorf("%d runs, %d at a time", len(s.begins), s.most)
		}
	})
}

func TestPauseThatIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, func(ctx context.Context, _ int) error { <-ctx.Done(); time.Sleep(time.Hour); return nil })
		s.network(NetUnmetered)
		s.start()
		synctest.Wait()
		began := time.Now()
		time.AfterFunc(time.Second, s.resume)
		check(t, s.pause(t.Context(), "")) // does not wait for a run that is wanted again
		if time.Since(began) != time.Second {
			t.Errorf("it took %v", time.Since(began))
		}
	})
}

// Whatever is asked for, in whatever order, one run at most is under way, and in the
// end there is one exactly if it is wanted.
func TestDriverReconcilesWhateverHappens(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			var dice sync.Mutex
			roll := func(n int) int { dice.Lock(); defer dice.Unlock(); return random.IntN(n) }
			s := newStage(t, func(ctx context.Context, _ int) error {
				if roll(3) == 0 {
					time.Sleep(time.Duration(roll(3000)) * time.Millisecond)
					return errors.New("failed")
				}
				<-ctx.Done()
				time.Sleep(time.Duration(roll(3000)) * time.Millisecond)
				return nil
			})
			var slice *slice
			for range 100 {
				switch roll(6) {
				case 0:
					s.start()
				case 1:
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					_ = s.pause(ctx, "")
					cancel()
				case 2:
					s.resume()
				case 3:
					s.update(func() { s.around.network = roll(3); s.again() })
				case 4:
					slice = s.beginSlice()
				case 5:
					if slice != nil {
						s.endSlice(slice)
					}
				}
				time.Sleep(time.Duration(roll(2000)) * time.Millisecond)
			}
			if slice != nil {
				s.endSlice(slice)
			}
			s.mu.Lock()
			s.lasts = untilTold
			s.mu.Unlock()
			time.Sleep(time.Hour)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.update(func() {
				if want := s.wanted() && s.obstacle() == ""; s.most > 1 || (s.now == 1) != want {
					t.Errorf("seed %d: %d at a time, %d now, wanted %v", seed, s.most, s.now, want)
				}
			})
		})
	}
}
