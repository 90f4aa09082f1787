package mobile

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"p2pnode/learner"
	"p2pnode/node"
)

// bench is a package node whose fits take a while: of the records known when one
// begins.
type bench struct {
	mu      sync.Mutex
	records int
	takes   time.Duration
	begun   int // fits
	newest  node.Fitted
	made    []int // records of the models that were told of
}

func (b *bench) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

func model(records int, current bool) node.Fitted {
	return node.Fitted{PersonalModel: learner.PersonalModel{Theta: []float64{float64(records)}}, Records: records, Current: current}
}

func (b *bench) fitted(ctx context.Context) (node.Fitted, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.newest.Records == b.records || ctx.Err() != nil {
		f := b.newest
		f.Current = f.Records == b.records
		return f, nil
	}
	b.begun++
	records, takes := b.records, b.takes
	b.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
	}
	b.mu.Lock()
	b.newest = model(records, true)
	return b.newest, nil
}

func newBench() (*bench, *models) {
	b := &bench{newest: model(0, false)}
	return b, newModels(b.fitted, func(f node.Fitted) { b.set(func() { b.made = append(b.made, f.Records) }) })
}

func (b *bench) told() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.made)
}

// knows reports whether a model is fitted to what the bench has.
func (b *bench) knows(f node.Fitted) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return f.Current && f.Records == b.records
}

// Reading a model waits for a quick fit, a moment for the first, and never for a slow
// one again.
func TestModelsPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := newBench()
		check(t, m.glance())
		ctx, cancel := context.WithCancel(t.Context())
		go m.run(ctx, func(err error) { t.Error(err) })
		get := func(what string, want int, wait time.Duration) {
			t.Helper()
			begin := time.Now()
			if f := m.get(b.knows); f.Records != want || time.Since(begin) != wait {
				t.Errorf("%s: a model of %d records after %v, want %d after %v", what, f.Records, time.Since(begin), want, wait)
			}
		}
		get("nothing to fit", 0, 0)
		b.set(func() { b.records, b.takes = 10, 5*time.Millisecond })
		get("a quick fit", 10, 5*time.Millisecond)
		get("the same again", 10, 0)
		time.Sleep(time.Second)
		b.set(func() { b.records, b.takes = 20, 2*time.Second })
		get("the first slow fit", 10, userWait)
		get("once more", 10, userWait)
		time.Sleep(lookEvery)
		get("it is known to be slow", 10, 0)
		time.Sleep(2 * time.Second)
		get("when it is done", 20, 0)
		b.set(func() { b.records = 30 })
		get("the next slow fit", 20, 0)
		time.Sleep(time.Minute)
		get("when it is done", 30, 0)
		cancel()
		synctest.Wait()
		if len(b.told()) != 3 {
			t.Errorf("told of %v, want three models", b.told())
		}
	})
}

// However much is new, and however often it is asked for, fits take a tenth of the time.
func TestModelsSpareTheBattery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := newBench()
		b.takes = time.Second
		ctx, cancel := context.WithCancel(t.Context())
		go m.run(ctx, func(err error) { t.Error(err) })
		for range 1000 {
			b.set(func() { b.records++ })
			_ = m.get(b.knows)
			time.Sleep(100 * time.Millisecond)
		}
		cancel()
		synctest.Wait()
		if b.begun > 11 {
			t.Errorf("%d fits of a second in 100 s", b.begun)
		}
	})
}

// However often it is asked for, a fit that fails is seldom tried again, and told of as
// often; what was deleted makes the next one urgent all the same.
func TestModelsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tried, told int
		m := newModels(func(ctx context.Context) (node.Fitted, error) {
			if ctx.Err() != nil {
				return model(0, false), nil
			}
			tried++
			return node.Fitted{}, errors.New("a test")
		}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go m.run(ctx, func(error) { told++ })
		for range 1000 {
			_ = m.get(func(node.Fitted) bool { return false })
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		before := tried
		if before > 6 || told != before {
			t.Errorf("%d fits in 40 s, told of %d", before, told)
		}
		check(t, m.drop())
		synctest.Wait()
		if tried != before+1 {
			t.Errorf("%d fits at once after a deletion, want one", tried-before)
		}
		cancel()
	})
}

// What was dropped does not come back by an answer that was on its way, and its
// successor does not wait for the pause to end.
func TestModelsDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := newBench()
		b.records, b.takes = 10, time.Second
		ctx, cancel := context.WithCancel(t.Context())
		go m.run(ctx, func(err error) { t.Error(err) })
		m.want()
		time.Sleep(500 * time.Millisecond) // in the middle of the fit of 10
		b.set(func() { b.records = 9 })
		check(t, m.drop())
		time.Sleep(600 * time.Millisecond)
		if f, _ := m.now(); f.Current || len(b.told()) != 0 {
			t.Errorf("the model of %d records came back; told of %v", f.Records, b.told())
		}
		time.Sleep(time.Second)
		if f, _ := m.now(); f.Records != 9 || len(b.told()) != 1 {
			t.Errorf("a model of %d records; told of %v", f.Records, b.told())
		}
		cancel()
	})
}
