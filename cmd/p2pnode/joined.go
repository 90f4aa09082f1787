package main

import (
	"fmt"
	"strings"

	"p2pnode/node/datadir"
)

// describe describes the network, and the node if there is one already.
func (j *joining) describe(made datadir.New) (joined, error) {
	about, err := aboutDirectory(j.dir, made)
	if err != nil {
		return joined{}, err
	}
	d := joined{
		Members: j.ticket.Members, Invited: j.ticket.Seed != nil, Until: expiry(j.ticket.Expires),
		Key: j.ticket.KeyPrint, From: ticketAddresses(j.ticket),
		newDirectory: about,
	}
	if !holdsNode(j.dir) {
		return d, nil
	}
	self, err := datadir.PeerOf(j.dir)
	d.Peer = self.String()
	if d.Sums != nil {
		d.Sums.place(d.Peer, j.flags.identity != "")
	}
	return d, err
}

// joined describes a network, and what join has made.
type joined struct {
	newDirectory
	Peer    string   `json:"peer"`
	Members string   `json:"members"`         // of which private network; "": everybody of the task may speak to the node
	Invited bool     `json:"invited"`         // the ticket brought an identity that is on the list
	Until   string   `json:"until,omitempty"` // when that membership ends
	Key     string   `json:"key_fingerprint"` // "": no network key
	From    []string `json:"starts_from"`
	Before  bool     `json:"joined_before"`   // the directory held a node of the network already
	Running bool     `json:"running_already"` // its daemon
	// The fields below are known once the daemon runs.
	Addresses []string `json:"addresses"`       // of this node
	First     string   `json:"first_neighbour"` // "": not waited for
	Seconds   float64  `json:"after_seconds"`   // it was met
}

// explain says what the task is and what it costs, and what joining means besides.
func (j *joining) explain(made datadir.New) (string, error) {
	plan, err := j.describe(made)
	if err != nil {
		return "", err
	}
	catalogue, err := datadir.ReadCatalogue(made.Task, made.Catalogue)
	if err != nil {
		return "", err
	}
	e, err := datadir.Explain(made.Task, made.Config, catalogue)
	if err != nil {
		return "", err
	}
	return explainedText(e) + "\nJOINING\n" + plan.joining(), nil
}

// joining says what joining means besides the text on the task.
func (d joined) joining() (text string) {
	if d.Sums != nil {
		text += "  The committee that adds up the private sums:\n    " + strings.Join(d.Sums.Committee, "\n    ") + "\n"
	}
	switch {
	case d.Invited:
		text += paragraph("  ", strings.TrimSpace(fmt.Sprintf("The ticket makes the node a member of %s %s", d.Members, d.Until))+". It is for one node: if somebody else has used it, do not join.")
	case d.Members != "":
		text += paragraph("  ", fmt.Sprintf("Members of %s speak to members only; the keeper of the list lets the node in.", d.Members))
	}
	if d.Key != "" {
		text += fmt.Sprintf("  The network has a key, with the fingerprint %s.\n", d.Key)
	}
	return text + "  The node will be made in " + d.Dir + ", and start from\n    " + strings.Join(d.From, "\n    ") + "\n"
}

// made says what was made from a ticket.
func (d joined) made() string {
	text := fmt.Sprintf("Made the node %s for the task %s in %s.\n%s\n", d.Peer, d.Task, d.Dir, d.guarantee())
	if d.Members != "" && !d.Invited {
		text += fmt.Sprintf("The keeper of the list of %s lets this node in with:\n  p2pnode members add %s --name NAME --key FILE\n", d.Members, d.Peer)
	}
	return text
}

// before says what a ticket brought to a node that had joined before.
func (d joined) before() string {
	text := fmt.Sprintf("The node of %s has joined this network before. It starts from the %s of the ticket, too.\n", d.Dir, plural(len(d.From), "address", "addresses"))
	if d.Running {
		text += "Its daemon is running already.\n"
	}
	return text
}
