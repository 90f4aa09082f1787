package client

import (
	"context"
	"net/http"
	"net/url"

	"p2pnode/node/api"
)

// Tokens lists the tokens of those who may ask over a network.
func (c *Client) Tokens(ctx context.Context) ([]api.Token, error) {
	return get[[]api.Token](ctx, c, "/v1/tokens")
}

// NewToken makes a token. Its secret is shown only once.
func (c *Client) NewToken(ctx context.Context, w api.TokenWish) (api.IssuedToken, error) {
	return post[api.IssuedToken](ctx, c, "/v1/tokens", w)
}

// RevokeToken ends a token.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.send(ctx, call{method: http.MethodDelete, path: "/v1/tokens/" + url.PathEscape(id)}, nothing)
}

// NewCode makes a code that a browser exchanges for a session.
func (c *Client) NewCode(ctx context.Context) (api.Code, error) {
	return post[api.Code](ctx, c, "/v1/session/code", struct{}{})
}
