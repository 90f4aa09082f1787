package mobile

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/node/netedge"
	"p2pnode/node/ticket"
)

// TicketConfig returns a configuration with default values for the network of a ticket, the
// text that p2pnode invite prints and draws as a QR code: its task, its nodes to start from
// and, if the ticket holds them, its network key or an identity on its list of members. Show
// the user [Config.TicketJSON] before [NewNode]. A text that is no ticket, is mistyped, or
// is of a later version is [CodeInput]. An app may make a configuration of the same ticket at
// every start; the directory keeps what it has got.
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

// errNoTask says that the text of a ticket's task is still missing.
var errNoTask = errors.New("the ticket has its task's hash only; call fetch first, in the background, or set the text of the task file")

// ticketTask is the task of the ticket.
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

// before is what the directory holds, if that is a node of the ticket's network.
func (c *Config) before() (datadir.Files, bool) {
	have, err := datadir.Read(c.DataDir)
	return have, err == nil && datadir.NetworkName(have.Task) == c.ticket.Network
}

// fetchWithin bounds how long one file may take.
const fetchWithin = 2 * time.Minute

// Fetch gets what a ticket names by its hash only from the nodes of the ticket: a long task,
// and the file that lists a task's keys, unless the directory or [Config.SetCatalogue] has
// them. It takes as long as the network does, at most two minutes for each, and returns at
// once where nothing is missing. If no node can be reached it fails with [CodeBusy].
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

// fetch gets one file.
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

// ticketInfo is a ticket as [Config.TicketJSON] describes it.
type ticketInfo struct {
	Network    string   `json:"network"`
	Secret     bool     `json:"secret"`       // whoever has the ticket can do what others cannot
	ForOneNode bool     `json:"for_one_node"` // it holds the identity of a node
	Members    string   `json:"members"`      // the network that has a list of its members; "": it has none
	Expires    string   `json:"expires"`      // when the membership in the ticket ends; "": never, or it has none
	LacksKey   bool     `json:"lacks_key"`    // there is a network key, and neither the ticket nor the directory has it
	Addresses  []string `json:"addresses"`
	// Fetch says that something is missing that [Config.Fetch] gets. Without the task, what
	// follows is null.
	Fetch     bool           `json:"fetch"`
	Task      *taskText      `json:"task"`
	Guarantee *guaranteeText `json:"guarantee"`
	Committee *committeeText `json:"committee"` // null also for a task without private sums
}

// guaranteeText is what each record is protected by.
type guaranteeText struct {
	Epsilon   float64 `json:"epsilon"`
	Delta     float64 `json:"delta"`
	Releases  int     `json:"releases"` // 0: only private sums
	Protected bool    `json:"protected"`
}

// committeeText is who adds up private sums.
type committeeText struct {
	Members   []string `json:"members"`
	Colluding int      `json:"colluding"` // so many of them may work together without learning anything
	Share     float64  `json:"share"`     // of the budget that goes into the sums
}

// TicketJSON describes the ticket that the configuration was made of, for the user to see
// before she joins: what is learned, what protects her examples, whom she must trust, and
// whether the ticket is a secret. docs/mobile-reference.md has its fields. It takes a disk's time.
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
	out, err := json.Marshal(info)
	return string(out), err
}

// describe says what follows from the task.
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
