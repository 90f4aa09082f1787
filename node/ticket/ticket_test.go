package ticket

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/require"
)

const (
	somebody = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
	another  = "12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X"
)

func info(t testing.TB, addrs ...string) peer.AddrInfo {
	t.Helper()
	var out peer.AddrInfo
	for _, a := range addrs {
		p, err := peer.AddrInfoFromString(a)
		require.NoError(t, err)
		out.ID = p.ID
		out.Addrs = append(out.Addrs, p.Addrs...)
	}
	return out
}

// plain is a ticket without a secret.
func plain(t testing.TB) Ticket {
	task := []byte("name = 'heating'\n[[features]]\nname = 'outside'\nkind = 'number'\nmin = -30.0\nmax = 50.0\n[target]\nname = 'power'\n")
	return Ticket{
		Network: strings.Repeat("0a", 16), Task: task, TaskHash: sha256.Sum256(task),
		Peers: []peer.AddrInfo{
			info(t, "/ip4/192.0.2.7/tcp/4001/p2p/"+somebody, "/ip6/2001:db8::1/udp/4001/quic-v1/p2p/"+somebody),
			info(t, "/dns4/relay.example.org/tcp/4001/p2p/"+somebody+"/p2p-circuit/p2p/"+another),
		},
	}
}

// full is a ticket with everything.
func full(t testing.TB) Ticket {
	out := plain(t)
	out.KeyPrint, out.Key = "0123456789abcdef", bytes.Repeat([]byte{7}, keySize)
	out.Members, out.Authorities = "garden", []peer.ID{out.Peers[0].ID, out.Peers[1].ID}
	out.Seed, out.Expires = bytes.Repeat([]byte{9}, keySize), time.Date(2030, 1, 31, 0, 0, 0, 0, time.UTC)
	return out
}

func encode(t testing.TB, ticket Ticket) string {
	t.Helper()
	text, err := ticket.Encode()
	require.NoError(t, err)
	return text
}

func same(t testing.TB, got *Ticket, err error, want Ticket) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("read %+v, %v\nwant %+v", got, err, want)
	}
}

func TestTicketsAreReadAsTheyWereWritten(t *testing.T) {
	hashed, key := plain(t), plain(t)
	hashed.Task = nil
	key.KeyPrint = "0123456789abcdef"
	for prefix, ticket := range map[string]Ticket{Prefix: plain(t), Prefix + "q": hashed, Prefix + "qq": key, SecretPrefix: full(t)} {
		text := encode(t, ticket)
		if !strings.HasPrefix(text, strings.TrimRight(prefix, "q")) || text != strings.ToLower(text) || len(text) > 900 {
			t.Errorf("%d characters: %s", len(text), text)
		}
		if secret := strings.HasPrefix(text, SecretPrefix); secret != ticket.Secret() {
			t.Errorf("%s: secret %v", text, secret)
		}
		for _, received := range []string{text, strings.ToUpper(text), " " + text + "\r\n", text[:70] + "\r\n " + text[70:], "P" + text[1:]} {
			got, err := Decode(received)
			same(t, got, err, ticket)
		}
	}
}

// A long task is left out for its hash.
func TestLongTask(t *testing.T) {
	noise := rand.New(rand.NewPCG(1, 2))
	want := plain(t)
	want.Task = nil
	for range 2000 {
		want.Task = append(want.Task, byte('a'+noise.IntN(26)))
	}
	text := encode(t, want)
	want.TaskHash, want.Task = sha256.Sum256(want.Task), nil
	got, err := Decode(text)
	same(t, got, err, want)
}

// Every character that is mistyped, and every swap of neighbours, is found; so is what is
// missing at the end.
func TestEveryMistakeIsFound(t *testing.T) {
	const keyboard = "qpzry9x8gf2tvdw0s3jn54khce6mua7l1bio-é"
	for _, ticket := range []Ticket{plain(t), full(t)} {
		text := encode(t, ticket)
		for i := range text {
			for _, r := range keyboard {
				if wrong := text[:i] + string(r) + text[i+1:]; wrong != text {
					if got, err := Decode(wrong); err == nil {
						t.Fatalf("character %d as %c: %+v", i, r, got)
					}
				}
			}
			if _, err := Decode(text[:i]); err == nil {
				t.Fatalf("the first %d characters are a ticket", i)
			}
			if _, err := Decode(text[:i] + text[i+1:]); err == nil {
				t.Fatalf("a ticket without its character %d", i)
			}
			if i == 0 || text[i] == text[i-1] {
				continue
			}
			if _, err := Decode(text[:i-1] + string(text[i]) + string(text[i-1]) + text[i+1:]); err == nil {
				t.Fatalf("characters %d and %d swapped", i-1, i)
			}
		}
	}
}

// seal writes content as a ticket with a good checksum.
func seal(prefix string, content []byte) string {
	return prefix + letters.EncodeToString(binary.BigEndian.AppendUint32(content, checksum(prefix, content)))
}

// edited is the content of a plain ticket with fields after it.
func edited(t *testing.T, fields ...field) []byte {
	ticket := plain(t)
	content, err := ticket.content()
	require.NoError(t, err)
	for _, f := range fields {
		content = appendBytes(append(content, f.tag), f.value)
	}
	return content
}

func TestRefusals(t *testing.T) {
	text := encode(t, plain(t))
	long := bytes.Repeat([]byte{'a'}, maxCarried*2)
	for what, c := range map[string]struct {
		text string
		want error
	}{
		"nothing":                     {"", errNoTicket},
		"something else":              {"https://example.org/" + text, errNoTicket},
		"the prefix only":             {Prefix, errMistyped},
		"another version":             {"p2p2" + text[4:], errNewer},
		"a secret of another version": {"p2psecret3" + text[4:], errNewer},
		"called a secret":             {SecretPrefix + text[4:], errMistyped},
		"wrongly called a secret":     {seal(SecretPrefix, edited(t)), errInvalid},
		"a secret not called one":     {seal(Prefix, edited(t, field{tagKeyPrint, long[:8]}, field{tagKey, long[:32]})), errInvalid},
		"a field to come":             {seal(Prefix, edited(t, field{90, []byte("x")})), errNewer},
		"half a field":                {seal(Prefix, append(edited(t), tagKeyPrint, 9, 1)), errInvalid},
		"disorder":                    {seal(Prefix, edited(t, field{tagNetwork, long[:16]})), errInvalid},
		"two keys":                    {seal(SecretPrefix, edited(t, field{tagKey, long[:32]}, field{tagKey, long[:32]})), errInvalid},
		"a key without a fingerprint": {seal(SecretPrefix, edited(t, field{tagKey, long[:32]})), errInvalid},
		"a list without authorities":  {seal(Prefix, edited(t, field{tagMembers, []byte("garden")})), errInvalid},
		"a name for terminals":        {seal(Prefix, edited(t, field{tagMembers, []byte("\x1b[2J")}, field{tagAuthority, []byte(plain(t).Peers[0].ID)})), errInvalid},
		"an identity alone":           {seal(SecretPrefix, edited(t, field{tagSeed, long[:32]})), errInvalid},
		"an end of nothing":           {seal(Prefix, edited(t, field{tagExpires, []byte{1}})), errInvalid},
		"nobody":                      {seal(Prefix, []byte{tagNetwork, 1, 0}), errInvalid},
		"no content":                  {seal(Prefix, nil), errInvalid},
		"a long task":                 {seal(Prefix, appendBytes([]byte{tagTask}, long)), errInvalid},
		"too long":                    {Prefix + strings.Repeat("q", MaxText), errMistyped},
	} {
		if got, err := Decode(c.text); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v; want %v", what, got, err, c.want)
		}
	}
	got, err := Decode(seal(Prefix, edited(t, field{skippable, []byte("of a later version")}, field{200, nil})))
	same(t, got, err, plain(t))
}

func TestEncodeRefuses(t *testing.T) {
	for what, spoil := range map[string]func(*Ticket){
		"no network":        func(x *Ticket) { x.Network = "ab" },
		"a network that is": func(x *Ticket) { x.Network = strings.Repeat("xy", 16) },
		"nobody":            func(x *Ticket) { x.Peers = nil },
		"nowhere":           func(x *Ticket) { x.Peers[0].Addrs = nil },
		"an empty task":     func(x *Ticket) { x.Task = []byte{} },
		"no task":           func(x *Ticket) { x.Task, x.TaskHash = nil, [32]byte{} },
		"half a key":        func(x *Ticket) { x.KeyPrint, x.Key = "0123456789abcdef", make([]byte, 31) },
		"many nodes": func(x *Ticket) {
			for len(x.Peers) <= maxPeers {
				x.Peers = append(x.Peers, x.Peers[0])
			}
		},
	} {
		ticket := plain(t)
		spoil(&ticket)
		if text, err := ticket.Encode(); err == nil {
			t.Errorf("%s: %s", what, text)
		}
	}
}

// Whatever is read is refused, or is written and read again as the same.
func FuzzDecode(f *testing.F) {
	for _, ticket := range []Ticket{plain(f), full(f)} {
		f.Add(encode(f, ticket))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := Decode(text); err == nil {
			again(t, got)
		}
	})
}

// The checksum keeps a fuzzer from the fields, so here it is always good.
func FuzzContent(f *testing.F) {
	for _, ticket := range []Ticket{plain(f), full(f)} {
		content, err := ticket.content()
		require.NoError(f, err)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, prefix := range []string{Prefix, SecretPrefix} {
			if got, err := Decode(seal(prefix, bytes.Clone(content))); err == nil {
				again(t, got)
			}
		}
	})
}

func again(t *testing.T, ticket *Ticket) {
	text, err := ticket.Encode()
	if err != nil {
		if ticket.Task != nil { // which may be longer when compressed by this version
			return
		}
		t.Fatalf("%+v was read and cannot be written: %v", ticket, err)
	}
	got, err := Decode(text)
	if got != nil && got.Task == nil {
		got.Task = ticket.Task // longer when compressed by this version
	}
	same(t, got, err, *ticket)
}

// Whatever a task's text is, it comes back, or its hash if it is long when compressed.
func FuzzTask(f *testing.F) {
	f.Add([]byte("name = 'x'"))
	chance := make([]byte, maxCarried) // longer when compressed
	_, _ = rand.NewChaCha8([32]byte{}).Read(chance)
	f.Add(chance)
	f.Fuzz(func(t *testing.T, task []byte) {
		if len(task) == 0 || len(task) > MaxTask {
			return
		}
		want := plain(t)
		want.Task, want.TaskHash = bytes.Clone(task), sha256.Sum256(task)
		got, err := Decode(encode(t, want))
		if got != nil && got.Task == nil && len(pack(task)) > maxCarried {
			want.Task = nil
		}
		same(t, got, err, want)
	})
}
