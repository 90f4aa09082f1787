package members

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

func TestPut(t *testing.T) {
	_, a := newKey(t)
	_, b := newKey(t)
	l := &List{Network: "garden", Version: 1}
	for _, c := range []struct {
		m    Member
		want string // part of the error; "": none
	}{
		{Member{Peer: a, Name: "house", Added: start}, ""},
		{Member{Peer: b, Name: "house", Added: start, Expires: start.Add(time.Hour)}, ""},
		{Member{Peer: b, Name: "shed", Added: start.Add(time.Minute)}, ""},
		{Member{Name: "nobody", Added: start}, "no peer ID"},
		{Member{Peer: a, Name: strings.Repeat("x", maxName+1), Added: start}, "more than 64 bytes"},
		{Member{Peer: a, Name: "\xff", Added: start}, "no text"},
		{Member{Peer: a, Added: start, Expires: start.Add(-time.Hour)}, "expire before"},
	} {
		if err := l.Put(c.m); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("Put(%+v): %v, want %q", c.m, err, c.want)
		}
	}
	if m, err := l.Find("shed"); err != nil || m.Peer != b || !m.Added.Equal(start) || !m.Expires.IsZero() {
		t.Errorf("the entry that was replaced: %+v, %v", m, err)
	}
	if m, err := l.Find(a.String()); err != nil || m.Name != "house" {
		t.Errorf("by ID: %+v, %v", m, err)
	}
	if _, err := l.Find("barn"); !errors.Is(err, errNotListed) {
		t.Errorf("nobody: %v", err)
	}
	if err := l.Put(Member{Peer: b, Name: "house", Added: start}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Find("house"); err == nil || !strings.Contains(err.Error(), "2 members are called") {
		t.Errorf("two of a name: %v", err)
	}
	l.Remove(a)
	l.Remove(a)
	if len(l.Members) != 1 || l.Members[0].Peer != b {
		t.Errorf("left: %v", l.Members)
	}
}

// Memberships end by each node's own clock, which is never behind the list.
func TestExpiry(t *testing.T) {
	key, _ := newKey(t)
	_, a := newKey(t)
	_, b := newKey(t)
	l := List{Network: "garden", Version: 1}
	for _, m := range []Member{{Peer: a, Added: start}, {Peer: b, Added: start.Add(-2 * time.Hour), Expires: start.Add(time.Hour)}} {
		if err := l.Put(m); err != nil {
			t.Fatal(err)
		}
	}
	before, err := l.Sign(key, start)
	if err != nil {
		t.Fatal(err)
	}
	after, err := l.Sign(key, start.Add(2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	_, stranger := newKey(t)
	for _, c := range []struct {
		list *Signed
		p    peer.ID
		now  time.Time
		want bool
	}{
		{before, a, start, true},
		{before, a, time.Unix(0, 0), true},
		{before, b, start.Add(time.Hour - time.Second), true},
		{before, b, start.Add(time.Hour), false},
		{after, b, time.Unix(0, 0), false}, // a clock without a battery
		{after, a, time.Unix(0, 0), true},
		{before, stranger, start, false},
	} {
		if got := c.list.Admits(c.p, c.now); got != c.want {
			t.Errorf("version of %v, at %v: %v, want %v", c.list.Issued, c.now, got, c.want)
		}
	}
}

func TestNetworkNames(t *testing.T) {
	for name, good := range map[string]bool{
		"garden": true, "Garden-2_b.c": true, "": false, "-a": false, "a b": false, "a/b": false,
		"ä": false, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false,
	} {
		if err := CheckNetwork(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
