package api

import (
	"errors"
	"time"
)

// Token is what a program shows that may ask some things of a node. Its secret is known to
// whom it was given alone.
type Token struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Scopes  []Scope   `json:"scopes"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`    // zero: never
	Used    string    `json:"last_used,omitempty"` // the day; "": never
}

// TokenWish is what a token is to be.
type TokenWish struct {
	Name   string  `json:"name" maxLength:"60"`
	Scopes []Scope `json:"scopes"`
}

// IssuedToken is a new token with its secret, which nobody is told again.
type IssuedToken struct {
	Token
	Secret string `json:"secret"`
}

// Code is exchanged for a session once.
type Code struct {
	Code    string    `json:"code"`
	Expires time.Time `json:"expires"`
	// URL is where a browser exchanges it; "": the daemon listens at its socket only.
	URL string `json:"url,omitempty"`
}

// ErrNoToken says that there is no token of an ID.
var ErrNoToken = Advise(errors.New("node: there is no such token"), "p2pnode token list has all of them")

// Session is what a page keeps of a session. The other half of its secret is in a cookie.
type Session struct {
	Key string `json:"key" doc:"to be sent in the header P2pnode-Session with each request"`
}
