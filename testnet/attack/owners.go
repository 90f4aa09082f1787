package attack

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// The limits of bar 10, while strangers flood the interface that an owner offers on a
// network. She asks from an address of her own, over a new connection each time, and takes
// some time until she shows the token.
const (
	ownerPort     = 8467
	ownerSlow     = 300 * time.Millisecond
	ownerPatience = 5 * time.Second
	allowedShare  = 0.95 // of her requests that are answered within that time
)

// probes attacks with the requests for which nobody needs a token.
func probes() Scenario {
	return Scenario{
		Name: "probes", Daemons: true,
		About: "asks the owner's interface for signs of life and for the dashboard, as often as it is answered or in hundreds at once, over 256 connections from as many addresses",
		Run:   onField(plain, besideOwner("probes", askOpenly)),
	}
}

// guesses attacks with tokens that there are not.
func guesses() Scenario {
	return Scenario{
		Name: "guesses", Daemons: true,
		About: "asks the owner's interface for what takes a token, with wrong ones and 60 kB of headers, as often as it is answered, over 256 connections from as many addresses",
		Run:   onField(plain, besideOwner("wrong tokens", guess)),
	}
}

// dials attacks with connections on which nothing is asked for.
func dials() Scenario {
	return Scenario{
		Name: "dials", Daemons: true,
		About: "connects to the owner's interface from 256 addresses, four times from each, and says nothing, or begins a handshake or a request and never ends it, and comes again when it is turned away",
		Run:   onField(plain, besideOwner("half connections", dawdle)),
	}
}

// besideOwner makes a scenario in which strangers flood the interface of the victim's owner,
// each from an address of the attacker until ctx ends. It measures bar 1, and how many of
// the owner's own requests are answered in time.
func besideOwner(name string, attack func(ctx context.Context, i int, c *visitor)) func(context.Context, *field) ([]Bar, error) {
	return func(ctx context.Context, f *field) ([]Bar, error) {
		err := f.learning(ctx, f.several(3, 4), func(c *datadir.Config) {
			c.APIListen, c.APIPublic = fmt.Sprintf("0.0.0.0:%d", ownerPort), true
		})
		if err != nil {
			return nil, err
		}
		token, err := f.victim().owner.NewToken(ctx, api.TokenWish{Name: "owner", Scopes: []api.Scope{api.Read}})
		if err != nil {
			return nil, fmt.Errorf("attack: make a token: %w", err)
		}
		owner, err := f.owner(token.Secret)
		if err != nil {
			return nil, err
		}
		if err := owner.status(ctx); err != nil {
			return nil, fmt.Errorf("attack: the owner is not answered, before any attack: %w", err)
		}
		var asked, answered int
		bars, err := f.flood(ctx, name, func(ctx context.Context) {
			var attacking sync.WaitGroup
			for i := range attackerAddresses {
				attacking.Go(func() { attack(ctx, i, f.visitor(dialer{f.attacker, raid(i)})) })
			}
			for rest(ctx, ownerSlow) == nil {
				err := owner.status(ctx)
				if ctx.Err() == nil {
					asked++
				}
				if err == nil {
					answered++
				}
			}
			attacking.Wait()
		})
		return append(bars, atLeast("10 owner answered: "+name, float64(answered)/float64(asked), allowedShare, fmt.Sprintf("of %d requests within %v", asked, ownerPatience))), err
	}
}

// visitor is a client of the interface of the victim's owner at one address.
type visitor struct {
	dialer
	at     string // the address of the interface
	token  string
	client *http.Client // keeps one connection
}

func (f *field) visitor(from dialer) *visitor {
	host, _, _ := net.SplitHostPort(f.victim().tcpAddr()) // it has a port
	v := &visitor{dialer: from, at: net.JoinHostPort(host, fmt.Sprint(ownerPort))}
	v.client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: from.DialContext, TLSClientConfig: anyCertificate(), MaxConnsPerHost: 1,
	}}
	return v
}

// anyCertificate does not check who answers: there is nobody between.
func anyCertificate() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

// owner is the victim's owner, at a host of her own and with a token.
func (f *field) owner(token string) (*visitor, error) {
	at := netip.AddrFrom4([4]byte{64, 200, 0, 1})
	host, err := f.host("the owner", at)
	if err != nil {
		return nil, err
	}
	v := f.visitor(dialer{host, at})
	v.token = token
	return v, nil
}

// status asks for the status over a new connection, on which nothing is said for a while.
func (v *visitor) status(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ownerPatience)
	defer cancel()
	slow := &http.Transport{DisableKeepAlives: true, TLSClientConfig: anyCertificate(), DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := v.DialContext(ctx, network, address)
		if err == nil {
			err = rest(ctx, ownerSlow)
		}
		return c, err
	}}
	status, err := v.ask(ctx, &http.Client{Transport: slow}, http.MethodGet, "/v1/status", v.token)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("attack: the owner is answered %d", status)
	}
	return err
}

// ask makes a request, with a token unless that is "", and reads the answer.
func (v *visitor) ask(ctx context.Context, c *http.Client, method, path, token string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, method, "https://"+v.at+path, nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, errors.Join(err, answer.Body.Close())
}

// askOpenly asks for what everybody may see. Every other visitor does not wait for the answers.
func askOpenly(ctx context.Context, i int, v *visitor) {
	if i%2 == 1 {
		askAtOnce(ctx, v)
		return
	}
	for n := i; ctx.Err() == nil; n++ {
		if _, err := v.ask(ctx, v.client, http.MethodGet, []string{"/healthz", "/readyz", "/healthz", "/"}[n%4], ""); err != nil {
			_ = rest(ctx, refused)
		}
	}
}

// askAtOnce sends hundreds of requests at a time, and reads what comes.
func askAtOnce(ctx context.Context, v *visitor) {
	head := " HTTP/1.1\r\nHost: " + v.at + "\r\n\r\n"
	many := strings.Repeat("GET /healthz"+head+"OPTIONS *"+head, 200)
	for rest(ctx, refused) == nil {
		c, err := v.DialContext(ctx, "tcp", v.at)
		if err != nil {
			continue
		}
		closed := context.AfterFunc(ctx, func() { _ = c.Close() })
		over := tls.Client(c, anyCertificate())
		var reading sync.WaitGroup
		reading.Go(func() { _, _ = io.Copy(io.Discard, over) })
		for err == nil {
			_, err = io.WriteString(over, many)
		}
		closed()
		_ = c.Close()
		reading.Wait()
	}
}

// guess shows wrong tokens.
func guess(ctx context.Context, i int, v *visitor) {
	for n := i; ctx.Err() == nil; n++ {
		token := randomText(40)
		if n%2 == 0 {
			token = strings.Repeat(token, 1500)
		}
		if _, err := v.ask(ctx, v.client, []string{http.MethodGet, http.MethodPost}[n%2], []string{"/v1/status", "/v1/predict"}[n%2], token); err != nil {
			_ = rest(ctx, refused)
		}
	}
}

// dawdle holds four connections: on one nothing is said, on one half of a handshake, and on
// two the beginning of a request, one byte after another.
func dawdle(ctx context.Context, _ int, v *visitor) {
	var holding sync.WaitGroup
	for k := range 4 {
		holding.Go(func() {
			for rest(ctx, refused) == nil {
				c, err := v.DialContext(ctx, "tcp", v.at)
				if err != nil {
					continue
				}
				closed := context.AfterFunc(ctx, func() { _ = c.Close() })
				if k == 1 {
					_, _ = c.Write([]byte{22, 3, 1, 2, 0, 1, 0}) // of a ClientHello
				}
				if k >= 2 {
					over := tls.Client(c, anyCertificate())
					_, err = over.Write([]byte("GET /v1/status HTTP/1.1\r\nHost: "))
					for err == nil && rest(ctx, time.Second) == nil {
						_, err = over.Write([]byte("x"))
					}
				} else {
					_, _ = io.Copy(io.Discard, c) // until the other end closes
				}
				closed()
				_ = c.Close()
			}
		})
	}
	holding.Wait()
}
