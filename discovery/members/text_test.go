package members

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

func TestRoundTrip(t *testing.T) {
	key, authority := newKey(t)
	_, id := keys(t, 5)
	l := List{Network: "garden", Version: 9}
	for i, p := range id {
		m := Member{Peer: p, Name: []string{"", "shed \"old\"", "[signature]\n", "ä", "x"}[i], Added: start.Add(time.Duration(i) * time.Hour)}
		if i%2 == 0 {
			m.Expires = m.Added.Add(24 * time.Hour)
		}
		if err := l.Put(m); err != nil {
			t.Fatal(err)
		}
	}
	s, err := l.Sign(key, start)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"as it is": s.Text, "line ends of another system": bytes.ReplaceAll(s.Text, []byte("\n"), []byte("\r\n"))} {
		got, err := Parse(text, []peer.ID{authority})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if fmt.Sprint(got.List) != fmt.Sprint(s.List) || got.Authority != authority || got.digest != s.digest || !bytes.Equal(got.Text, s.Text) {
			t.Errorf("%s: %+v, want %+v", name, got, s)
		}
	}
	if !slices.IsSortedFunc(s.Members, func(a, b Member) int { return strings.Compare(string(a.Peer), string(b.Peer)) }) {
		t.Error("the members are not sorted")
	}
}

// Whatever is changed about a list, it is not believed, or says the same.
func TestEveryChangeIsNoticed(t *testing.T) {
	key, authority := newKey(t)
	_, id := keys(t, 3)
	s := sign(t, key, 3, id...)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range s.Text {
		changed := bytes.Clone(s.Text)
		changed[i] ^= byte(1 + random.IntN(255))
		if got, err := Parse(changed, []peer.ID{authority}); err == nil && got.digest != s.digest {
			t.Errorf("byte %d changed: %q", i, changed)
		}
		if got, err := Parse(s.Text[:i], []peer.ID{authority}); err == nil && got.digest != s.digest {
			t.Errorf("cut to %d bytes: believed", i)
		}
	}
}

func TestListsThatAreNotBelieved(t *testing.T) {
	key, authority := newKey(t)
	other, otherID := newKey(t)
	_, id := newKey(t)
	good := sign(t, key, 1, id)
	// forge signs whatever it is given.
	forge := func(body string) []byte {
		value, err := key.Sign(statement([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Appendf(nil, "%s%sauthority = \"%s\"\nvalue = \"%s\"\n", body, separator, authority, base64.StdEncoding.EncodeToString(value))
	}
	entry := fmt.Sprintf("[[member]]\npeer = \"%s\"\nadded = 2026-05-01T12:00:00Z\n", id)
	for _, c := range []struct {
		name string
		text []byte
		want string
	}{
		{"empty", nil, "no signature"},
		{"no list", []byte("hello"), "no signature"},
		{"another authority", sign(t, other, 1, id).Text, "not trust"},
		{"the name of an authority, the signature of another", bytes.ReplaceAll(sign(t, other, 1, id).Text, []byte(otherID.String()), []byte(authority.String())), "signature is wrong"},
		{"too large", append(bytes.Repeat([]byte("#"), MaxText), good.Text...), "more than"},
		{"a long tail", append(bytes.Clone(good.Text), bytes.Repeat([]byte("#"), maxTail)...), "no signature"},
		{"no base64", bytes.ReplaceAll(good.Text, []byte(`value = '`), []byte(`value = '!`)), "unreadable"},
		{"no TOML", forge("network = "), "cannot read"},
		{"a key of the future", forge("network = \"garden\"\nversion = 1\nissued = 2026-05-01T12:00:00Z\nlevel = 3\n"), "newer p2pnode"},
		{"version 0", forge("network = \"garden\"\nversion = 0\nissued = 2026-05-01T12:00:00Z\n"), "version 0"},
		{"a version after which none can follow", forge("network = \"garden\"\nversion = 9223372036854775807\nissued = 2026-05-01T12:00:00Z\n"), "not between"},
		{"a negative version", forge("network = \"garden\"\nversion = -1\nissued = 2026-05-01T12:00:00Z\n"), "cannot read"},
		{"no network", forge("version = 1\nissued = 2026-05-01T12:00:00Z\n"), "no name"},
		{"a member twice", forge("network = \"garden\"\nversion = 1\nissued = 2026-05-01T12:00:00Z\n" + entry + entry), "twice"},
		{"no peer ID", forge("network = \"garden\"\nversion = 1\nissued = 2026-05-01T12:00:00Z\n[[member]]\npeer = \"x\"\nadded = 2026-05-01T12:00:00Z\n"), "not a peer ID"},
	} {
		_, err := Parse(c.text, []peer.ID{authority})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := Parse(good.Text, nil); !errors.Is(err, ErrUnknown) {
		t.Errorf("nobody is trusted: %v", err)
	}
}

// The largest list there can be fits, and one member more does not.
func TestBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("16,384 entries take their time under the race detector")
	}
	key, authority := newKey(t)
	l := List{Network: strings.Repeat("n", 64), Version: maxVersion}
	for i := range maxMembers {
		l.Members = append(l.Members, Member{Peer: fakeID(i), Name: strings.Repeat("x", maxName), Added: start, Expires: start.Add(time.Hour)})
	}
	s, err := l.Sign(key, start)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d members: %d bytes", len(s.Members), len(s.Text))
	got, err := Parse(s.Text, []peer.ID{authority})
	if err != nil || len(got.Members) != maxMembers {
		t.Fatalf("%v", err)
	}
	if m, ok := got.Member(fakeID(777)); !ok || m.Peer != fakeID(777) {
		t.Error("a member is not found")
	}
	if err := l.Put(Member{Peer: fakeID(maxMembers), Added: start}); err == nil {
		t.Error("one more is put")
	}
	l.Members = append(l.Members, Member{Peer: fakeID(maxMembers), Added: start})
	if _, err := l.Sign(key, start); err == nil {
		t.Error("one more is signed")
	}
}

// fakeID is the ID of an Ed25519 key that nobody has.
func fakeID(i int) peer.ID {
	return peer.ID("\x00\x24\x08\x01\x12\x20" + fmt.Sprintf("%032d", i))
}

func TestListsCannotBeSavedAtHalf(t *testing.T) {
	key, _ := newKey(t)
	s := sign(t, key, 1)
	if err := s.Save(filepath.Join(t.TempDir(), "missing", "list.toml")); err == nil {
		t.Error("saved into a directory that is not there")
	}
}

func FuzzParse(f *testing.F) {
	key, authority := fixedKey(f, 1)
	_, id := fixedKey(f, 2)
	f.Add(sign(f, key, 1, id).Text)
	f.Add([]byte("network = \"garden\"\n" + separator + "authority = \"x\"\nvalue = \"x\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := Parse(text, []peer.ID{authority}); err == nil && s.normalise() != nil {
			t.Errorf("%q", text)
		}
		// As if it were signed: only an authority's text gets this far.
		if l, err := decode(text); err == nil {
			again, err := l.encode()
			if err != nil {
				t.Fatal(err)
			}
			if back, err := decode(again); err != nil || fmt.Sprint(back) != fmt.Sprint(l) {
				t.Errorf("%+v became %+v, %v", l, back, err)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	key, authority := newKey(b)
	l := List{Network: "garden", Version: 1}
	for i := range 10_000 {
		l.Members = append(l.Members, Member{Peer: fakeID(i), Name: fmt.Sprint("sensor ", i), Added: start})
	}
	s, err := l.Sign(key, start)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(s.Text)))
	for b.Loop() {
		if _, err := Parse(s.Text, []peer.ID{authority}); err != nil {
			b.Fatal(err)
		}
	}
}
