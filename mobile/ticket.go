package mobile

import (
	"context"
	"errors"
	"time"

	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/node/netedge"
	"p2pnode/node/ticket"
)

// TicketConfig returns a configuration with default values for the network of a ticket,
// the text that p2pnode invite prints and draws as a QR code: its task, its nodes to
// start from and, if the ticket holds them, its network key or an identity on its list
// of members. Show the user [Config.TicketJSON] before [NewNode]. If the text is not a
// ticket, is mistyped, or is of a later version, the error is [CodeInput]. An app may
// make a configuration from the same ticket at every start; the directory keeps what it
// already has.
func TicketConfig(dataDir, ticketText string) (c *Config, err error) {
	defer guard(&err)
	t, err := ticket.Decode(ticketText)
	if err != nil {
		return nil, coded(CodeInput, err)
	}
	c = NewConfig(dataDir, "")
	c.ticket = t
	if c.invited, err = datadir.Invited(t); err != nil {
		return nil, coded(CodeInput, err)
	}
	c.private = c.invited.Private
	for _, p := range t.Peers {
		for _, a := range p.Addrs {
			if err := c.AddBootstrap(a.String() + "/p2p/" + p.ID.String()); err != nil {
				return nil, err
			}
		}
	}
	if t.Task == nil {
		return c, nil
	}
	c.Task = string(t.Task)
	if _, err := c.ticketTask(); err != nil {
		return nil, coded(CodeInput, err)
	}
	return c, nil
}

// errNoTask says that the text of a ticket's task has not been fetched yet.
var errNoTask = errors.New("the ticket has its task's hash only; call fetch first, in the background, or set the text of the task file")

// ticketTask returns the task of the ticket.
func (c *Config) ticketTask() (*learner.Task, error) {
	if c.Task != "" {
		made := c.invited
		err := made.TakeTask(c.ticket, []byte(c.Task))
		return made.Task, err
	}
	if have, ok := c.before(); ok {
		return have.Task, nil
	}
	return nil, errNoTask
}

// before returns the content of the directory, if that is a node of the ticket's
// network.
func (c *Config) before() (datadir.Files, bool) {
	have, err := datadir.Read(c.DataDir)
	return have, err == nil && datadir.NetworkName(have.Task) == c.ticket.Network
}

// fetchWithin bounds how long one file may take.
const fetchWithin = 2 * time.Minute

// Fetch downloads, from the nodes of the ticket, what the ticket names only by its
// hash: a long task, and the file that lists a task's keys, unless the directory or
// [Config.SetCatalogue] has them. It takes as long as the network does, at most two
// minutes for each, and returns at once if nothing is missing. If no node can be
// reached it fails with [CodeBusy].
func (c *Config) Fetch() (err error) {
	defer guard(&err)
	if c.ticket == nil {
		return wrongInput("this configuration is of no ticket; make it with ticketConfig")
	}
	if _, joined := c.before(); joined {
		return nil
	}
	made := c.invited
	made.Task, err = c.ticketTask()
	if errors.Is(err, errNoTask) {
		var text []byte
		if text, err = c.fetch(c.ticket.TaskHash); err != nil {
			return err
		}
		c.Task = string(text)
		made.Task, err = c.ticketTask()
	}
	if err != nil {
		return coded(CodeInput, err)
	}
	made.Catalogue = c.catalogue
	if sum, missing := made.CatalogueHash(); missing {
		c.catalogue, err = c.fetch(sum)
	}
	return err
}

// fetch downloads one file.
func (c *Config) fetch(sum [ticket.HashSize]byte) ([]byte, error) {
	key := c.invited.Key
	if key == nil {
		var err error
		if key, err = datadir.PassingIdentity(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchWithin)
	defer cancel()
	data, err := netedge.FetchFile(ctx, key, c.private, c.ticket.Network, c.ticket.Peers, sum)
	return data, coded(CodeBusy, err)
}

// ticketInfo is the description of a ticket in [Config.TicketJSON].
type ticketInfo struct {
	Network    string   `json:"network"`
	Secret     bool     `json:"secret"`       // having the ticket allows something that others cannot do
	ForOneNode bool     `json:"for_one_node"` // it holds the identity of a node
	Members    string   `json:"members"`      // the network that has a list of its members; "": it has none
	Expires    string   `json:"expires"`      // when the membership in the ticket ends; "": never, or it has none
	LacksKey   bool     `json:"lacks_key"`    // there is a network key, and neither the ticket nor the directory has it
	Addresses  []string `json:"addresses"`
	// Fetch says that [Config.Fetch] must download something that is missing. If the
	// task is missing, the fields below are null.
	Fetch     bool           `json:"fetch"`
	Task      *taskText      `json:"task"`
	Guarantee *guaranteeText `json:"guarantee"`
	Committee *committeeText `json:"committee"` // null also for a task without private sums
}

// guaranteeText describes how each record is protected.
type guaranteeText struct {
	Epsilon   float64 `json:"epsilon"`
	Delta     float64 `json:"delta"`
	Releases  int     `json:"releases"` // 0: only private sums
	Protected bool    `json:"protected"`
}

// committeeText describes who adds up private sums.
type committeeText struct {
	Members   []string `json:"members"`
	Colluding int      `json:"colluding"` // so many of them may work together without learning anything
	Share     float64  `json:"share"`     // of the budget that goes into the sums
}

// TicketJSON describes the ticket that the configuration was made of, for users to see
// before they join: what is learned, what protects their examples, whom they must
// trust, and whether the ticket is a secret. docs/mobile-reference.md lists its fields.
// It takes as long as the disk does.
func (c *Config) TicketJSON() (text string, err error) {
	defer guard(&err)
	if c.ticket == nil {
		return "", wrongInput("this configuration is of no ticket; make it with ticketConfig")
	}
	info := ticketInfo{
		Network: c.ticket.Network, Secret: c.ticket.Secret(), ForOneNode: c.ticket.Seed != nil, Members: c.ticket.Members,
		LacksKey: c.private.Ready(c.DataDir) != nil, Addresses: c.bootstrap, Fetch: true,
	}
	if !c.ticket.Expires.IsZero() {
		info.Expires = c.ticket.Expires.Format(time.RFC3339)
	}
	if _, err := c.ticketTask(); !errors.Is(err, errNoTask) {
		if err := info.describe(c); err != nil {
			return "", err
		}
	}
	return encodeJSON(info)
}

// describe fills in the fields that follow from the task.
func (info *ticketInfo) describe(c *Config) error {
	s, err := c.settle()
	if err != nil {
		return err
	}
	_, joined := c.before()
	_, missing := s.made.CatalogueHash()
	info.Fetch = missing && !joined
	t, kept := s.made.Task, s.made.Config.Guarantee()
	task := describeTask(t)
	info.Task = &task
	info.Guarantee = &guaranteeText{kept.Epsilon, kept.Delta, s.made.Config.Releases, s.made.Config.Protected()}
	if t.Silent() {
		info.Guarantee.Releases = 0
	}
	if sums := t.Sums; len(sums.Recipes) > 0 {
		info.Committee = &committeeText{sums.Committee, sums.Colluding, sums.Share()}
	}
	return nil
}
