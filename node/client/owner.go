package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"p2pnode/node/api"
)

// Status implements [api.Reporter].
func (c *Client) Status(ctx context.Context) (api.Status, error) {
	return get[api.Status](ctx, c, "/v1/status")
}

// Progress implements [api.Reporter].
func (c *Client) Progress(ctx context.Context) (api.Status, error) {
	return get[api.Status](ctx, c, "/v1/status?fit=false")
}

// Doctor implements [api.Reporter].
func (c *Client) Doctor(ctx context.Context) (api.Diagnosis, error) {
	return get[api.Diagnosis](ctx, c, "/v1/doctor")
}

// Sums implements [api.Reporter].
func (c *Client) Sums(ctx context.Context) (api.Sums, error) {
	return get[api.Sums](ctx, c, "/v1/sums")
}

// Benefit implements [api.Reporter].
func (c *Client) Benefit(ctx context.Context) ([]api.BenefitPoint, error) {
	b, err := get[api.Benefit](ctx, c, "/v1/benefit")
	return b.Points, err
}

// Budget implements [api.Accountant].
func (c *Client) Budget(ctx context.Context) (api.Budget, error) {
	return get[api.Budget](ctx, c, "/v1/budget")
}

// Verify implements [api.Accountant].
func (c *Client) Verify(ctx context.Context) (api.Verification, error) {
	return get[api.Verification](ctx, c, "/v1/budget/verification")
}

// Statement implements [api.Accountant].
func (c *Client) Statement(ctx context.Context) (api.SignedStatement, error) {
	return get[api.SignedStatement](ctx, c, "/v1/budget/statement")
}

// Ledger implements [api.Accountant].
func (c *Client) Ledger(ctx context.Context) ([]api.Line, error) {
	return get[[]api.Line](ctx, c, "/v1/budget/ledger")
}

// Peers implements [api.Networker].
func (c *Client) Peers(ctx context.Context) ([]api.Peer, error) {
	n, err := c.Neighbours(ctx)
	return n.Neighbours, err
}

// Neighbours implements [api.Networker].
func (c *Client) Neighbours(ctx context.Context) (api.Neighbours, error) {
	return get[api.Neighbours](ctx, c, "/v1/neighbours")
}

// Acquaintances implements [api.Networker].
func (c *Client) Acquaintances(ctx context.Context) ([]api.Acquaintance, error) {
	return get[[]api.Acquaintance](ctx, c, "/v1/peers")
}

// Standings implements [api.Networker].
func (c *Client) Standings(ctx context.Context) ([]api.Standing, error) {
	return get[[]api.Standing](ctx, c, "/v1/peers/why")
}

// Evidence implements [api.Networker].
func (c *Client) Evidence(ctx context.Context) ([]api.Evidence, error) {
	return get[[]api.Evidence](ctx, c, "/v1/evidence")
}

// AddPeer implements [api.Networker].
func (c *Client) AddPeer(ctx context.Context, address string) (api.Addition, error) {
	return post[api.Addition](ctx, c, "/v1/peers", api.PeerAddress{Address: address})
}

// RemovePeer implements [api.Networker].
func (c *Client) RemovePeer(ctx context.Context, peerOrAddress string) error {
	return c.send(ctx, call{method: http.MethodDelete, path: "/v1/peers/" + url.PathEscape(peerOrAddress)}, nothing)
}

// Members implements [api.Networker].
func (c *Client) Members(ctx context.Context) (api.Membership, error) {
	return get[api.Membership](ctx, c, "/v1/members")
}

// ImportMembers implements [api.Networker].
func (c *Client) ImportMembers(ctx context.Context, list []byte) error {
	return c.order(ctx, http.MethodPut, "/v1/members", api.MemberList{List: list}, nothing)
}

// Predict implements [api.Predictor].
func (c *Client) Predict(ctx context.Context, row map[string]string) (api.Prediction, error) {
	return post[api.Prediction](ctx, c, "/v1/predict", row)
}

// PredictRows implements [api.Predictor].
func (c *Client) PredictRows(ctx context.Context, rows api.Rows) (api.Answers, error) {
	return post[api.Answers](ctx, c, "/v1/predict/rows", rows)
}

// Model implements [api.Predictor].
func (c *Client) Model(ctx context.Context) (api.Model, error) {
	return get[api.Model](ctx, c, "/v1/model")
}

// Put implements [api.Recorder].
func (c *Client) Put(ctx context.Context, l api.Lines) (api.Acknowledgement, error) {
	return post[api.Acknowledgement](ctx, c, "/v1/records/lines", l)
}

// Imported implements [api.Recorder].
func (c *Client) Imported(ctx context.Context, file api.File) error {
	return c.order(ctx, http.MethodPost, "/v1/records/imported", file, nothing)
}

// Delete implements [api.Recorder].
func (c *Client) Delete(ctx context.Context, numbers []uint64) error {
	return c.order(ctx, http.MethodPost, "/v1/records/delete", api.Deletion{Numbers: numbers}, nothing)
}

// Records implements [api.Recorder].
func (c *Client) Records(ctx context.Context, content bool) iter.Seq2[api.RecordInfo, error] {
	return list[api.RecordInfo](ctx, c, "/v1/records?content="+strconv.FormatBool(content), "the list of records")
}

// Import implements [api.Recorder].
func (c *Client) Import(ctx context.Context, csv io.Reader, o api.ImportOptions) (r api.ImportReport, err error) {
	if !o.Again {
		if err := api.CheckKnown(csv, func(file api.Digest) error { return c.Imported(ctx, o.File(file)) }); err != nil {
			return r, err
		}
	}
	options := url.Values{"skip_bad": {strconv.FormatBool(o.SkipBad)}, "again": {strconv.FormatBool(o.Again)}, "id": {o.ID}, "name": {o.Name}}
	file := call{http.MethodPost, "/v1/records/file?" + options.Encode(), "application/octet-stream", ownFile{csv}}
	err = c.send(ctx, file, into(&r))
	if answered, ok := errors.AsType[refused](err); ok && answered.problem.Report != nil {
		return *answered.problem.Report, err
	}
	return r, err
}

// ownFile is a file of the client, and failing to read it is no matter of the daemon's.
type ownFile struct{ io.Reader }

// Read implements [io.Reader].
func (f ownFile) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = unread{err}
	}
	return n, err
}

// unread is an error of an ownFile.
type unread struct{ error }

// Unwrap is for [errors.Is] and its kin.
func (e unread) Unwrap() error { return e.error }

// Backup implements [api.Lifecycle]. If the copy breaks off, it returns an error.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	return c.send(ctx, call{method: http.MethodGet, path: "/v1/backup"}, func(body io.Reader) error {
		to := &copyWriter{to: w}
		switch _, err := io.Copy(to, body); {
		case to.err != nil:
			return fmt.Errorf("client: write the copy of the database: %w", to.err)
		case err != nil:
			return fmt.Errorf("client: copy the database: %w (the daemon's log says more)", err)
		}
		return nil
	})
}

// copyWriter remembers why the copy could not be written, which is no matter of the daemon's.
type copyWriter struct {
	to  io.Writer
	err error
}

// Write implements [io.Writer].
func (c *copyWriter) Write(p []byte) (n int, err error) {
	n, c.err = c.to.Write(p)
	return n, c.err
}

// Pause implements [api.Lifecycle].
func (c *Client) Pause(ctx context.Context, reason string) error {
	return c.order(ctx, http.MethodPost, "/v1/pause", api.PauseReason{Reason: reason}, nothing)
}

// Resume implements [api.Lifecycle].
func (c *Client) Resume(ctx context.Context, reason string) error {
	return c.order(ctx, http.MethodPost, "/v1/resume", api.PauseReason{Reason: reason}, nothing)
}

// Erase implements [api.Lifecycle].
func (c *Client) Erase(ctx context.Context, confirm string) (api.Erased, error) {
	return post[api.Erased](ctx, c, "/v1/erase", api.Confirmation{Peer: confirm})
}

// Leave implements [api.Lifecycle].
func (c *Client) Leave(ctx context.Context) (api.Farewell, error) {
	return post[api.Farewell](ctx, c, "/v1/leave", struct{}{})
}
