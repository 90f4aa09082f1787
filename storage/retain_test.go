package storage

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"p2pnode/internal/require"
	"p2pnode/learner"
)

// expireAll erases what is beyond the limits, as a node does.
func expireAll(t *testing.T, s *Store, l Limits, counts *Counts, from learner.Seq) learner.Seq {
	t.Helper()
	for {
		c, next, err := s.Expire(l, counts.Records, from)
		require.NoError(t, err)
		counts.Erase(c.Erased, c.Noted)
		if from = next; len(c.Erased) == 0 {
			require.NoError(t, s.Wipe())
			return from
		}
	}
}

// setAside sets a record aside, as an upgrade does.
func setAside(t *testing.T, s *Store, q learner.Seq) {
	t.Helper()
	at, err := s.slot(q)
	require.NoError(t, err)
	at.aside = true
	require.NoError(t, s.update(func(tx *bbolt.Tx) error {
		return put(tx.Bucket(bucketRecords), numberKey(uint64(q)), encodeSlot(at))
	}))
}

// Records that arrive over days, and are deleted, replaced and set aside, are kept exactly
// as by a twin that looks at each of them. The counts stay right, slots stay, and no time is read
// except the one that is given.
func TestExpireKeepsTheNewest(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 66))
		s, _ := open(t, newPath(t))
		counts, err := s.Count()
		require.NoError(t, err)
		type kept struct {
			seq   learner.Seq
			at    time.Time
			aside bool
		}
		var live []kept
		now, from := today, learner.Seq(0)
		for range 40 {
			now = now.Add(time.Duration(r.IntN(20)) * time.Hour)
			recs := randomRecords(r, r.IntN(6))
			for i := range recs {
				recs[i].Cells = packed(r)
			}
			stored, err := s.AppendRecords(recs, full(7), now)
			require.NoError(t, err)
			for _, rec := range stored {
				live = append(live, kept{rec.Seq, now, false})
			}
			if len(live) > 0 && r.IntN(3) == 0 {
				i := r.IntN(len(live))
				require.NoError(t, s.DeleteRecord(live[i].seq))
				live = slices.Delete(live, i, i+1)
			}
			if len(live) > 0 && r.IntN(3) == 0 {
				i := r.IntN(len(live))
				setAside(t, s, live[i].seq)
				live[i].aside = true
			}
			counts, err = s.Count()
			require.NoError(t, err)
			l := Limits{Records: []int{0, 20}[seed%2], Since: now.Add(-48 * time.Hour), Now: now}
			if seed > 3 {
				l.Since = time.Time{}
			}
			from = expireAll(t, s, l, &counts, from)
			live = slices.DeleteFunc(live, func(k kept) bool { return k.at.Before(l.Since) })
			newer := 0 // records that were not set aside
			for i, k := range slices.Backward(live) {
				if l.Records > 0 && newer == l.Records {
					live = live[i+1:]
					break
				}
				if !k.aside {
					newer++
				}
			}
			var want, got []learner.Seq
			for _, k := range live {
				want = append(want, k.seq)
			}
			there, _, err := s.Records()
			require.NoError(t, err)
			for _, rec := range there {
				got = append(got, rec.Seq)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, %v after the first: kept %v, want %v", seed, now.Sub(today), got, want)
			}
			if again, err := s.Count(); err != nil || !sameCounts(again, counts) {
				t.Fatalf("seed %d: counted %+v, kept %+v; %v", seed, again, counts, err)
			}
		}
	}
}

// If more must go than one transaction erases, it goes in pieces. Bytes are overwritten,
// and an import under way is not touched.
func TestExpireInPieces(t *testing.T) {
	t.Parallel()
	s, _ := open(t, newPath(t))
	r := rand.New(rand.NewPCG(1, 67))
	old := randomRecords(r, deleteBatch+5)
	_, err := s.AppendRecords(old, full(1_000_000), today)
	require.NoError(t, err)
	last := randomRecords(r, 3)
	_, err = s.AppendRecords(last, full(1_000_000), today.Add(time.Hour))
	require.NoError(t, err)
	i, err := s.Import(full(1_000_000), today.Add(-time.Hour))
	require.NoError(t, err)
	for _, rec := range randomRecords(r, importBatch+1) {
		require.NoError(t, i.Add(rec))
	}
	counts, err := s.Count()
	require.NoError(t, err)
	expireAll(t, s, Limits{Since: today.Add(time.Minute), Now: today.Add(time.Hour)}, &counts, 0)
	if live, gone, err := s.Records(); err != nil || len(live) != 3 || len(gone) != len(old) || counts.Records != 3 {
		t.Errorf("%d live, %d deleted, counted %d, %v", len(live), len(gone), counts.Records, err)
	}
	if n := seen(t, s, old[:50]); n != 0 {
		t.Errorf("%d of 50 are still in the file", n)
	}
	require.NoError(t, errorOfCommit(i.Commit(Digest{1}, 7)))
	if c, err := s.Count(); err != nil || c.Records != 3+importBatch+1 {
		t.Errorf("%+v, %v", c, err)
	}
}

func errorOfCommit(_ learner.Seq, err error) error { return err }

// Records of an earlier version, which stored only the time of a cohort's first record,
// count as being as new as the next record whose time is known.
func TestExpireOfUntoldTimes(t *testing.T) {
	s, _ := open(t, newPath(t))
	r := rand.New(rand.NewPCG(1, 68))
	_, err := s.AppendRecords(randomRecords(r, 4), full(4), today)
	require.NoError(t, err)
	forgetTimes(t, s, 2, 4)
	counts, err := s.Count()
	require.NoError(t, err)
	numbers := func(since time.Time) (list []learner.Seq) {
		c, _, err := s.Expire(Limits{Since: since, Now: since.Add(time.Hour)}, counts.Records, 0)
		require.NoError(t, err)
		for _, rec := range c.Erased {
			list = append(list, rec.Seq)
		}
		return list
	}
	later := today.Add(time.Hour)
	if got := numbers(later); !reflect.DeepEqual(got, []learner.Seq{1}) {
		t.Errorf("erased %v, want the one whose time is known", got)
	}
	_, err = s.AppendRecords(randomRecords(r, 2), full(4), later)
	require.NoError(t, err)
	if got := numbers(later); got != nil {
		t.Errorf("erased %v: they may be as new as what came next", got)
	}
	if got := numbers(later.Add(1)); !reflect.DeepEqual(got, []learner.Seq{2, 3, 4, 5, 6}) {
		t.Errorf("erased %v", got)
	}
}

// A time that no right clock can have said is none. It neither ends the scan nor keeps a
// record for ever, and a record is as new as those before it.
func TestExpireUnderWrongClocks(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	never, ahead := time.Unix(100, 0), today.Add(3650*day)
	for name, c := range map[string]struct {
		arrived []time.Time // of records 1, 2, ...
		since   time.Time
		want    []learner.Seq
	}{
		"stored before the clock was set":     {[]time.Time{never, never, today}, today.Add(-day), nil},
		"set and grown old":                   {[]time.Time{never, never, today, today.Add(2 * day)}, today.Add(day), []learner.Seq{1, 2, 3}},
		"only such":                           {[]time.Time{never, never}, today, nil},
		"stored while the clock was ahead":    {[]time.Time{ahead, today, today.Add(2 * day)}, today.Add(day), []learner.Seq{1, 2}},
		"ahead, between others":               {[]time.Time{today, ahead, ahead, today.Add(2 * day)}, today.Add(day), []learner.Seq{1}},
		"ahead, and none after it":            {[]time.Time{today, ahead}, today.Add(day), []learner.Seq{1}},
		"stored behind newer ones":            {[]time.Time{today.Add(2 * day), today}, today.Add(day), nil},
		"stored behind newer ones, now older": {[]time.Time{today.Add(2 * day), today, today.Add(4 * day)}, today.Add(3 * day), []learner.Seq{1, 2}},
	} {
		s, _ := open(t, newPath(t))
		for i, at := range c.arrived {
			_, err := s.AppendRecords(randomRecords(rand.New(rand.NewPCG(uint64(i), 69)), 1), full(100), at)
			require.NoError(t, err)
		}
		l := Limits{Since: c.since, Now: today.Add(5 * day)}
		due, err := s.Due(l, len(c.arrived), 0)
		require.NoError(t, err)
		gone, _, err := s.Expire(l, len(c.arrived), 0)
		require.NoError(t, err)
		var got []learner.Seq
		for _, r := range gone.Erased {
			got = append(got, r.Seq)
		}
		if !slices.Equal(got, c.want) || due != (len(c.want) > 0) {
			t.Errorf("%s: erased %v, want %v; due: %v", name, got, c.want, due)
		}
	}
}

// However many records do not say when they arrived, one call erases no more than it may.
func TestExpireOfManyUntoldTimes(t *testing.T) {
	t.Parallel()
	s, _ := open(t, newPath(t))
	r := rand.New(rand.NewPCG(1, 70))
	_, err := s.AppendRecords(randomRecords(r, deleteBatch+5), full(1_000_000), today.Add(1000*time.Hour))
	require.NoError(t, err)
	_, err = s.AppendRecords(randomRecords(r, 3), full(1_000_000), today)
	require.NoError(t, err)
	counts, err := s.Count()
	require.NoError(t, err)
	l := Limits{Since: today.Add(time.Hour), Now: today.Add(2 * time.Hour)}
	for _, want := range []int{deleteBatch, 8, 0} {
		c, _, err := s.Expire(l, counts.Records, 0)
		require.NoError(t, err)
		if len(c.Erased) != want {
			t.Errorf("erased %d records, want %d", len(c.Erased), want)
		}
	}
}
