package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"

	"p2pnode/node/api"
)

// Remote is a server on a network.
type Remote struct {
	URL   string  // http://127.0.0.1:8467, or https with any host
	Token string  // a secret that p2pnode token new printed
	Peer  peer.ID // the peer whose certificate the server must show; "": any certificate that this machine trusts
}

// NewRemote returns a client of a server on a network. It does not check whether the
// server is there. Without TLS it speaks only to this machine.
func NewRemote(r Remote) (*Client, error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return nil, api.WrongRequest(fmt.Errorf("client: %q is not the address of a server, as https://192.0.2.7:8467", r.URL))
	}
	if u.Scheme == "http" && !here(u.Hostname()) {
		return nil, api.WrongRequest(fmt.Errorf("client: %s is another machine: ask it over https", u.Hostname()))
	}
	if u.Scheme == "http" && r.Peer != "" {
		return nil, api.WrongRequest(errors.New("client: only a server over https can show its peer ID"))
	}
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: daemonTimeout}).DialContext, TLSHandshakeTimeout: daemonTimeout,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13}, IdleConnTimeout: time.Minute}
	if r.Peer != "" {
		transport.TLSClientConfig = pinned(r.Peer)
	}
	c := &Client{base: u.Scheme + "://" + u.Host, timeout: daemonTimeout}
	c.http.Transport = bearer{r.Token, transport}
	// A server that sends its clients elsewhere would send them there with the token.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// here reports whether a host is this machine.
func here(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// pinned trusts only a certificate of the given peer.
func pinned(id peer.ID) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // the function below checks more: that the peer's key signed the certificate's key
		VerifyConnection: func(s tls.ConnectionState) error {
			key, err := libp2ptls.PubKeyFromCertChain([]*x509.Certificate{s.PeerCertificates[0]})
			if err != nil {
				return fmt.Errorf("client: the server does not show a peer ID: %w", err)
			}
			if !id.MatchesPublicKey(key) {
				return fmt.Errorf("client: the server is not %s", id)
			}
			return nil
		},
	}
}

// bearer sends a token with each request.
type bearer struct {
	token string
	next  *http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}

// CloseIdleConnections is for [http.Client].
func (b bearer) CloseIdleConnections() { b.next.CloseIdleConnections() }
