package server

import (
	"crypto/tls"
	"fmt"

	"github.com/libp2p/go-libp2p/core/crypto"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
)

// Certificate returns a certificate that carries the peer ID of a node, in the form that
// libp2p's own connections use. A program that knows the ID can check whom it talks to.
func Certificate(key crypto.PrivKey) (tls.Certificate, error) {
	identity, err := libp2ptls.NewIdentity(key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("server: make a certificate: %w", err)
	}
	c, _ := identity.ConfigForPeer("")
	return c.Certificates[0], nil
}

// overTLSWith returns how a listener uses TLS. Requests are answered over HTTP/1.1, whose
// streams go both ways.
func overTLSWith(c tls.Certificate) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c}, NextProtos: []string{"http/1.1"}}
}
