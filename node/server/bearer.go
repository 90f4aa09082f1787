package server

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"p2pnode/internal/crowd"
	"p2pnode/node/api"
	"p2pnode/node/tokens"
)

// tokenRate is how many requests of each token are answered per second, and tokenBurst at
// once.
const tokenRate, tokenBurst = 200, 400

// openRequests is how many requests that need no token, or show no valid one, are answered
// in an openWindow before those who ask share them, by their addresses and networks.
const (
	openRequests = 200
	openWindow   = time.Second
)

// Bearer guards a listener that other programs, people and web pages can reach: each
// request must show a token, or a session's cookie, and must name a host of this server.
type Bearer struct {
	tokens *tokens.Store
	hosts  []string

	mu    sync.Mutex
	open  *crowd.Parts
	rates map[string]*rate.Limiter // by the token's ID
}

// NewBearer returns a guard. Requests may name these hosts, with their ports, and the
// address at which the request arrives.
func NewBearer(t *tokens.Store, hosts []string) *Bearer {
	return &Bearer{tokens: t, hosts: hosts, rates: make(map[string]*rate.Limiter),
		open: crowd.NewParts(openRequests, openWindow)}
}

// Admit implements [Guard].
func (b *Bearer) Admit(r *http.Request) error {
	if !slices.ContainsFunc(b.named(r), func(h string) bool { return strings.EqualFold(h, r.Host) }) {
		return refuse(http.StatusForbidden, "the request names a host that this server does not serve", "ask for the address it listens on, or name the host in the key api_hosts of config.toml")
	}
	origin := r.Header.Get("Origin")
	if origin != "" && !strings.EqualFold(origin, scheme(r)+"://"+r.Host) || http.NewCrossOriginProtection().Check(r) != nil {
		return refuse(http.StatusForbidden, "the request comes from a page of another origin", "only the dashboard's own pages may ask this server")
	}
	return nil
}

// named lists the hosts that a request may name.
func (b *Bearer) named(r *http.Request) []string {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return b.hosts
	}
	out := append([]string{local.String()}, b.hosts...)
	_, port, _ := net.SplitHostPort(local.String())
	if local.IP.IsLoopback() {
		out = append(out, "localhost:"+port)
	}
	if port == "443" && r.TLS != nil || port == "80" && r.TLS == nil {
		out = append(out, strings.TrimSuffix(local.String(), ":"+port))
	}
	return out
}

func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// Allow implements [Guard].
func (b *Bearer) Allow(r *http.Request, scope api.Scope) (Asker, error) {
	switch scope {
	case api.Probe:
		return anybody(), nil
	case api.Open:
		return anybody(), b.share(r)
	}
	t, err := b.identify(r)
	if err != nil {
		return Asker{}, err
	}
	life := b.tokens.Life(t.ID)
	recognise(r, t.ID, life)
	if !b.rate(t.ID).Allow() {
		return Asker{}, tooMany()
	}
	if !slices.Contains(t.Scopes, scope) && !slices.Contains(t.Scopes, api.Admin) {
		p := problemOf(api.ErrScope)
		p.Detail, p.Hint = "this token may not ask that", "make one with p2pnode token new --scope "+string(scope)
		return Asker{}, p
	}
	return Asker{t.ID, life}, nil
}

// identify finds the token of a request: the one that it shows, otherwise that of a
// session. A request with a session must come from the dashboard's own pages: to a
// browser other ports of the same host are the same site, so it sends them the cookies
// too.
func (b *Bearer) identify(r *http.Request) (t api.Token, err error) {
	if scheme, secret, shown := strings.Cut(r.Header.Get("Authorization"), " "); shown && strings.EqualFold(scheme, "Bearer") {
		if t, found := b.tokens.Find(strings.TrimLeft(secret, " ")); found {
			return t, nil
		}
	} else if t, found := sessionOf(r, b.tokens); found {
		site := r.Header.Get("Sec-Fetch-Site")
		foreign := site != "" && site != "same-origin" && site != "none"
		if unsafe := r.Method != http.MethodGet && r.Method != http.MethodHead; foreign || unsafe && site != "same-origin" && r.Header.Get("Origin") == "" {
			return t, refuse(http.StatusForbidden, "a session serves the dashboard's own pages only", "programs show a token: p2pnode token new")
		}
		return t, nil
	}
	if err := b.share(r); err != nil {
		return t, err
	}
	return t, refuse(http.StatusUnauthorized, "the request shows no valid token", `send the header "Authorization: Bearer TOKEN", with a token of p2pnode token new`)
}

// share refuses a request without a valid token if others need what is left of them.
func (b *Bearer) share(r *http.Request) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open.Take(source(r.RemoteAddr), "", 1, time.Now()) {
		return nil
	}
	return tooMany()
}

// source returns the address of a client, which stands with its port. It is not valid if
// there is none.
func source(client string) netip.Addr {
	at, _ := netip.ParseAddrPort(client) // the zero value if it is none
	return at.Addr().Unmap()
}

// rate returns the limiter of a token.
func (b *Bearer) rate(id string) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rates[id] == nil {
		b.rates[id] = rate.NewLimiter(tokenRate, tokenBurst)
		context.AfterFunc(b.tokens.Life(id), func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			delete(b.rates, id)
		})
	}
	return b.rates[id]
}

func tooMany() error {
	return refuse(http.StatusTooManyRequests, "too many requests", "wait a second")
}
