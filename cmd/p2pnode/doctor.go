package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"p2pnode/discovery/reach"
	"p2pnode/node/api"
)

// The exit codes of doctor; exitUnknown is also that of committee status. 2 is a mistake in the command line, as everywhere.
const (
	exitUnreachable = exitCode(1)
	exitUnknown     = exitCode(3)
)

func doctorCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Whether others can reach this node, how, and what to do if not",
		Long: `Whether others can reach this node, how, through whom, and what to do if not.
With a running daemon the answer comes from what has happened: which addresses
other peers have called, which relays hold a place, how each peer is connected.
Without one it checks what can be checked: the port, the disk, the clock, and
whether anything answers at the bootstrap addresses.

The exit code is 0 if others reach the node (directly, through a relay, or on the
local network), 1 if they do not, and 3 if that cannot be told yet, as of one that
is paused or not running.`,
		Example: `  p2pnode doctor
  p2pnode doctor --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := askOwner(cmd, o, api.Owner.Doctor)
			if err != nil {
				return err
			}
			if err := show(cmd, o, d, doctorText(dirFlag(o.dir))); err != nil {
				return err
			}
			switch d.Verdict {
			case reach.Unreachable:
				return exitUnreachable
			case reach.Unknown:
				return exitUnknown
			}
			return nil
		},
	}
}

// doctorText returns what writes a diagnosis, with commands that name the directory by this flag.
func doctorText(dir string) func(api.Diagnosis) string {
	return func(d api.Diagnosis) string { return paragraph("", verdictLine(d, dir)) + diagnosisText(d) }
}

func diagnosisText(d api.Diagnosis) string {
	var b strings.Builder
	if len(d.Reach.Addresses) > 0 {
		b.WriteString("\n")
		rows := [][]any{{"ADDRESS", "WHAT IT IS", "WHO CAN CALL IT"}}
		for _, a := range d.Reach.Addresses {
			rows = append(rows, []any{a.Address, sourceText(a), stateText(a)})
		}
		b.WriteString(table(rows...))
	}
	rows := [][]any{
		{"peers", linksLine(d.Reach)},
		{"bootstrap", bootstrapLine(d.Bootstrap)},
		{"router", routerLine(d)},
		{"local network", localLine(d)},
		{"clock", clockLine(d.Clock)},
		{"disk", diskLine(d.DiskFree)},
	}
	if len(d.Committee) > 0 {
		rows = append(rows, []any{"committee", committeeLine(d.Committee)})
	}
	b.WriteString("\n" + table(rows...))
	for _, c := range d.Bootstrap {
		if !c.Reached {
			b.WriteString(paragraph("  ", fmt.Sprintf("bootstrap %s: %s", c.Address, api.Plain(c.Why))))
		}
	}
	if len(d.Problems) > 0 {
		b.WriteString("\nWhat to do:\n")
	}
	for _, p := range d.Problems {
		b.WriteString(paragraph("- ", api.Plain(p)))
	}
	return b.String()
}

func verdictLine(d api.Diagnosis, dir string) string {
	switch {
	case len(d.Paused) > 0:
		return "PAUSED. Nobody reaches it: it is " + pauseText(d.Paused) + dir
	case !d.Running:
		return "NOT RUNNING. Only a running node can tell whether others reach it."
	case d.Reach.Loopback:
		return "NOT REACHABLE from other machines: it listens on this one only."
	}
	switch d.Verdict {
	case reach.Reachable:
		return "REACHABLE. Others call this node directly."
	case reach.Relayed:
		return "REACHABLE THROUGH A RELAY. Nobody can call this node directly, it is behind a router or a firewall; " +
			"peers call it through a relay, and change to a direct connection where the routers let them."
	case reach.Local:
		return "REACHABLE ON THE LOCAL NETWORK. Nobody from elsewhere has called this node."
	case reach.Unreachable:
		return "NOT REACHABLE. Nobody can call this node, it is behind a router or a firewall, and no relay holds a place for it. " +
			"It still calls others: it learns with those that can be called."
	}
	return "CANNOT TELL YET whether others reach this node."
}

func sourceText(a reach.Address) string {
	switch a.Source {
	case reach.Router:
		return "mapped by the router"
	case reach.Observed:
		return "seen by other peers"
	case reach.Relay:
		return "relay " + shortPeer(a.Relay)
	case reach.Announced:
		return "written in config.toml"
	}
	return "of this machine"
}

func stateText(a reach.Address) string {
	switch a.State {
	case reach.Verified:
		if a.Source == reach.Relay {
			return "everybody"
		}
		return "everybody: a peer has tried"
	case reach.Failing:
		return "nobody: peers have tried"
	case reach.Private:
		if strings.HasPrefix(a.Address, "/ip4/127.") || strings.HasPrefix(a.Address, "/ip6/::1/") {
			return "this machine"
		}
		return "the local network"
	}
	return "not tried yet"
}

// linksLine counts peers by how they are connected.
func linksLine(r reach.Report) string {
	links := r.Links
	if r.Loopback {
		return fmt.Sprintf("%d connected, on this machine", len(links))
	}
	var direct, local, here, punched, called int
	through := make(map[string]int)
	why := ""
	for _, l := range links {
		switch {
		case l.Through != "":
			through[l.Through]++
			if l.NoPunch != "" {
				why = l.NoPunch
			}
		case l.Punched:
			punched++
		case l.Here:
			here++
		case l.Local:
			local++
		default:
			direct++
		}
		if l.Called {
			called++
		}
	}
	text := fmt.Sprintf("%d connected: %d direct, %d on the local network, %d on this machine, %d by hole punching", len(links), direct, local, here, punched)
	for relay, n := range through {
		text += fmt.Sprintf(", %d through relay %s", n, shortPeer(relay))
	}
	text += fmt.Sprintf("; %d called this node", called)
	if why != "" {
		text += "; no hole could be punched: their router or this one takes a new port for every peer"
	}
	return text
}

func bootstrapLine(checks []api.BootstrapCheck) string {
	reached := 0
	for _, c := range checks {
		if c.Reached {
			reached++
		}
	}
	if len(checks) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d of %d reached", reached, len(checks))
}

// committeeLine counts the members that are there, this node included if it is one.
func committeeLine(checks []api.MemberCheck) string {
	there := 0
	for _, c := range checks {
		if c.Reached {
			there++
		}
	}
	return fmt.Sprintf("%d of %d members reached", there, len(checks))
}

func routerLine(d api.Diagnosis) string {
	switch {
	case !d.PortMap:
		return "not asked for a port (upnp = false)"
	case !d.Running || d.Reach.Loopback:
		return "not asked"
	case d.Reach.Router:
		return "maps ports (UPnP)"
	}
	return "none that maps ports has answered (UPnP)"
}

func localLine(d api.Diagnosis) string {
	if !d.MDNS {
		return "not searched (mdns = false)"
	}
	if d.Reach.Loopback {
		return "searched, but this node listens on this machine only"
	}
	return "searched for peers (mDNS)"
}

func clockLine(behind float64) string {
	if behind > 0 {
		return api.Lasting(behind) + " BEHIND"
	}
	return "fine, as far as can be seen"
}

func diskLine(free int64) string {
	if free < 0 {
		return "not known"
	}
	return size(free) + " free"
}

func shortPeer(id string) string { return id[max(0, len(id)-8):] }
