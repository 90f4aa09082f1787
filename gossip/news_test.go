package gossip

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/internal/wire"
	"p2pnode/internal/require"
)

// testAuthor is the author for whom testSigner signs.
func testAuthor(t testing.TB) peer.ID {
	t.Helper()
	id, err := peer.IDFromPublicKey(testSigner(t).key.GetPublic())
	require.NoError(t, err)
	return id
}

// News say who tells them, and not one byte of them can be changed.
func TestNewsAreTheirAuthors(t *testing.T) {
	signer, author := testSigner(t), testAuthor(t)
	data, err := signer.encodeNews(author, 7, []byte("a sum"))
	require.NoError(t, err)
	from, text, err := decodeNews("net", data)
	if err != nil || from != author || string(text) != "a sum" {
		t.Fatalf("%s says %q: %v", from, text, err)
	}
	if _, _, err := decodeNews("another", data); !errors.Is(err, errForged) {
		t.Errorf("in another network: %v", err)
	}
	for i := range data {
		for bit := range 8 {
			bad := bytes.Clone(data)
			bad[i] ^= 1 << bit
			if _, _, err := decodeNews("net", bad); !errors.Is(err, errMalformed) {
				t.Fatalf("bit %d of byte %d is changed: %v", bit, i, err)
			}
		}
	}
	for name, bad := range map[string][]byte{
		"empty":         nil,
		"a byte less":   data[:len(data)-1],
		"a byte more":   append(bytes.Clone(data), 0),
		"a field more":  protowire.AppendVarint(protowire.AppendTag(bytes.Clone(data), 9, protowire.VarintType), 1),
		"a number more": protowire.AppendVarint(protowire.AppendTag(bytes.Clone(data), 3, protowire.VarintType), 1),
		"two proofs":    appendProof(bytes.Clone(data), make([]byte, 64)),
	} {
		if _, _, err := decodeNews("net", bad); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	again, err := signer.encodeNews(author, 8, []byte("a sum"))
	if err != nil || nameOf(&pb.Message{Data: again}) == nameOf(&pb.Message{Data: data}) {
		t.Errorf("the same text told twice passes for a copy, %v", err)
	}
}

// What is signed but has a wrong shape is refused too.
func TestNewsOfAWrongShape(t *testing.T) {
	signer, author := testSigner(t), testAuthor(t)
	for name, w := range map[string]*wire.News{
		"another version":    {Version: Version + 1, Author: []byte(author), Text: []byte("x")},
		"nobody":             {Version: Version, Text: []byte("x")},
		"no author":          {Version: Version, Author: []byte("somebody"), Text: []byte("x")},
		"an author too long": {Version: Version, Author: make([]byte, maxAuthor+1), Text: []byte("x")},
		"a text too long":    {Version: Version, Author: []byte(author), Text: make([]byte, maxNews+1)},
	} {
		body, err := proto.Marshal(w)
		require.NoError(t, err)
		proof, err := signer.key.Sign(newsStatement("net", body))
		require.NoError(t, err)
		if _, _, err := decodeNews("net", appendProof(body, proof)); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The validator takes news of others, and blames nobody for what a relay cannot know.
func TestVerdictsOnNews(t *testing.T) {
	n, _ := newShelfNode(t)
	news := func(signer *Signer, author peer.ID) []byte {
		data, err := signer.encodeNews(author, 1, []byte("a result"))
		require.NoError(t, err)
		return data
	}
	key := newKey(t)
	other, err := peer.IDFromPrivateKey(key)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		data []byte
		want pubsub.ValidationResult
	}{
		"another's":        {news(NewSigner(key, "net"), other), pubsub.ValidationAccept},
		"its own":          {news(n.config.Signer, n.id()), pubsub.ValidationIgnore},
		"forged":           {news(NewSigner(key, "net"), n.id()), pubsub.ValidationReject},
		"another network":  {news(NewSigner(key, "other"), other), pubsub.ValidationReject},
		"longer than news": {make([]byte, maxNews+newsHeader+1), pubsub.ValidationReject},
		"garbage":          {[]byte(strings.Repeat("x", 100)), pubsub.ValidationReject},
	} {
		topic := newsTopic("net")
		if got := n.validate(t.Context(), other, &pubsub.Message{Message: &pb.Message{Topic: &topic, Data: c.data}}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func FuzzDecodeNews(f *testing.F) {
	signer, author := testSigner(f), testAuthor(f)
	data, err := signer.encodeNews(author, 7, []byte("a sum"))
	require.NoError(f, err)
	f.Add(data)
	f.Fuzz(func(t *testing.T, b []byte) {
		if from, _, err := decodeNews("net", b); err == nil && (from != author || !bytes.Equal(b, data)) {
			t.Errorf("%x is taken for news of %s", b, from)
		}
	})
}
