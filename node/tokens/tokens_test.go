package tokens

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

func issue(t *testing.T, s *Store, name string, life time.Duration) api.IssuedToken {
	t.Helper()
	made, err := s.Issue(api.TokenWish{Name: name, Scopes: []api.Scope{api.Read}}, life)
	require.NoError(t, err)
	return made
}

// The file has hashes only, for its owner only, and another process finds the tokens in it.
func TestTokensAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	s, err := Open(path)
	require.NoError(t, err)
	one, two := issue(t, s, "one", 0), issue(t, s, "two", 0)
	if one.Secret == two.Secret || one.ID == two.ID || len(one.Secret) < 50 {
		t.Errorf("%+v, %+v", one, two)
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	if strings.Contains(string(text), strings.TrimPrefix(one.Secret, prefix)) || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v:\n%s", info.Mode(), text)
	}
	again, err := Open(path)
	require.NoError(t, err)
	if found, ok := again.Find(one.Secret); !ok || found.ID != one.ID || found.Used != time.Now().UTC().Format(time.DateOnly) {
		t.Errorf("found %+v, %v", found, ok)
	}
	require.NoError(t, again.Revoke(one.ID))
	if err := again.Revoke(one.ID); !errors.Is(err, api.ErrNoToken) {
		t.Errorf("revoked twice: %v", err)
	}
	third, err := Open(path)
	require.NoError(t, err)
	if _, ok := third.Find(one.Secret); ok {
		t.Error("a revoked token is found")
	}
	if list := third.List(); len(list) != 1 || list[0].Name != "two" || list[0].Used != "" {
		t.Errorf("listed %+v", list)
	}
}

// Nothing but the whole secret of a token that is not over is one.
func TestFindWantsTheWholeSecret(t *testing.T) {
	s, err := Open("")
	require.NoError(t, err)
	now := time.Now()
	s.now = func() time.Time { return now }
	made := issue(t, s, "short", time.Hour)
	for _, wrong := range []string{"", "x", made.Secret[1:], made.Secret[:len(made.Secret)-1], made.Secret + "x", strings.ToUpper(made.Secret), s.list[0].Hash} {
		if _, ok := s.Find(wrong); ok {
			t.Errorf("%q is taken for %q", wrong, made.Secret)
		}
	}
	if _, ok := s.Find(made.Secret); !ok {
		t.Error("the token is not found")
	}
	now = now.Add(2 * time.Hour)
	if _, ok := s.Find(made.Secret); ok || len(s.List()) != 0 {
		t.Error("a token is valid when it is over")
	}
	issue(t, s, "later", 0)
	if len(s.list) != 1 {
		t.Errorf("%d are kept, one of them over", len(s.list))
	}
}

func TestTokensThatAreNone(t *testing.T) {
	s, err := Open("")
	require.NoError(t, err)
	for _, w := range []api.TokenWish{{}, {Name: "x"}, {Name: " ", Scopes: []api.Scope{api.Read}}, {Name: "x\n", Scopes: []api.Scope{api.Read}},
		{Name: "x", Scopes: []api.Scope{api.Open}}, {Name: "x", Scopes: []api.Scope{api.Read, "all"}}, {Name: strings.Repeat("x", 61), Scopes: []api.Scope{api.Read}},
		{Name: "x\x7f", Scopes: []api.Scope{api.Read}}, {Name: "x\u009b31m", Scopes: []api.Scope{api.Read}}, {Name: "x\u202e", Scopes: []api.Scope{api.Read}}} {
		if _, err := s.Issue(w, 0); !errors.Is(err, api.ErrRequest) {
			t.Errorf("%+v: %v", w, err)
		}
	}
	issue(t, s, strings.Repeat("ä", 60), 0)
	for range most - 1 {
		issue(t, s, "many", 0)
	}
	if _, err := s.Issue(api.TokenWish{Name: "x", Scopes: []api.Scope{api.Read}}, 0); !errors.Is(err, api.ErrRequest) {
		t.Errorf("more than %d: %v", most, err)
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a directory is a file of tokens")
	}
}

// A code is taken once, and soon.
func TestCodes(t *testing.T) {
	var c Codes
	now := time.Now()
	one := c.Issue(now)
	if c.Take("", now) || c.Take(one.Code+"x", now) || !c.Take(one.Code, now) || c.Take(one.Code, now) {
		t.Error("a code is not taken once")
	}
	if late := c.Issue(now); c.Take(late.Code, now.Add(codeLife)) {
		t.Error("a code is taken when it is over")
	}
	first := c.Issue(now)
	for range mostCodes {
		c.Issue(now)
	}
	if c.Take(first.Code, now) || len(c.list) != mostCodes {
		t.Error("codes are not bounded")
	}
}

// What is known of the life of a token goes with it.
func TestLivesOfTokensEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open("")
		require.NoError(t, err)
		short, long := issue(t, s, "short", time.Hour), issue(t, s, "long", 0)
		ends, stays := s.Life(short.ID), s.Life(long.ID)
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		if ends.Err() == nil || stays.Err() != nil || len(s.lives) != 1 {
			t.Errorf("after an hour: %v, %v, and %d lives", ends.Err(), stays.Err(), len(s.lives))
		}
		require.NoError(t, s.Revoke(long.ID))
		synctest.Wait()
		if stays.Err() == nil || len(s.lives) > 0 {
			t.Errorf("revoked: %v, and %d lives", stays.Err(), len(s.lives))
		}
	})
}
