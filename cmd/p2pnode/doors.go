package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"syscall"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/dashboard"
	"p2pnode/node/datadir"
	"p2pnode/node/local"
	"p2pnode/node/logs"
	"p2pnode/node/metrics"
	"p2pnode/node/server"
	"p2pnode/node/tokens"
)

// accessFlags say where a daemon is asked beside its socket. They are short for keys of
// config.toml.
type accessFlags struct {
	listen string
	public bool
}

func (f *accessFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.listen, "api", "", "offer the owner's interface and the dashboard at this address too, as 127.0.0.1:8467 (key api_listen)")
	c.Flags().BoolVar(&f.public, "api-public", false, "let other machines reach that address, over TLS (key api_public)")
}

// settings are the flags that were given. One that is given empty, or as false, takes back
// what the configuration says; without an address there is nothing to be public.
func (f *accessFlags) settings(given func(flag string) bool) (list []datadir.Setting) {
	if given("api") {
		list = append(list, datadir.Setting{Key: "api_listen", Value: f.listen, From: "--api"})
	}
	if given("api-public") || given("api") && f.listen == "" {
		list = append(list, datadir.Setting{Key: "api_public", Value: strconv.FormatBool(f.public), From: "--api-public"})
	}
	return list
}

// doors are the places where a daemon is asked: the socket of its directory and, if its
// owner says so, a network.
type doors struct {
	server  *server.Server
	socket  net.Listener
	network net.Listener // nil: none
	guard   server.Guard // of the network
	url     string       // of the network
}

// openDoors opens the socket and the network. It arranges that left is called when the
// node has left its neighbours.
func openDoors(o *options, n *node.Node, log *slog.Logger, left func()) (d *doors, err error) {
	files, err := datadir.Read(o.dir, o.settings...)
	if err != nil {
		return nil, err
	}
	c := files.Config
	serves, err := local.Config(n, o.dir, logs.For(log, logs.API))
	if err != nil {
		return nil, err
	}
	d = new(doors)
	if d.network, err = openNetwork(&c, files.Key); err != nil {
		return nil, err
	}
	if d.network != nil {
		d.guard = networkGuard(&c, serves.Tokens)
		d.url = address(d.network, c.InterfaceTLS())
	}
	if d.socket, err = ownerSocket(o.dir); err != nil {
		return nil, errors.Join(err, d.close())
	}
	serves.Left, serves.URL, serves.Pages, serves.Metrics = left, d.url, dashboard.Handler(), metrics.Handler(n, d.network != nil)
	d.server = server.New(serves)
	return d, nil
}

// networkGuard lets in requests with a token. If other machines may ask, it keeps the
// errors on held-out records on this machine, unless the records are an experiment's.
func networkGuard(c *datadir.Config, t *tokens.Store) server.Guard {
	g := server.NewBearer(t, c.APIHosts)
	if c.APIPublic && !c.Experiment {
		return server.Discreet{Guard: g}
	}
	return g
}

// openNetwork listens where the configuration says, or returns nil if it says nowhere.
func openNetwork(c *datadir.Config, key crypto.PrivKey) (net.Listener, error) {
	if c.APIListen == "" {
		return nil, nil
	}
	if !c.InterfaceTLS() {
		return listen(c.APIListen, nil)
	}
	made, err := server.Certificate(key)
	if c.APICert != "" {
		made, err = tls.LoadX509KeyPair(c.APICert, c.APIKey)
	}
	if err != nil {
		return nil, err
	}
	return listen(c.APIListen, &made)
}

func listen(address string, certificate *tls.Certificate) (net.Listener, error) {
	l, err := server.ListenNetwork(address, certificate)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = api.Advise(err, "another program listens there; choose another port")
	}
	return l, err
}

// address is where a browser on this machine finds a listener.
func address(l net.Listener, overTLS bool) string {
	at := l.Addr().(*net.TCPAddr)
	host := at.String()
	if at.IP.IsUnspecified() {
		_, port, _ := net.SplitHostPort(host)
		host = net.JoinHostPort("localhost", port)
	}
	if overTLS {
		return "https://" + host
	}
	return "http://" + host
}

// close closes the doors that are open before anything is served.
func (d *doors) close() error {
	if d.network == nil {
		return nil
	}
	return d.network.Close()
}

// serve answers at all doors until ctx ends.
func (d *doors) serve(ctx context.Context, parts *errgroup.Group) {
	parts.Go(func() error { return d.server.Serve(ctx, d.socket, server.Socket{}) })
	if d.network != nil {
		parts.Go(func() error { return d.server.Serve(ctx, d.network, d.guard) })
	}
}
