package statement

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/privacy"
)

var update = flag.Bool("update", false, "write testdata/golden.md anew")

// signedAt is when the statements of these tests are signed.
var signedAt = time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)

// made is a statement that has everything, and its key, which is the same in every run.
func made(t *testing.T) (api.Statement, crypto.PrivKey) {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(bytes.NewReader(bytes.Repeat([]byte("a seed for tests"), 2)))
	require.NoError(t, err)
	id, err := peer.IDFromPrivateKey(key)
	require.NoError(t, err)
	g := &api.Guarantee{ // in digits: processors differ in the last ones
		Epsilon: 1, Delta: 1e-6, Excess: 0.000020100040467, Unit: "replacing one record", Noise: "gaussian", Accounting: privacy.GaussianFilter, Batch: 50,
		Person: []api.PersonBudget{{Records: 1, Epsilon: 1, Delta: 1e-6, Belief: 0.73105857863}, {Records: 10, Epsilon: 13.507003110805, Delta: 1e-6, Belief: 0.999998638610}},
	}
	s := api.Statement{
		Format: api.StatementFormat, Node: id.String(), Time: signedAt, Program: "v1.2.3", Guarantee: g, ShareOf: "budget",
		Audiences: []api.Audience{
			{Who: "Everybody", Peers: []string{}, Gets: "models", Way: "publication", Epsilon: &g.Epsilon, Delta: &g.Delta},
			{Who: "The committee", Peers: []string{"a", "b", "c", "d"}, Gets: "masked bytes", Way: "sealed keys", Epsilon: &g.Epsilon, Delta: &g.Delta, Colluding: 1},
		},
		Spent: []api.Paid{
			{Cohort: 1, Releases: 12, Sums: 1, Spent: 1, AtLeast: 0.25, Retired: true},
			{Cohort: 2, Releases: 3, Sums: 1, Spent: 0.2, AtLeast: 0.2},
		},
		Ledger:  api.LedgerHead{Entries: 17, CRC: "0badcafe"},
		RestsOn: []string{"that nobody writes to the directory"}, NotCovered: []string{"when <it> sends"},
	}
	s.Task.Name, s.Task.Network, s.Task.Learner = "movies", "0123456789abcdef0123456789abcdef", "personal"
	return s, key
}

func signed(t *testing.T) api.SignedStatement {
	t.Helper()
	s, err := Sign(made(t))
	require.NoError(t, err)
	return s
}

func checked(t *testing.T, file string) api.StatementCheck {
	t.Helper()
	c, err := Check([]byte(file), signedAt.Add(time.Minute))
	require.NoError(t, err)
	return c
}

// The file, its signature among it, stays the same to the byte from version to version, or
// statements that people hold would no longer be sound.
func TestGolden(t *testing.T) {
	page, err := Page(signed(t))
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile("testdata/golden.md", []byte(page), 0o600))
	}
	golden, err := os.ReadFile("testdata/golden.md")
	require.NoError(t, err)
	if page != string(golden) {
		t.Errorf("the page is\n%s\nand testdata/golden.md is another one", page)
	}
	if c := checked(t, string(golden)); !c.Sound || len(c.Faults) > 0 || len(c.Doubts) != 2 {
		t.Errorf("it is checked: %+v", c)
	}
	text, err := json.Marshal(signed(t))
	require.NoError(t, err)
	if c := checked(t, string(text)); !c.Sound {
		t.Errorf("its JSON alone: %q", c.Faults)
	}
}

// What is signed is written as RFC 8785 says.
func TestCanonical(t *testing.T) {
	s, _ := made(t)
	text, err := canonical(s)
	require.NoError(t, err)
	for _, want := range []string{`{"audiences":[{"colluding":0,"delta":0.000001,"epsilon":1,"gets":"models","peers":[],"way":"publication","who":"Everybody"},`,
		`"not_covered":["when <it> sends"]`, `"time":"2026-11-23T20:00:00Z","unprotected_releases":0}`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
}

// leaves calls change with each value inside a decoded JSON value, in turn changed to
// something else.
func leaves(v any, path string, change func(path string)) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			set := func(other any) {
				v[k] = other
				change(path + "." + k)
				v[k] = inner
			}
			changed(inner, set)
			leaves(inner, path+"."+k, change)
		}
	case []any:
		for i, inner := range v {
			set := func(other any) {
				v[i] = other
				change(fmt.Sprintf("%s[%d]", path, i))
				v[i] = inner
			}
			changed(inner, set)
			leaves(inner, fmt.Sprintf("%s[%d]", path, i), change)
		}
	}
}

// changed sets other values of the same kind.
func changed(v any, set func(any)) {
	switch v := v.(type) {
	case float64:
		set(v + 1)
		set(v / 2)
		set(-v - 1)
	case bool:
		set(!v)
	case string:
		set(v + " ")
		set("")
	case []any:
		set([]any{})
		set(append(v[:len(v):len(v)], v...))
	case nil:
		set("x")
	}
}

// No value of a statement can be changed, in its JSON alone or in its page.
func TestTampering(t *testing.T) {
	s := signed(t)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(text, &all))
	tried := 0
	leaves(all, "", func(path string) {
		bad, err := json.Marshal(all)
		require.NoError(t, err)
		var again api.SignedStatement
		if json.Unmarshal(bad, &again) != nil {
			return // it is no statement any more
		}
		ordered, err := json.Marshal(again)
		require.NoError(t, err)
		if bytes.Equal(ordered, text) {
			return // half of 0 is 0
		}
		tried++
		if c, err := Check(ordered, signedAt); err == nil && c.Sound {
			t.Errorf("sound with another %s: %s", path, ordered)
		}
		page, err := Page(again)
		require.NoError(t, err)
		if c, err := Check([]byte(page), signedAt); err == nil && c.Sound {
			t.Errorf("a page is sound with another %s", path)
		}
	})
	if tried < 100 {
		t.Errorf("tried %d changes only", tried)
	}
}

// No sign of a page can be changed.
func TestTamperingWithThePage(t *testing.T) {
	page, err := Page(signed(t))
	require.NoError(t, err)
	for i := range page {
		bad := page[:i] + string(page[i]^1) + page[i+1:]
		if c, err := Check([]byte(bad), signedAt); err == nil && c.Sound {
			t.Errorf("sound with another sign %d: %q", i, bad[max(0, i-20):min(len(bad), i+20)])
		}
	}
	twice := strings.Replace(page, opening, opening+"{}"+closing+opening, 1)
	for name, bad := range map[string]string{"more behind it": page + "more", "lines of Windows": strings.ReplaceAll(page, "\n", "\r\n"), "two statements": page + page, "another one inside": twice} {
		if c, err := Check([]byte(bad), signedAt); err == nil && c.Sound {
			t.Errorf("sound with %s", name)
		}
	}
}

// A node that signs what cannot be is found out.
func TestNumbersThatDoNotFit(t *testing.T) {
	for name, change := range map[string]func(*api.Statement){
		"the future":              func(s *api.Statement) { s.Time = signedAt.Add(time.Hour) },
		"a smaller excess":        func(s *api.Statement) { s.Guarantee.Excess /= 2 },
		"a person with less":      func(s *api.Statement) { s.Guarantee.Person[1].Epsilon = 2 },
		"a smaller belief":        func(s *api.Statement) { s.Guarantee.Person[0].Belief = 0.6 },
		"nobody":                  func(s *api.Statement) { s.Guarantee.Person = nil },
		"no epsilon":              func(s *api.Statement) { s.Guarantee.Epsilon = 0 },
		"another delta":           func(s *api.Statement) { s.Guarantee.Delta = 1e-9 },
		"an audience with less":   func(s *api.Statement) { half := 0.5; s.Audiences[0].Epsilon = &half },
		"an audience without":     func(s *api.Statement) { s.Audiences[0].Delta = nil },
		"a small committee":       func(s *api.Statement) { s.Audiences[1].Peers = s.Audiences[1].Peers[:3] },
		"releases without noise":  func(s *api.Statement) { s.Bare = 1 },
		"more than all":           func(s *api.Statement) { s.Spent[1].Spent = 1.5 },
		"retired and not spent":   func(s *api.Statement) { s.Spent[0].Spent = 0.5 },
		"spent without a release": func(s *api.Statement) { s.Spent[1].Releases, s.Spent[1].Sums = 0, 0 },
	} {
		s, key := made(t)
		change(&s)
		if s.Guarantee != nil && len(s.Guarantee.Person) == 0 {
			s.Guarantee.Person = []api.PersonBudget{{Records: 2}}
		}
		lie, err := Sign(s, key)
		require.NoError(t, err)
		page, err := Page(lie)
		require.NoError(t, err)
		if c := checked(t, page); c.Sound || len(c.Faults) != 1 {
			t.Errorf("%s: sound %v, faults %q", name, c.Sound, c.Faults)
		}
	}
}

// Another node's signature, and a signature under the same bytes for another purpose, are
// none.
func TestWhoSigned(t *testing.T) {
	s, key := made(t)
	other, _, err := crypto.GenerateEd25519Key(bytes.NewReader(bytes.Repeat([]byte("another seed    "), 2)))
	require.NoError(t, err)
	forged, err := Sign(s, other)
	require.NoError(t, err)
	bare := signed(t)
	text, err := canonical(bare.Statement)
	require.NoError(t, err)
	bare.Signature, err = key.Sign(text)
	require.NoError(t, err)
	nobody := signed(t)
	nobody.Node = "nobody"
	for name, bad := range map[string]api.SignedStatement{"another key": forged, "no domain": bare, "nobody": nobody} {
		text, err := json.Marshal(bad)
		require.NoError(t, err)
		if c := checked(t, string(text)); c.Sound {
			t.Errorf("%s: sound", name)
		}
	}
}

// A node without a guarantee can state that, and a reader is told.
func TestNoGuarantee(t *testing.T) {
	s, key := made(t)
	s.Guarantee, s.Bare = nil, 3
	for i := range s.Audiences {
		s.Audiences[i].Epsilon, s.Audiences[i].Delta = nil, nil
	}
	done, err := Sign(s, key)
	require.NoError(t, err)
	page, err := Page(done)
	require.NoError(t, err)
	c := checked(t, page)
	if !c.Sound || !strings.Contains(page, "; 3 of its releases") || !strings.Contains(strings.Join(c.Doubts, ""), "There is no guarantee") {
		t.Errorf("%+v of\n%s", c, page)
	}
}

// What is no statement, or of a later format, is an error that says so.
func TestOtherFiles(t *testing.T) {
	for file, want := range map[string]string{
		"":                      "not a privacy statement",
		"# A page\n":            "not a privacy statement",
		"{}":                    "not a privacy statement",
		`{"format":1}`:          "another order, or something twice",
		`{"format":1,"more":1}`: "unknown field",
		`{"format":2}`:          "use a newer p2pnode",
		"# A\n```json\n{}\n```": "not a privacy statement",
	} {
		if _, err := Check([]byte(file), signedAt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
	twice, err := json.Marshal(signed(t))
	require.NoError(t, err)
	if _, err := Check(bytes.Replace(twice, []byte("{"), []byte(`{"format":1,`), 1), signedAt); err == nil {
		t.Error("a statement that says something twice is taken")
	}
}

// A lower bound is not rounded up.
func TestAtLeast(t *testing.T) {
	for share, want := range map[float64]string{0: "0 %", 0.25: "25 %", 0.29: "29 %", 0.99996: "99.99 %", 1: "100 %"} {
		if got := atLeast(share); got != want {
			t.Errorf("at least %v is said as %q, want %q", share, got, want)
		}
	}
}
