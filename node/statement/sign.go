package statement

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/node/api"
)

// domain ensures that a signature under a statement is not a signature under anything
// else.
const domain = "p2pnode privacy statement\n"

// Sign completes a statement with the hash of its page, and signs it.
func Sign(s api.Statement, key crypto.PrivKey) (api.SignedStatement, error) {
	s.Page = pageHash(s)
	text, err := canonical(s)
	if err != nil {
		return api.SignedStatement{}, err
	}
	signature, err := key.Sign(append([]byte(domain), text...))
	if err != nil {
		return api.SignedStatement{}, fmt.Errorf("node: sign the statement: %w", err)
	}
	return api.SignedStatement{Statement: s, Signature: signature}, nil
}

// signedBy returns an error unless the statement was signed with the key of the node that
// it names.
func signedBy(s api.SignedStatement) error {
	id, err := peer.Decode(s.Node)
	if err != nil {
		return fmt.Errorf("it does not say which node wrote it: %w", err)
	}
	key, err := id.ExtractPublicKey()
	if err != nil {
		return fmt.Errorf("the ID %s does not hold a key: %w", id, err)
	}
	text, err := canonical(s.Statement)
	if err != nil {
		return err
	}
	if ok, err := key.Verify(append([]byte(domain), text...), s.Signature); err != nil || !ok {
		return fmt.Errorf("the key of the node %s did not sign it: somebody changed it, or wrote it in that node's name", id)
	}
	return nil
}

// canonical returns the JSON of a statement in the canonical form of RFC 8785.
// encoding/json writes numbers in the form that the RFC asks for.
func canonical(s api.Statement) ([]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("node: write the statement: %w", err)
	}
	var sorted map[string]any
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	if err := numbers.Decode(&sorted); err != nil {
		return nil, fmt.Errorf("node: write the statement: %w", err)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(sorted); err != nil {
		return nil, fmt.Errorf("node: write the statement: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func pageHash(s api.Statement) string { return hashOf(words(s)) }

func hashOf(page string) string {
	sum := sha256.Sum256([]byte(page))
	return hex.EncodeToString(sum[:])
}
