package storage

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/privacy"
)

// recordModel is the obvious twin of the stored records.
type recordModel struct {
	slots  []learner.Record // X == nil: deleted
	opened time.Time        // the newest cohort
}

func (m *recordModel) append(recs []learner.Record, in Intake, now time.Time) {
	var cohort privacy.Cohort
	used := 0
	if n := len(m.slots); n > 0 {
		cohort = m.slots[n-1].Cohort
		for _, r := range m.slots {
			if r.Cohort == cohort {
				used++
			}
		}
	}
	if cohort == 0 || in.Closed(cohort) || in.Age > 0 && !now.Before(m.opened.Add(in.Age)) {
		used = in.Size
	}
	for _, r := range recs {
		if used >= in.Size {
			cohort, used, m.opened = cohort+1, 0, now
		}
		used++
		r.Seq, r.Cohort = learner.Seq(len(m.slots)+1), cohort
		m.slots = append(m.slots, r)
	}
}

func (m *recordModel) delete(q learner.Seq) bool {
	if q < 1 || q > learner.Seq(len(m.slots)) || m.slots[q-1].X == nil {
		return false
	}
	m.slots[q-1].X, m.slots[q-1].Y = nil, 0
	return true
}

func (m *recordModel) check(t *testing.T, s *Store) {
	t.Helper()
	live, deleted, err := s.Records()
	require.NoError(t, err)
	var wantLive, wantDeleted []learner.Record
	for _, r := range m.slots {
		if r.X == nil {
			wantDeleted = append(wantDeleted, r)
		} else {
			wantLive = append(wantLive, r)
		}
	}
	want := Counts{Records: len(wantLive), Slots: make(map[privacy.Cohort]int), Newest: learner.Seq(len(m.slots))}
	for _, r := range m.slots {
		if !r.Seq.HeldOut() {
			want.Slots[r.Cohort]++
		} else if r.X != nil {
			want.HeldOut++
		}
	}
	if got, err := s.Count(); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("counted %+v, want %+v; error %v", got, want, err)
	}
	if !slices.EqualFunc(live, wantLive, sameRecord) || !slices.EqualFunc(deleted, wantDeleted, sameRecord) {
		t.Fatalf("%d live and %d deleted records are stored, want %d and %d alike", len(live), len(deleted), len(wantLive), len(wantDeleted))
	}
}

func TestRecordsMatchTheModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, _ := open(t, newPath(t))
		var model recordModel
		now := today
		for range 60 {
			now = now.Add(time.Duration(r.IntN(20)) * time.Minute)
			switch r.IntN(8) {
			case 0:
				s, _ = reopen(t, s)
				model.check(t, s)
			case 1, 2:
				q := learner.Seq(r.IntN(len(model.slots) + 2))
				err := s.DeleteRecord(q)
				if model.delete(q) != (err == nil) || (err != nil && !errors.Is(err, ErrNoRecord)) {
					t.Fatalf("seed %d: delete %d: %v", seed, q, err)
				}
			default:
				recs, used := randomRecords(r, r.IntN(6)), r.IntN(4) == 0
				in := Intake{Admit: task().Admit, Size: 1 + r.IntN(10), Age: time.Duration(r.IntN(3)) * time.Hour / 2, Closed: func(privacy.Cohort) bool { return used }}
				before := len(model.slots)
				model.append(recs, in, now)
				stored, err := s.AppendRecords(recs, in, now)
				if err != nil || !slices.EqualFunc(stored, model.slots[before:], sameRecord) {
					t.Fatalf("seed %d: appended %v, want %v; error %v", seed, stored, model.slots[before:], err)
				}
			}
		}
		model.check(t, s)
	}
}

func TestNumbersAreNeverReused(t *testing.T) {
	s, _ := open(t, newPath(t))
	r := rand.New(rand.NewPCG(1, 2))
	for want := learner.Seq(1); want <= 3; want++ {
		stored, err := s.AppendRecords(randomRecords(r, 1), full(10), today)
		require.NoError(t, err)
		if stored[0].Seq != want {
			t.Fatalf("the record got number %d, want %d", stored[0].Seq, want)
		}
		require.NoError(t, s.DeleteRecord(want))
		s, _ = reopen(t, s)
	}
}

func TestAppendRefusesAnEmptyCohortSize(t *testing.T) {
	s, _ := open(t, newPath(t))
	if _, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 3)), 1), full(0), today); err == nil {
		t.Fatal("a cohort of no records was accepted")
	}
}

// One record that the task does not admit keeps all records of a call out.
func TestAppendRefusesWhatTheTaskDoesNotAdmit(t *testing.T) {
	s, _ := open(t, newPath(t))
	for name, spoil := range map[string]func(*learner.Record){
		"label": func(r *learner.Record) { r.Y = 1e4 },
		"long":  func(r *learner.Record) { r.X = []float64{1, 1, 0, 0, 0, 0, 0, 0} },
		"short": func(r *learner.Record) { r.X = r.X[1:] },
	} {
		recs := randomRecords(rand.New(rand.NewPCG(1, 26)), 3)
		spoil(&recs[1])
		if _, err := s.AppendRecords(recs, full(10), today); err == nil || !strings.Contains(err.Error(), "record 2 of 3 ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := s.Count()
	require.NoError(t, err)
	if c.Newest != 0 {
		t.Errorf("%d records were stored", c.Newest)
	}
}

// A cohort keeps the time at which it was opened when its first record is deleted.
func TestCohortsCloseByAge(t *testing.T) {
	s, _ := open(t, newPath(t))
	in := Intake{Admit: task().Admit, Size: 100, Age: time.Hour}
	for _, c := range []struct {
		after time.Duration
		want  privacy.Cohort
	}{
		{0, 1}, {time.Hour - 1, 1}, {time.Hour, 2}, {time.Minute, 2}, {2*time.Hour - 1, 2}, {2 * time.Hour, 3}, {9 * time.Hour, 4},
	} {
		stored, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 24)), 1), in, today.Add(c.after))
		require.NoError(t, err)
		if stored[0].Cohort != c.want {
			t.Errorf("after %v a record joined cohort %d, want %d", c.after, stored[0].Cohort, c.want)
		}
		require.NoError(t, s.DeleteRecord(stored[0].Seq))
		s, _ = reopen(t, s)
	}
	in.Age = 0
	stored, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 24)), 1), in, today.Add(1000*time.Hour))
	if err != nil || stored[0].Cohort != 4 {
		t.Errorf("whatever the age, a record joined cohort %d, error %v; want 4", stored[0].Cohort, err)
	}
}

// The agent takes what Records returns, merged in order of arrival, as it took
// the records when they came.
func TestRecordsSuitAFreshAgent(t *testing.T) {
	linear := learner.Linear()
	policy, err := privacy.Design{Noise: privacy.Unprotected, Clip: linear.Clip}.Policy()
	require.NoError(t, err)
	mechanism, _ := policy.Next(0)
	newAgent := func() learner.Agent {
		a, err := learner.New(learner.Config{
			Self: "a", Task: linear, Policy: policy, WakeMean: 1, Schedule: rand.New(rand.NewPCG(1, 4)),
		})
		require.NoError(t, err)
		return a
	}
	s, _ := open(t, newPath(t))
	recs := make([]learner.Record, 7)
	for i := range recs {
		recs[i] = learner.Record{X: make([]float64, linear.Dimension()), Y: 1}
		recs[i].X[i] = 1
	}
	stored, err := s.AppendRecords(recs, Intake{Admit: linear.Admit, Size: 3}, today)
	require.NoError(t, err)
	first := newAgent()
	require.NoError(t, first.Records(stored, nil))
	require.NoError(t, s.DeleteRecord(2))
	require.NoError(t, first.Records(nil, []learner.Seq{2}))

	live, deleted, err := s.Records()
	require.NoError(t, err)
	merged := slices.SortedFunc(slices.Values(append(live, deleted...)), func(a, b learner.Record) int { return int(a.Seq) - int(b.Seq) })
	second := newAgent()
	require.NoError(t, second.Records(merged, nil))
	edges := []learner.Edge{{Peer: "b", Weight: 1, Live: true}}
	ask := func(a learner.Agent) *learner.Query { return a.Tick(a.Neighbours(0, edges).Next).Ask }
	one, two := ask(first), ask(second)
	if one == nil || two == nil {
		t.Fatal("an agent asked for nothing")
	}
	slots := func(q *learner.Query) (n []int) {
		for i := range q.Sums {
			n = append(n, q.Sums[i].Slots())
		}
		return n
	}
	noise := privacy.NewSeededNoise(1)
	a, b := noise.Answer(mechanism, one.Sums), noise.Answer(mechanism, two.Sums)
	if !slices.Equal(slots(one), slots(two)) || !slices.Equal(a.Sum, b.Sum) || a.Slots != 6 {
		t.Fatalf("slots %v and %v, want alike and 6 in all (one of 7 is held out)", slots(one), slots(two))
	}
}
