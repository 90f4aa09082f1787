package gossip

import (
	"bytes"
	"fmt"

	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/internal/wire"
)

// newsHeader bounds the bytes of encoded news beside their text.
const newsHeader = 64 + maxAuthor + maxProof

// newsDomain begins what a [Signer] signs of news.
const newsDomain = "p2pnode news\x00"

// newsStatement returns the bytes that are signed: all of the news but the proof, after
// the network's name with its length.
func newsStatement(network string, body []byte) []byte {
	text := append([]byte(newsDomain), byte(len(network)))
	return append(append(text, network...), body...)
}

// encodeNews returns the bytes of news, which end with the proof of the node.
func (s *Signer) encodeNews(author peer.ID, number uint64, text []byte) ([]byte, error) {
	body, err := proto.Marshal(&wire.News{Version: Version, Author: []byte(author), Number: number, Text: text})
	if err != nil {
		return nil, err
	}
	proof, err := s.key.Sign(newsStatement(s.network, body))
	if err != nil {
		return nil, fmt.Errorf("sign news: %w", err)
	}
	return appendProof(body, proof), nil
}

// decodeNews checks untrusted bytes, and returns what they say and who says it.
func decodeNews(network string, data []byte) (author peer.ID, text []byte, err error) {
	var w wire.News
	if err := unmarshal(data, &w); err != nil {
		return "", nil, err
	}
	body, last := bytes.CutSuffix(data, appendProof(nil, w.Proof))
	switch {
	case w.Version != Version:
		return "", nil, malformed("version %d, not %d", w.Version, Version)
	case len(w.Author) > maxAuthor || len(w.Text) > maxNews:
		return "", nil, malformed("the author or the text is too long")
	case !last || len(w.Proof) > maxProof:
		return "", nil, malformed("the proof is too long or not at the end")
	}
	key, err := peer.ID(w.Author).ExtractPublicKey()
	if err != nil {
		return "", nil, errForged
	}
	if ok, err := key.Verify(newsStatement(network, body), w.Proof); !ok || err != nil {
		return "", nil, errForged
	}
	return peer.ID(w.Author), w.Text, nil
}
