package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"p2pnode/node/api"
	"p2pnode/node/tokens"
)

// sessionLife is how long a session lasts.
const sessionLife = 7 * 24 * time.Hour

// sessionCookie begins the name of a session's cookie. The ID of the session's token
// follows, because cookies do not distinguish ports, so the daemons of one host share
// them.
const sessionCookie = "p2pnode-session-"

// sessionHeader is the header with the other half of a session's secret. A browser sends
// the cookie to each port of the host, also to a port where somebody else's server
// listens. The half that a page keeps stays with the page's origin.
const sessionHeader = "P2pnode-Session"

// mostCookies is how many cookies of a request are looked at.
const mostCookies = 20

func routeTokens(r *routes, server *Server, t *tokens.Store) {
	ask(r, operation{"GET /v1/tokens", api.Admin, "listTokens", "Which programs may ask, without their secrets"},
		func(context.Context) ([]api.Token, error) { return t.List(), nil })
	tell(r, operation{"POST /v1/tokens", api.Admin, "newToken", "Let a program ask; its secret is told once"},
		func(_ context.Context, in api.TokenWish) (api.IssuedToken, error) { return t.Issue(in, 0) })
	handle(r, operation{"DELETE /v1/tokens/{id}", api.Admin, "revokeToken", "Let a program ask no more"},
		func(_ context.Context, in *tokenInput) (*struct{}, error) { return nil, t.Revoke(in.ID) })
	ask(r, operation{"POST /v1/session/code", api.Admin, "newCode", "A code to begin a session with, once"},
		func(context.Context) (api.Code, error) { return server.Code(), nil })
	handle(r, operation{"POST /v1/session", api.Open, "beginSession", "Exchange a code for a session: half of its secret is in a cookie, half in the answer"},
		func(ctx context.Context, in *body[codeInput]) (*sessionAnswer, error) {
			return beginSession(ctx, t, &server.codes, in.Body.Code)
		})
	handle(r, operation{"DELETE /v1/session", api.Read, "endSession", "End the session of the cookie"},
		func(ctx context.Context, in *cookieInput) (*cookieAnswer, error) { return endSession(t, in) })
}

type tokenInput struct {
	ID string `path:"id"`
}

type codeInput struct {
	Code string `json:"code" maxLength:"100"`
}

type cookieInput struct {
	Cookies string `header:"Cookie" hidden:"true"`
	Key     string `header:"P2pnode-Session" doc:"the key of the session"`
}

// cookieAnswer confirms that a request was done, and changes a cookie.
type cookieAnswer struct {
	SetCookie string `header:"Set-Cookie"`
}

// sessionAnswer is the answer that begins a session.
type sessionAnswer struct {
	SetCookie string `header:"Set-Cookie"`
	Body      api.Session
}

// Code makes a code with which a browser begins a session.
func (s *Server) Code() api.Code {
	made := s.codes.Issue(time.Now())
	if s.config.URL != "" {
		made.URL = s.config.URL + "/#code=" + made.Code
	}
	return made
}

func beginSession(ctx context.Context, t *tokens.Store, codes *tokens.Codes, code string) (*sessionAnswer, error) {
	if !codes.Take(code, time.Now()) {
		return nil, refuse(http.StatusUnauthorized, "the code is not valid, or was used", "p2pnode dashboard prints a new one")
	}
	s, err := t.Issue(api.TokenWish{Name: "dashboard", Scopes: []api.Scope{api.Admin}}, sessionLife)
	if err != nil {
		return nil, err
	}
	half := len(s.Secret) / 2
	return &sessionAnswer{setCookie(ctx, s.ID, s.Secret[:half], int(sessionLife.Seconds())), api.Session{Key: s.Secret[half:]}}, nil
}

// setCookie hides half of the secret from pages, from other sites, and from the network.
func setCookie(ctx context.Context, id, secret string, seconds int) string {
	secure, _ := ctx.Value(overTLS{}).(bool)
	c := http.Cookie{Name: sessionCookie + id, Value: secret, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode}
	return c.String()
}

func endSession(t *tokens.Store, in *cookieInput) (*cookieAnswer, error) {
	r := &http.Request{Header: http.Header{"Cookie": {in.Cookies}, sessionHeader: {in.Key}}}
	s, found := sessionOf(r, t)
	if !found {
		return nil, refuse(http.StatusBadRequest, "the request has no session", "p2pnode token revoke ends a token")
	}
	return &cookieAnswer{setCookie(context.Background(), s.ID, "", -1)}, t.Revoke(s.ID)
}

// sessionOf finds the session of a request.
func sessionOf(r *http.Request, t *tokens.Store) (api.Token, bool) {
	cookies := r.Cookies()
	for _, c := range cookies[:min(len(cookies), mostCookies)] {
		id, ours := strings.CutPrefix(c.Name, sessionCookie)
		if !ours {
			continue
		}
		if found, ok := t.Find(c.Value + r.Header.Get(sessionHeader)); ok && found.ID == id {
			return found, true
		}
	}
	return api.Token{}, false
}
