package datadir

import (
	"fmt"
	"net"
	"net/netip"
)

// checkInterface checks the keys that say where the daemon offers its owner's interface
// over a network.
func (c *Config) checkInterface(f *faults) {
	if err := c.checkAPIListen(); err != nil {
		f.add("api_listen", "%w", err)
	}
	for _, host := range c.APIHosts {
		if _, _, err := net.SplitHostPort(host); err != nil {
			f.add("api_hosts", "%q is not a host with its port, as node.example:8467", host)
		}
	}
	if (c.APICert == "") != (c.APIKey == "") {
		f.add("api_tls_cert", "a certificate and its key, api_tls_key, go together")
	}
	if c.APIPublic && c.APIListen == "" {
		f.add("api_public", "says that others may reach the address of api_listen, and there is none; p2pnode run --api gives it")
	}
}

func (c *Config) checkAPIListen() error {
	if c.APIListen == "" {
		return nil
	}
	address, err := netip.ParseAddrPort(c.APIListen)
	if err != nil {
		return fmt.Errorf("%q is not an IP address with a port, as 127.0.0.1:8467 or [::1]:8467", c.APIListen)
	}
	if !address.Addr().IsLoopback() && !c.APIPublic {
		return fmt.Errorf("other machines can reach %s; to let them, over TLS, say api_public = true, or p2pnode run --api-public", c.APIListen)
	}
	return nil
}

// InterfaceTLS reports whether the interface is offered over TLS.
func (c *Config) InterfaceTLS() bool { return c.APIPublic || c.APICert != "" }
