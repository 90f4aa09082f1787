package members

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestOffer(t *testing.T) {
	key, authority := newKey(t)
	other, otherID := newKey(t)
	_, self := newKey(t)
	_, friend := newKey(t)
	b := newBook(t, self, nil, authority, otherID)
	offered := func(s *Signed, news bool, want error) {
		t.Helper()
		got, err := b.Offer(s.Text)
		if got != news || !errors.Is(err, want) {
			t.Errorf("version %d: %v, %v; want %v, %v", s.Version, got, err, news, want)
		}
	}
	if b.admits(friend) || b.Member(friend) {
		t.Error("without a list a stranger is admitted")
	}
	three := sign(t, key, 3, self, friend)
	offered(three, true, nil)
	offered(three, false, nil)
	offered(sign(t, key, 2, self), false, ErrOlder)
	if !b.admits(friend) || !b.Member(friend) || b.admits(authority) {
		t.Error("the list does not decide")
	}
	same := sign(t, other, 3, self)
	if same.newer(three) == three.newer(same) {
		t.Error("two lists of a version are not in order")
	}
	if same.newer(three) {
		offered(same, true, nil)
		offered(three, false, ErrOlder)
	} else {
		offered(same, false, ErrOlder)
	}
	offered(sign(t, other, 4, self), true, nil)
	if b.Member(friend) {
		t.Error("a revoked member is admitted")
	}
	l := List{Network: "yard", Version: 9}
	s, err := l.Sign(key, start)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Offer(s.Text); err == nil || !strings.Contains(err.Error(), `"yard"`) {
		t.Errorf("the list of another network: %v", err)
	}
}

// What was taken in is there after a restart; what is damaged counts as none, and is
// healed by the next list.
func TestOpen(t *testing.T) {
	key, authority := newKey(t)
	_, self := newKey(t)
	b := newBook(t, self, nil, authority)
	list := sign(t, key, 3, self)
	offer(t, list, b)
	again, err := Open(b.config)
	if err != nil || version(again) != 3 {
		t.Fatalf("version %d, %v", version(again), err)
	}
	_, stranger := newKey(t)
	for name, text := range map[string][]byte{
		"cut":      list.Text[:len(list.Text)/2],
		"flipped":  bytes.Replace(list.Text, []byte("version = 3"), []byte("version = 9"), 1),
		"empty":    {},
		"stranger": bytes.ReplaceAll(list.Text, []byte(self.String()), []byte(stranger.String())),
	} {
		if err := os.WriteFile(b.config.File, text, 0o600); err != nil {
			t.Fatal(err)
		}
		damaged, err := Open(b.config)
		if err != nil || damaged.List() != nil || damaged.Member(self) {
			t.Errorf("%s: %v, %v", name, damaged.List(), err)
		}
		if err := damaged.Damage(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), b.config.File) {
			t.Errorf("%s: damage %v", name, err)
		}
		offer(t, list, damaged)
		if err := damaged.Damage(); err != nil {
			t.Errorf("%s: damage after a good list: %v", name, err)
		}
	}
	for name, change := range map[string]func(*Config){
		"no authority": func(c *Config) { c.Authorities = nil },
		"no network":   func(c *Config) { c.Network = "" },
		"a directory":  func(c *Config) { c.File = t.TempDir() },
	} {
		c := b.config
		change(&c)
		if _, err := Open(c); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

// A list that cannot be stored does not count.
func TestAListThatCannotBeStoredDoesNotCount(t *testing.T) {
	key, authority := newKey(t)
	_, self := newKey(t)
	b := newBook(t, self, nil, authority)
	offer(t, sign(t, key, 1, self), b)
	b.config.File += "/missing/list.toml"
	if _, err := b.Offer(sign(t, key, 2).Text); err == nil || !strings.Contains(err.Error(), "the one before still counts") {
		t.Errorf("%v", err)
	}
	if version(b) != 1 || !b.Member(self) {
		t.Error("the new list counts")
	}
}

// A newer list that was put into the file counts; an older one, or a damaged one, does not.
func TestAListIsPutIntoTheFile(t *testing.T) {
	authority, trusted := newKey(t)
	_, id := keys(t, 2)
	b := newBook(t, id[0], nil, trusted)
	for _, step := range []struct {
		text []byte
		want uint64
	}{
		{sign(t, authority, 2, id...).Text, 2},
		{sign(t, authority, 1, id...).Text, 2},
		{[]byte("noise"), 2},
		{sign(t, authority, 4, id...).Text, 4},
	} {
		if err := os.WriteFile(b.config.File, step.text, 0o600); err != nil {
			t.Fatal(err)
		}
		if b.reread(); version(b) != step.want {
			t.Errorf("version %d, want %d", version(b), step.want)
		}
		text, err := os.ReadFile(b.config.File)
		if list := b.List(); err != nil || !bytes.Equal(text, list.Text) && string(step.text) != "noise" {
			t.Errorf("version %d counts, and is not in the file, %v", list.Version, err)
		}
	}
	if err := os.WriteFile(b.config.File, sign(t, authority, 6, id...).Text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Offer(sign(t, authority, 5, id...).Text); !errors.Is(err, ErrOlder) || version(b) != 6 {
		t.Errorf("one that is older than that in the file: version %d, %v", version(b), err)
	}
}

// Two lists of one version are not told as an older one: who changed which members is.
func TestAForkIsTold(t *testing.T) {
	authority, trusted := newKey(t)
	_, id := keys(t, 3)
	kept, ignored := sign(t, authority, 9, id[:2]...), sign(t, authority, 9, id[0], id[2])
	if ignored.newer(kept) {
		kept, ignored = ignored, kept
	}
	b := newBook(t, id[0], nil, trusted)
	offer(t, kept, b)
	_, err := b.Offer(ignored.Text)
	fork, ok := errors.AsType[*Fork](err)
	if !ok || !errors.Is(err, ErrOlder) || fork.Kept != b.List() {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{
		"two different lists have version 9", "only the ignored list has node 1 " + ignored.unshared(kept),
		"only the one that counts has node 1 " + kept.unshared(ignored), "make the change again",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// unshared is the member that only s has.
func (s *Signed) unshared(other *Signed) string {
	for _, m := range s.Members {
		if _, both := other.Member(m.Peer); !both {
			return m.Peer.String()
		}
	}
	return ""
}
