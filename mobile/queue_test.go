package mobile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"p2pnode/learner"
	"p2pnode/node/api"
)

// disk is a store for queues: it remembers the labels it was given, and how often.
type disk struct {
	mu     sync.Mutex
	labels []float64
	writes int
	err    error
	slow   time.Duration
	told   []string
}

func (d *disk) store(records []learner.Record) error {
	time.Sleep(d.slow)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return d.err
	}
	for _, r := range records {
		d.labels = append(d.labels, r.Y)
	}
	d.writes++
	return nil
}

func (d *disk) queue(limit, most int) *queue {
	return &queue{
		store: d.store, limit: limit, most: most, added: make(chan struct{}, 1), writing: make(chan struct{}, 1),
		written: func(stored, queued int) { d.told = append(d.told, fmt.Sprint(stored, "+", queued)) },
		failure: func(err error) { d.told = append(d.told, err.Error()) },
		count: func() int {
			d.mu.Lock()
			defer d.mu.Unlock()
			return len(d.labels)
		},
	}
}

func labelled(from, to int) (out []learner.Record) {
	for y := from; y < to; y++ {
		out = append(out, learner.Record{X: []float64{1}, Y: float64(y)})
	}
	return out
}

// Examples that come close together share one write, at most a second later.
func TestQueueWritesInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{slow: 100 * time.Millisecond}
		q := d.queue(1000, 1000)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { q.run(ctx) })
		for _, r := range labelled(0, 300) {
			if err := q.add(r); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		if stored, queued := q.lengths(); stored != 300 || queued != 0 || d.writes != 1 {
			t.Errorf("after a second %d are stored and %d wait, by %d writes", stored, queued, d.writes)
		}
		if err := q.add(learner.Record{Y: 300}); err != nil {
			t.Fatal(err)
		}
		cancel()
		running.Wait()
		if err := q.close(); err != nil || len(d.labels) != 301 {
			t.Errorf("closed with %d of 301 written: %v", len(d.labels), err)
		}
		if !slices.Equal(d.told, []string{"300+0", "301+0"}) {
			t.Errorf("told %q", d.told)
		}
	})
}

// While a write is under way the queue takes more, within its limits, and what is
// appended comes after what was added before.
func TestQueueBoundsAndOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{slow: time.Second}
		q := d.queue(3, 10)
		add := func(y float64) error { return q.add(learner.Record{Y: y}) }
		var wrong error
		for y := range 3 {
			wrong = errors.Join(wrong, add(float64(y)))
		}
		if err := add(9); wrong != nil || errorCode(err) != CodeFull || !strings.Contains(err.Error(), "Flush") {
			t.Errorf("three: %v; the fourth: %v", wrong, err)
		}
		go func() { _ = q.append(t.Context(), labelled(3, 9)) }() // writes 0, 1, 2 first
		time.Sleep(1500 * time.Millisecond)
		if err := add(9); err != nil {
			t.Errorf("the tenth of ten: %v", err)
		}
		if err := add(10); errorCode(err) != CodeFull || !strings.Contains(err.Error(), "MaxExamples") {
			t.Errorf("the eleventh of ten: %v", err)
		}
		time.Sleep(time.Second)
		if err := q.append(t.Context(), labelled(20, 21)); errorCode(err) != CodeFull {
			t.Errorf("appended beyond the bound: %v", err)
		}
		want := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
		if !slices.Equal(d.labels, want) {
			t.Errorf("written %v, want %v", d.labels, want)
		}
		d.labels = d.labels[2:]
		q.recount()
		if err := q.append(t.Context(), labelled(20, 22)); err != nil {
			t.Errorf("after two were deleted: %v", err)
		}
	})
}

// Examples that are deleted while others are written count once.
func TestQueueRecountsDuringAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		q := d.queue(10, 10)
		if err := q.append(t.Context(), labelled(0, 5)); err != nil {
			t.Fatal(err)
		}
		d.slow = time.Second
		go func() { _ = q.append(t.Context(), labelled(5, 8)) }()
		synctest.Wait()
		d.labels = d.labels[2:]
		q.recount()
		time.Sleep(2 * time.Second)
		if stored, queued := q.lengths(); stored != 6 || queued != 0 {
			t.Errorf("%d are stored and %d queued, of 8 that were written and 2 of them deleted", stored, queued)
		}
	})
}

// After a failed write nothing is taken or tried any more, the failure is told
// once, and closing says how many examples are lost.
func TestQueueAfterAFailedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{err: errors.New("no space left on device")}
		q := d.queue(10, 10)
		ctx, cancel := context.WithCancel(t.Context())
		go q.run(ctx)
		for _, r := range labelled(0, 4) {
			if err := q.add(r); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		for name, err := range map[string]error{
			"add": q.add(learner.Record{}), "write": q.write(ctx), "append": q.append(t.Context(), labelled(7, 8)),
		} {
			if err == nil || !strings.Contains(err.Error(), "no space left") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if len(d.told) != 1 || !strings.Contains(d.told[0], "no space left") {
			t.Errorf("told %q", d.told)
		}
		if err := q.close(); err == nil || !strings.Contains(err.Error(), "4 examples were not written") {
			t.Errorf("closed: %v", err)
		}
		cancel()
	})
}

// Each example that many goroutines add is written once, no matter which of them writes.
func TestQueueFromManyGoroutines(t *testing.T) {
	d := &disk{}
	q := d.queue(1<<20, 1<<20)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { q.run(ctx) })
	var adding sync.WaitGroup
	for g := range 8 {
		adding.Go(func() {
			for i := range 200 {
				y := 1000*g + i
				switch {
				case i%50 == 0:
					_ = q.append(t.Context(), labelled(y, y+1))
				case i%20 == 0:
					_ = q.write(ctx)
					fallthrough
				default:
					_ = q.add(learner.Record{Y: float64(y)})
				}
			}
		})
	}
	adding.Wait()
	cancel()
	all.Wait()
	if err := q.close(); err != nil {
		t.Fatal(err)
	}
	last := make(map[int]int) // of each goroutine
	for _, y := range d.labels {
		g, i := int(y)/1000, int(y)%1000
		if i > 0 && last[g] != i-1 {
			t.Fatalf("goroutine %d: %d came after %d", g, i, last[g])
		}
		last[g] = i
	}
	if stored, queued := q.lengths(); len(d.labels) != 1600 || stored != 1600 || queued != 0 {
		t.Errorf("%d written, %d stored, %d wait", len(d.labels), stored, queued)
	}
}

// An app that pauses goes to the background, where it may be ended at any time.
func TestPauseWritesTheQueue(t *testing.T) {
	n := open(t, linearConfig(t), nil)
	x, label := example(fixed(1))
	check(t, n.AddExample(encodeVector(x), label), n.Pause("in the background"))
	if stored, queued := n.queue.lengths(); stored != 1 || queued != 0 {
		t.Errorf("%d stored, %d queued, want the one stored", stored, queued)
	}
}

// What there is no room for waits, is told once, and is written as soon as there is room:
// with the next example, with the next write, or by itself.
func TestQueueWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		q := d.queue(3, 100)
		ctx, cancel := context.WithCancel(t.Context())
		go q.run(ctx)
		full := func(full bool) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.err = nil
			if full {
				d.err = fmt.Errorf("%w: the disk is nearly full", api.ErrFull)
			}
		}
		add := func(from, to int) {
			for _, r := range labelled(from, to) {
				if err := q.add(r); err != nil {
					t.Fatal(err)
				}
			}
		}
		full(true)
		add(0, 2)
		time.Sleep(time.Second)
		for name, err := range map[string]error{"write": q.write(ctx), "append": q.append(ctx, labelled(50, 60))} {
			if !errors.Is(err, api.ErrFull) {
				t.Errorf("%s: %v", name, err)
			}
		}
		add(2, 3)
		if err := q.add(learner.Record{}); errorCode(err) != CodeFull || !strings.Contains(err.Error(), "nearly full") {
			t.Errorf("a fourth of three: %v", err)
		}
		time.Sleep(3 * refusedPause)
		full(false)
		time.Sleep(refusedPause + time.Second) // by itself
		full(true)
		add(3, 4)
		time.Sleep(time.Second)
		full(false)
		add(4, 5)
		time.Sleep(time.Second)
		full(true)
		add(5, 6)
		time.Sleep(time.Second)
		full(false)
		if err := q.write(ctx); err != nil {
			t.Error(err)
		}
		if want := []float64{0, 1, 2, 3, 4, 5}; !slices.Equal(d.labels, want) {
			t.Errorf("written %v, want %v", d.labels, want)
		}
		const refused = "examples cannot be written: node: there is no room: the disk is nearly full"
		if want := []string{refused, "3+0", refused, "5+0", refused, "6+0"}; !slices.Equal(d.told, want) {
			t.Errorf("told %q, want %q", d.told, want)
		}
		cancel()
	})
}

// Who waits for a long write, as that of a large file, gives up when its time is over.
func TestWritesGiveUpWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{slow: time.Hour}
		q := d.queue(10, 10)
		var appending sync.WaitGroup
		appending.Go(func() { _ = q.append(t.Context(), labelled(0, 1)) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.write(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("write: %v", err)
		}
		appending.Wait()
		if err := q.write(ctx); err != nil { // nobody else writes
			t.Error(err)
		}
	})
}
