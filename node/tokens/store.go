// Package tokens keeps the tokens of those who may ask a node over a network: the hashes
// of their secrets, in one file of the data directory.
package tokens

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"p2pnode/internal/durable"
	"p2pnode/node/api"
)

// most is how many tokens are kept.
const most = 1000

// longestName bounds the characters of a token's name.
const longestName = 60

// prefix begins every secret, so that people and scanners recognise one.
const prefix = "p2pnode_"

// kept is a token as it is stored in the file.
type kept struct {
	api.Token
	Hash string `json:"sha256"` // of the secret, which is random, so a fast hash is enough
}

// Store holds the tokens of a data directory. It is safe for concurrent use by one
// process.
type Store struct {
	path string
	now  func() time.Time

	mu    sync.Mutex
	list  []kept
	lives map[string]life // by ID, for tokens whose life was asked for
}

// life ends when a token may not be used any more.
type life struct {
	context.Context
	end context.CancelFunc
}

// Open reads the file, which may be missing. Without a path tokens are kept in memory
// only.
func Open(path string) (*Store, error) {
	s := &Store{path: path, now: time.Now}
	if path == "" {
		return s, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s.list)
	}
	if err != nil {
		return nil, fmt.Errorf("tokens: read %s: %w", path, err)
	}
	return s, nil
}

// Issue makes a token. It is valid for the given time; 0: for ever.
func (s *Store) Issue(w api.TokenWish, life time.Duration) (api.IssuedToken, error) {
	if err := check(w); err != nil {
		return api.IssuedToken{}, api.WrongRequest(err)
	}
	now := s.now().UTC().Truncate(time.Second)
	t := api.IssuedToken{Token: api.Token{ID: hex.EncodeToString(random(4)), Name: w.Name, Scopes: w.Scopes, Created: now}}
	if life > 0 {
		t.Expires = now.Add(life)
	}
	t.Secret = prefix + base64.RawURLEncoding.EncodeToString(random(32))
	s.mu.Lock()
	defer s.mu.Unlock()
	alive := slices.DeleteFunc(slices.Clone(s.list), func(k kept) bool { return k.over(now) })
	if len(alive) >= most {
		return api.IssuedToken{}, api.WrongRequest(fmt.Errorf("tokens: there are %d already; revoke some with p2pnode token revoke", len(alive)))
	}
	return t, s.replace(append(alive, kept{t.Token, hash(t.Secret)}))
}

// random returns bytes that nobody can guess.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // cannot fail: it would end the process
	return b
}

func check(w api.TokenWish) error {
	unseen := func(r rune) bool { return !unicode.IsPrint(r) }
	if strings.TrimSpace(w.Name) == "" || utf8.RuneCountInString(w.Name) > longestName || strings.ContainsFunc(w.Name, unseen) {
		return fmt.Errorf("tokens: a token needs a name of at most %d printable characters, by which you recognise it", longestName)
	}
	if len(w.Scopes) == 0 {
		return errors.New("tokens: a token needs a scope: read, data or admin")
	}
	for _, scope := range w.Scopes {
		if scope != api.Read && scope != api.Data && scope != api.Admin {
			return fmt.Errorf("tokens: %q is none of the scopes read, data and admin", scope)
		}
	}
	return nil
}

func (k *kept) over(now time.Time) bool { return !k.Expires.IsZero() && !now.Before(k.Expires) }

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Find returns the token of a secret. Its duration reveals nothing about the stored
// secrets: it compares with all of them, by their hashes.
func (s *Store) Find(secret string) (t api.Token, found bool) {
	wanted := []byte(hash(secret))
	now := s.now().UTC()
	s.mu.Lock()
	defer s.mu.Unlock()
	at := -1
	for i := range s.list {
		if subtle.ConstantTimeCompare(wanted, []byte(s.list[i].Hash)) == 1 {
			at = i
		}
	}
	if at < 0 || s.list[at].over(now) {
		return t, false
	}
	s.used(at, now.Format(time.DateOnly))
	return s.list[at].Token, true
}

// used notes on which day the token was used. It writes the file only at the first use of
// a day. The token is valid even if that fails.
func (s *Store) used(at int, day string) {
	if s.list[at].Used == day {
		return
	}
	list := slices.Clone(s.list)
	list[at].Used = day
	if s.replace(list) != nil {
		s.list = list // so that not every request tries to write again
	}
}

// List returns the tokens that are still valid, oldest first.
func (s *Store) List() []api.Token {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]api.Token, 0, len(s.list))
	for _, k := range s.list {
		if !k.over(s.now()) {
			out = append(out, k.Token)
		}
	}
	return out
}

// Revoke ends a token.
func (s *Store) Revoke(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(s.list), func(k kept) bool { return k.ID == id })
	if len(left) == len(s.list) {
		return api.ErrNoToken
	}
	err := s.replace(left)
	if l, found := s.lives[id]; found && err == nil {
		l.end()
	}
	return err
}

// Life returns a context that ends when a token is revoked or expires.
func (s *Store) Life(id string) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, found := s.lives[id]; found {
		return l
	}
	ctx, end := context.WithCancel(context.Background())
	at := slices.IndexFunc(s.list, func(k kept) bool { return k.ID == id })
	if at < 0 {
		end()
		return ctx
	}
	if until := s.list[at].Expires; !until.IsZero() {
		ctx, end = context.WithDeadline(ctx, until)
	}
	if s.lives == nil {
		s.lives = make(map[string]life)
	}
	s.lives[id] = life{ctx, end}
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.lives, id)
	})
	return ctx
}

// replace writes the list to the file, and keeps it in memory if that succeeded.
func (s *Store) replace(list []kept) error {
	if s.path != "" {
		text, err := json.MarshalIndent(list, "", "  ")
		if err == nil {
			err = durable.Replace(s.path, append(text, '\n'))
		}
		if err != nil {
			return fmt.Errorf("tokens: write %s: %w", s.path, err)
		}
	}
	s.list = list
	return nil
}
