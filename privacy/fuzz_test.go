package privacy

import (
	"bytes"
	"encoding/base64"
	"testing"
)

// A text is a schedule or a hash only if that is written so, and then it has sound steps.
func FuzzSchedule(f *testing.F) {
	text, err := everySchedule(f).MarshalText()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	for _, step := range everySchedule(f).steps {
		text, err := NewSchedule(step).MarshalText()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(everySchedule(f).Hash().String()))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Schedule
		if s.UnmarshalText(text) == nil {
			data, err := base64.StdEncoding.DecodeString(string(text))
			if err != nil || !bytes.Equal(s.encode(), data) {
				t.Fatalf("%q becomes %x, %v", text, s.encode(), err)
			}
			for _, step := range s.steps {
				if !step.Mechanism.sound() || step.Count < 1 {
					t.Fatalf("%+v is accepted", step)
				}
			}
		}
		var h PlanHash
		if h.UnmarshalText(text) == nil && h.String() != string(bytes.ToLower(text)) {
			t.Fatalf("%q becomes %s", text, h)
		}
	})
}
