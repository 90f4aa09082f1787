package mobile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// recorder is a listener that keeps what it hears.
type recorder struct {
	mu    sync.Mutex
	heard []string // "kind payload", or "level line"
	on    func(text string) error
}

func (r *recorder) OnEvent(kind, payload string) error { return r.hear(kind + " " + payload) }
func (r *recorder) OnLog(level int, message string) error {
	return r.hear(fmt.Sprint(level, " ", message))
}

func (r *recorder) hear(text string) error {
	r.mu.Lock()
	r.heard = append(r.heard, text)
	r.mu.Unlock()
	if r.on != nil {
		return r.on(text)
	}
	return nil
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.heard)
}

func TestEventsDeliversInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		e := newEvents(r, LogInfo)
		e.post("stored", map[string]int{"examples": 3})
		e.log(LogInfo, "running")
		e.log(LogDebug, "nobody asked")
		e.post("bad", func() {}) // no JSON: said, not lost
		synctest.Wait()
		e.close()
		e.post("late", 1)
		e.log(LogError, "late")
		e.close()
		want := []string{`stored {"examples":3}`, "1 running", "3 event bad: json: unsupported type: func()"}
		if got := r.all(); !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
	})
}

// A listener slower than events arrive loses the oldest, and learns how many.
func TestEventsDropsTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		r := &recorder{on: func(string) error { <-blocked; return nil }}
		e := newEvents(r, LogInfo)
		e.post("n", 0)
		synctest.Wait() // the listener is busy with it
		for i := range maxWaiting + 10 {
			e.post("n", i+1)
		}
		close(blocked)
		synctest.Wait()
		got := r.all()
		if len(got) != maxWaiting+2 || got[0] != "n 0" || got[1] != `lost {"events":10}` || got[2] != "n 11" ||
			got[len(got)-1] != fmt.Sprint("n ", maxWaiting+10) {
			t.Errorf("%d heard: %q ... %q", len(got), got[:3], got[len(got)-1])
		}
		e.close()
	})
}

// What the listener throws is logged once; what it throws at that, nowhere.
func TestEventsSurvivesTheListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{on: func(text string) error {
			if strings.HasPrefix(text, "panics") {
				panic("out of luck")
			}
			if strings.HasPrefix(text, "keeps quiet") {
				return errors.New("")
			}
			return errors.New("no mood")
		}}
		e := newEvents(r, LogInfo)
		e.post("throws", 1)
		e.post("panics", 2)
		e.post("keeps quiet", 3)
		synctest.Wait()
		e.close()
		got := strings.Join(r.all(), "\n")
		for _, want := range []string{"throws 1", "panics 2", "2 the listener failed at event throws: ", "no mood", "2 the listener failed at event panics: ", "out of luck",
			"2 the listener failed at event keeps quiet: an exception without a message; catch and print it in onEvent"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in\n%s", want, got)
			}
		}
		if n := len(r.all()); n != 6 {
			t.Errorf("%d callbacks, want 6:\n%s", n, got)
		}
	})
}

// Closing from a callback does not wait for that callback for ever, and no other
// begins afterwards.
func TestEventsClosedFromACallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		e := newEvents(r, LogInfo)
		var took time.Duration
		r.on = func(string) error {
			begin := time.Now()
			e.close()
			took = time.Since(begin)
			return errors.New("too late to be logged")
		}
		e.post("a", 1)
		e.post("b", 2)
		<-e.ended
		if got := r.all(); !slices.Equal(got, []string{"a 1"}) || took != lastCall {
			t.Errorf("heard %q; close took %v, want %v", got, took, lastCall)
		}
	})
}

func TestEventsWithoutListener(t *testing.T) {
	e := newEvents(nil, LogDebug)
	e.post("a", 1)
	e.log(LogError, "b")
	e.close()
	if slog.New(newLog(e)).Enabled(context.Background(), slog.LevelError) {
		t.Error("it logs for nobody")
	}
}

// Posting never blocks, whatever the listener does, and close ends the deliveries.
func TestEventsFromManyGoroutines(t *testing.T) {
	r := &recorder{}
	e := newEvents(r, LogInfo)
	var posting sync.WaitGroup
	for g := range 8 {
		posting.Go(func() {
			for i := range 500 {
				e.post("n", g*1000+i)
				e.log(LogInfo, "line")
				if g == 7 && i == 400 {
					e.close()
				}
			}
		})
	}
	posting.Wait()
	n := len(r.all())
	<-e.ended
	if got := len(r.all()); got != n {
		t.Errorf("%d callbacks after close had returned", got-n)
	}
}

func TestLogHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		e := newEvents(r, LogInfo)
		log := slog.New(newLog(e)).With("node", "abc")
		log.Debug("too fine")
		log.Info("running", "peers", 2, "why", "two words")
		log.WithGroup("disk").Warn("slow", "msg", 1.5)
		log.Error("two\nlines", "error", errors.Join(errors.New("a"), errors.New("b")))
		log.Log(t.Context(), slog.LevelError+4, "worse")
		synctest.Wait()
		e.close()
		want := []string{
			`1 running node=abc peers=2 why="two words"`,
			`2 slow node=abc disk.msg=1.5`,
			`3 two lines node=abc error="a\nb"`,
			`3 worse node=abc`,
		}
		if got := r.all(); !slices.Equal(got, want) {
			t.Errorf("logged %q, want %q", got, want)
		}
	})
}
