package summing

import (
	"errors"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// What is known of a member says why a sum waits for it.
func TestWanting(t *testing.T) {
	const m = peer.ID("m")
	answers, absent, on := Contact{Answered: time.Now()}, map[peer.ID]bool{m: true}, &Duty{Missing: []int{2}}
	for want, c := range map[string]struct {
		contact Contact
		state   State
		i       int
	}{
		"does not answer":                    {Contact{Answered: time.Now(), Failure: errors.New("no")}, State{Absent: absent}, 1},
		"was not called yet":                 {Contact{}, State{Duty: on}, 2},
		"has not begun with this sum":        {answers, State{Absent: absent}, 1},
		"has not sent its keys or its noise": {answers, State{Duty: on}, 2},
	} {
		if got := wanting(c.contact, &c.state, m, c.i); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	for what, s := range map[string]State{
		"all is here": {Duty: on, Absent: absent}, "open": {Closes: time.Now(), Absent: absent}, "nothing is known": {},
	} {
		if got := wanting(answers, &s, m, 1); got != "" {
			t.Errorf("%s: %q", what, got)
		}
	}
	if got := wanting(answers, &State{Duty: on, Absent: absent}, m, 2); got != "has not begun with this sum" {
		t.Errorf("a member knows %q", got)
	}
}
