package diary_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"p2pnode/node/api"
	"p2pnode/node/diary"
)

func quiet() *diary.Diary { return diary.New(slog.New(slog.DiscardHandler)) }

func tell(d *diary.Diary, times int) {
	for range times {
		d.Tell(api.Event{Kind: api.EventReleased, Text: "released"})
	}
}

// kept returns what a reader gets before it has to wait.
func kept(t *testing.T, d *diary.Diary, since uint64) (list []api.Event) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for e, err := range d.Events(ctx, since) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func TestReadersCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := quiet()
		tell(d, 3)
		all := kept(t, d, 0)
		if len(all) != 3 || all[0].ID != all[0].Run || all[2].ID != all[0].ID+2 || all[2].Run != all[0].Run || all[0].Time != time.Now() {
			t.Fatalf("events %+v: want IDs that count up from the run's", all)
		}
		if rest := kept(t, d, all[0].ID); len(rest) != 2 || rest[0].ID != all[1].ID {
			t.Errorf("after the first: %+v", rest)
		}
		if rest := kept(t, d, all[2].ID); len(rest) != 0 {
			t.Errorf("after the last: %+v", rest)
		}
	})
}

func TestGapIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := quiet()
		tell(d, 1)
		first := kept(t, d, 0)[0]
		tell(d, 5000)
		list := kept(t, d, first.ID)
		if g := list[0]; g.Kind != api.EventGap || g.ID+1 != list[1].ID || g.Lost != list[1].ID-first.ID-1 || g.Lost == 0 {
			t.Errorf("after %d come %+v and %+v; want a gap that says what was lost", first.ID, list[0], list[1])
		}
		if list := kept(t, d, 0); list[0].Kind == api.EventGap {
			t.Errorf("who asks for what is kept is told of a gap: %+v", list[0])
		}
	})
}

func TestAnotherRunIsAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := quiet()
		tell(before, 2)
		last := kept(t, before, 0)[1]
		time.Sleep(time.Second)
		after := quiet()
		for _, since := range []uint64{last.ID, last.ID + 1e9} { // the clock may have been set back
			if list := kept(t, after, since); len(list) != 1 || list[0].Kind != api.EventGap || list[0].Run <= last.Run {
				t.Errorf("a new run tells %+v after event %d of an earlier one; want a gap", list, since)
			}
		}
		tell(after, 1)
		if list := kept(t, after, last.ID); len(list) != 2 || list[1].ID <= last.ID {
			t.Errorf("a new run tells %+v; want a gap and an event with a higher ID than %d", list, last.ID)
		}
	})
}

// A reader who does not read keeps nobody waiting, and one who follows sees each event.
func TestReadersFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := quiet()
		ctx, cancel := context.WithCancel(t.Context())
		var seen []api.Event
		done, goOn := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for e := range d.Events(ctx, 0) {
				seen = append(seen, e)
				if len(seen) == 1 {
					<-goOn
				}
			}
		}()
		synctest.Wait()
		tell(d, 1)
		synctest.Wait()
		if len(seen) != 1 {
			t.Errorf("the reader has seen %d events; want 1", len(seen))
		}
		tell(d, 5000)
		close(goOn)
		synctest.Wait()
		cancel()
		<-done
		if last := seen[len(seen)-1]; len(seen) < 2 || seen[1].Kind != api.EventGap || last.ID != last.Run+5000 {
			t.Errorf("a slow reader has %d events, the last is %+v; want a gap and the newest", len(seen), last)
		}
	})
}

func TestEventIsLogged(t *testing.T) {
	var out bytes.Buffer
	d := diary.New(slog.New(slog.NewTextHandler(&out, nil)))
	d.Tell(api.Event{Kind: api.EventReleased, Text: "released", Round: 7, Share: 0.01562499999959145})
	d.Tell(api.Event{Kind: api.EventWarning, Text: "the disk is full"})
	for _, want := range []string{"level=INFO msg=released round=7 share=0.0156", `level=WARN msg="the disk is full"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log is %q; want %q in it", out.String(), want)
		}
	}
}

// What comes many at a time is told once a minute, added up, and not lost at the end.
func TestManyAreToldTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := quiet()
		gather := func(times int) {
			for missing := range times {
				d.Gather(api.Event{Kind: api.EventRejected, Records: 2, Missing: missing, Rejected: map[string]uint64{"stale": 1}})
			}
		}
		gather(4)
		tell(d, 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		if list := kept(t, d, 0); len(list) != 3 || list[0].Records != 2 || list[2].Records != 6 || list[2].Missing != 3 || list[2].Rejected["stale"] != 3 {
			t.Errorf("events %+v; want the first, the other kind, and three added up, with what the last says is missing", list)
		}
		gather(2)
		d.Close()
		if list := kept(t, d, 0); len(list) != 4 || list[3].Records != 4 {
			t.Errorf("events %+v; want what waited at the end", list)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if list := kept(t, d, 0); len(list) != 4 {
			t.Errorf("events %+v; want each once", list)
		}
	})
}

// Readers have each of these events, and the log has those of a minute in one line, with their
// counts added up.
func TestEachIsKeptAndLoggedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d := diary.New(slog.New(slog.NewTextHandler(&log, nil)))
		for round := range uint64(5) {
			d.TellEach(api.Event{Kind: api.EventReleased, Text: "released", Round: round + 1, Share: .125})
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		d.TellEach(api.Event{Kind: api.EventReleased, Text: "released", Round: 6, Share: .125})
		d.Close()
		if list := kept(t, d, 0); len(list) != 6 || list[3].Round != 4 || list[3].Share != .125 {
			t.Errorf("events %+v; want each", list)
		}
		var said []string
		for line := range strings.Lines(log.String()) {
			_, text, _ := strings.Cut(line, "msg=")
			said = append(said, strings.TrimSpace(text))
		}
		if want := []string{"released round=1 share=0.125", "released round=5 share=0.5 times=4", "released round=6 share=0.125"}; !slices.Equal(said, want) {
			t.Errorf("the log says %q; want %q", said, want)
		}
	})
}

// What strangers can make happen is told a number of times, and then counted, so that it
// pushes out nothing else.
func TestStrangersCannotFillTheDiary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := quiet()
		d.Tell(api.Event{Kind: api.EventWarning, Text: "something is wrong"})
		for range 100000 {
			d.Sparsely(api.Event{Kind: api.EventMet, Text: "neighbour met", Peer: "a stranger"})
			time.Sleep(30 * time.Millisecond) // for fifty minutes
		}
		d.Sparsely(api.Event{Kind: api.EventLeft, Text: "neighbour left", Peer: "another one"})
		d.Close()
		list := kept(t, d, 0)
		if list[0].Kind != api.EventWarning || list[len(list)-2].Kind != api.EventLeft {
			t.Errorf("the first event is %+v, the last but one %+v", list[0], list[len(list)-2])
		}
		told, more := 0, 0
		for _, e := range list {
			var n int
			switch _, err := fmt.Sscanf(e.Text, "neighbour met: %d times more", &n); {
			case err == nil && e.Kind == api.EventMet && e.Peer == "":
				more += n
			case e.Kind == api.EventMet:
				told++
			}
		}
		if told+more != 100000 || told > 140 {
			t.Errorf("%d events are told and %d counted, of 100000", told, more)
		}
		time.Sleep(time.Hour)
		if again := kept(t, d, 0); len(again) != len(list) {
			t.Errorf("%d events, then %d; want each count once", len(list), len(again))
		}
	})
}

// The log says by what a verdict is in its value: whoever hides values hides that too.
func TestVerdictByLogLossIsLogged(t *testing.T) {
	var log bytes.Buffer
	d := diary.New(slog.New(slog.NewTextHandler(&log, nil)))
	d.Tell(api.Event{Kind: api.EventFitted, Text: "fitted", Verdict: "better", ByLogLoss: true})
	d.Tell(api.Event{Kind: api.EventFitted, Text: "fitted", Verdict: "worse"})
	if text := log.String(); !strings.Contains(text, ` verdict="better by log loss"`+"\n") || !strings.Contains(text, " verdict=worse\n") {
		t.Errorf("the log says:\n%s", text)
	}
}
