package privacy

import (
	"math"
	"reflect"
	"slices"
	"testing"
)

func TestScheduleAgainstList(t *testing.T) {
	a, b, c := mustGaussian(t, 1, 2), mustGaussian(t, 1, 3), mustGaussian(t, 1, 4)
	for _, steps := range [][]Step{
		nil, {{a, 0}}, {{a, 1}}, {{a, 3}, {b, 1}}, {{a, 2}, {b, -1}, {a, 2}, {c, 4}}, {{a, 1}, {b, 0}, {c, 1}, {a, 1}},
	} {
		var list []Mechanism
		for _, step := range steps {
			for range step.Count {
				list = append(list, step.Mechanism)
			}
		}
		s := NewSchedule(steps...)
		if s.Releases() != len(list) {
			t.Errorf("%v: %d releases, want %d", steps, s.Releases(), len(list))
		}
		for k := range len(list) + 3 {
			filter, plan := Policy{Schedule: s}, Policy{Terms: Terms{Accounting: CommittedPlan}, Schedule: s}
			got, ok := filter.Next(k)
			planned, more := plan.Next(k)
			if len(list) == 0 {
				if ok || more {
					t.Errorf("%v has a release %d", steps, k)
				}
				continue
			}
			want := list[min(k, len(list)-1)]
			if !ok || got != want {
				t.Errorf("%v: release %d is %v, want %v", steps, k, got, want)
			}
			if more != (k < len(list)) || more && planned != want {
				t.Errorf("%v: planned release %d is %v, %v", steps, k, planned, more)
			}
		}
		if again := NewSchedule(s.steps...); again.Hash() != s.Hash() || again.Releases() != s.Releases() {
			t.Errorf("%v: the steps do not make the schedule again", steps)
		}
	}
}

func TestScheduleIsAValue(t *testing.T) {
	steps := []Step{{mustGaussian(t, 1, 2), 1}, {mustGaussian(t, 1, 3), 2}}
	s := NewSchedule(steps...)
	hash := s.Hash()
	steps[0].Count = 9
	if s.Releases() != 3 || s.Hash() != hash {
		t.Error("a schedule changed after it was made")
	}
}

func TestScheduleOfTooMany(t *testing.T) {
	m := mustGaussian(t, 1, 2)
	s := NewSchedule(Step{m, math.MaxInt}, Step{mustGaussian(t, 1, 3), 5}, Step{m, math.MaxInt})
	if s.Releases() != math.MaxInt {
		t.Errorf("%d releases", s.Releases())
	}
}

// The hash depends on every field of every step, on their order and number, and
// not on how equal releases are grouped. A field added to Mechanism later is noticed
// here.
func TestHash(t *testing.T) {
	a, b := mustGaussian(t, 1, 2), mustGaussian(t, 1, 3)
	if NewSchedule(Step{a, 2}, Step{a, 3}).Hash() != NewSchedule(Step{a, 5}).Hash() {
		t.Error("one schedule has two hashes")
	}
	hashes := [][32]byte{
		NewSchedule().Hash(),
		NewSchedule(Step{a, 5}).Hash(),
		NewSchedule(Step{a, 4}).Hash(),
		NewSchedule(Step{a, 2}, Step{b, 3}).Hash(),
		NewSchedule(Step{b, 3}, Step{a, 2}).Hash(),
	}
	for i := range reflect.TypeFor[Mechanism]().NumField() {
		changed := a
		field := reflect.ValueOf(&changed).Elem().Field(i)
		// Unexported fields are set through their address.
		field = reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem()
		switch field.Kind() {
		case reflect.String:
			field.SetString("other")
		default:
			field.SetInt(field.Int() + 1)
		}
		hashes = append(hashes, NewSchedule(Step{changed, 5}).Hash())
	}
	for i, h := range hashes {
		if slices.Index(hashes, h) != i {
			t.Errorf("schedules %d and %d have one hash", slices.Index(hashes, h), i)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	var steps []Step
	for i := range 1000 {
		steps = append(steps, Step{mustGaussian(b, 1, 2+float64(i)), 1})
	}
	p := Policy{Schedule: NewSchedule(steps...)}
	for b.Loop() {
		p.Next(777)
	}
}
