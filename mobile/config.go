package mobile

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libp2p/go-libp2p/gologshim"

	"p2pnode/learner"
	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/netedge"
	"p2pnode/node/ticket"
)

// Config says where a node keeps its data, what it learns, and when it may use the
// network. [NewNode] copies the fields; later changes have no effect.
type Config struct {
	// DataDir is a directory of the app's own that no other program can read and no
	// backup copies: a restored copy is refused (see docs/mobile-reference.md). NewNode
	// makes it if it does not exist. Take one without files of others: one with the name of a
	// node's, as config.toml, is replaced. The root of a file system is [CodeInput].
	DataDir string `json:"data_dir"`
	// Task is the text of a task file (docs/tasks.md), or the name of a built-in task.
	Task string `json:"task"`
	// Settings is TOML with keys of the daemon's config.toml. Missing keys have the
	// phone's defaults, those of the profile power = "low" without UPnP.
	Settings string `json:"settings"`

	AllowMetered      bool `json:"allow_metered"`       // take part over metered networks too; default false
	RequireCharging   bool `json:"require_charging"`    // take part only while charging; default false
	AllowPowerSaver   bool `json:"allow_power_saver"`   // take part while the system saves power; default false
	MinBatteryPercent int  `json:"min_battery_percent"` // below it, take part only while charging; 0 to 100, default 20

	// QueueLimit is how many examples may wait to be written; default 1000.
	QueueLimit int `json:"queue_limit"`
	// MaxExamples is how many examples the node keeps. All are held in memory; 0, the
	// default, is the number that fits into 32 MiB.
	MaxExamples int `json:"max_examples"`

	LogLevel int `json:"log_level"` // LogDebug to LogOff; default LogInfo

	bootstrap, listen []string
	private           datadir.PrivateNetwork
	catalogue         []byte
	ticket            *ticket.Ticket // nil: none
	invited           datadir.New    // who the ticket says the node is, and who may speak to it
}

// The costs of a network, for [Node.SetNetwork].
const (
	NetNone      = 0
	NetUnmetered = 1
	NetMetered   = 2
)

// Levels of [Listener.OnLog].
const (
	LogDebug = 0
	LogInfo  = 1
	LogWarn  = 2
	LogError = 3
	LogOff   = 4
)

// NewConfig returns a configuration with default values.
func NewConfig(dataDir, task string) *Config {
	return &Config{DataDir: dataDir, Task: task, MinBatteryPercent: 20, QueueLimit: 1000, LogLevel: LogInfo}
}

// ParseConfig reads a configuration from JSON, as an app may ship it: the fields in
// snake case, and the lists "bootstrap" and "listen". Missing fields have their
// defaults. An app usually sets DataDir, a private network and a catalogue afterwards.
// An unknown key is an error, as is one that is there twice, or null.
func ParseConfig(configJSON string) (c *Config, err error) {
	defer guard(&err)
	c = NewConfig("", "")
	text := configText{Config: c}
	if err := decodeJSON(configJSON, &text); err != nil {
		return nil, wrongInput("the configuration: %w", err)
	}
	for _, a := range text.Bootstrap {
		if err := c.AddBootstrap(a); err != nil {
			return nil, err
		}
	}
	for _, a := range text.Listen {
		if err := c.AddListen(a); err != nil {
			return nil, err
		}
	}
	return c, c.check()
}

// configText is a configuration in JSON.
type configText struct {
	*Config
	Bootstrap []string `json:"bootstrap"`
	Listen    []string `json:"listen"`
}

// AddBootstrap adds a peer to start from, in the form /ip4/.../tcp/.../p2p/ID.
func (c *Config) AddBootstrap(multiaddr string) (err error) {
	defer guard(&err)
	if _, err := netedge.ParsePeer(multiaddr); err != nil {
		return coded(CodeInput, err)
	}
	c.bootstrap = append(c.bootstrap, multiaddr)
	return nil
}

// AddListen adds an address to listen on, instead of a free port on every interface.
func (c *Config) AddListen(multiaddr string) (err error) {
	defer guard(&err)
	if err := datadir.CheckListen(multiaddr); err != nil {
		return coded(CodeInput, err)
	}
	c.listen = append(c.listen, multiaddr)
	return nil
}

// SetCatalogue gives the node the file that lists the keys of its task: a task with
// private sums over keys names the file's SHA-256. It is public, the same for every
// node, and ships with the app. [NewNode] writes it into the data directory and refuses
// another file with [CodeInput]; a directory that has the file does not need it again.
func (c *Config) SetCatalogue(content []byte) (err error) {
	defer guard(&err)
	if len(content) == 0 {
		return wrongInput("the catalogue is empty; give the bytes of the file, or leave the call out")
	}
	c.catalogue = slices.Clone(content)
	return nil
}

// check refuses fields outside their ranges.
func (c *Config) check() error {
	switch {
	case c.MinBatteryPercent < 0 || c.MinBatteryPercent > 100:
		return wrongInput("a least battery of %d %% is outside 0 to 100", c.MinBatteryPercent)
	case c.QueueLimit < 1:
		return wrongInput("a queue for %d examples is too short; 1000 is the default", c.QueueLimit)
	case c.MaxExamples < 0:
		return wrongInput("at most %d examples: it must be positive, or 0 for what fits into 32 MiB", c.MaxExamples)
	case c.LogLevel < LogDebug || c.LogLevel > LogOff:
		return wrongInput("there is no log level %d, only 0 (debug) to 4 (off)", c.LogLevel)
	}
	return nil
}

// settled is a checked configuration with its texts parsed.
type settled struct {
	Config
	made datadir.New
}

// settle checks a configuration and copies it.
func (c *Config) settle() (s settled, err error) {
	if c == nil {
		return s, wrongInput("there is no configuration")
	}
	if err := c.check(); err != nil {
		return s, err
	}
	if err := absolute(c.DataDir); err != nil {
		return s, err
	}
	if dir := filepath.Clean(c.DataDir); filepath.Dir(dir) == dir {
		return s, wrongInput("the data directory %q is the root of a file system; take a directory of the app's own that no backup copies", c.DataDir)
	}
	s.Config = *c
	s.bootstrap, s.listen = slices.Clone(c.bootstrap), slices.Clone(c.listen)
	s.made = c.invited
	s.made.Private = c.private
	s.made.Catalogue, s.catalogue = c.catalogue, nil // it may be large, and goes into the directory
	if s.made.Task, err = c.readTask(); err != nil {
		return s, coded(CodeInput, err)
	}
	s.made.Config, err = s.settings()
	return s, coded(CodeInput, err)
}

// absolute refuses a data directory that depends on where the process works.
func absolute(dir string) error {
	if filepath.IsAbs(dir) {
		return nil
	}
	return wrongInput("the data directory %q is not an absolute path; take a directory of the app's own that no backup copies", dir)
}

// readTask reads the task, unless a ticket has it. A TOML text has an equals sign, and
// the name of a built-in task has none.
func (c *Config) readTask() (*learner.Task, error) {
	if c.ticket != nil {
		return c.ticketTask()
	}
	if strings.Contains(c.Task, "=") {
		return datadir.ParseTask([]byte(c.Task))
	}
	task, err := datadir.BuiltinTask(strings.TrimSpace(c.Task))
	if err != nil {
		return nil, errors.New("the task is neither a task file's text nor the name of a built-in one; give the text of the file, not its path")
	}
	return task, nil
}

// settings are the phone's defaults, changed by the app's settings.
func (s *settled) settings() (datadir.Config, error) {
	phone := datadir.DefaultConfig(s.made.Task)
	if err := phone.Use(datadir.LowPower); err != nil {
		return phone, err
	}
	phone.UPnP = false // the phone's owner seldom controls the router, and the phone's address changes
	conf, err := phone.With([]byte(s.Settings), s.made.Task)
	if err != nil {
		return conf, fmt.Errorf("the settings: %w", err)
	}
	conf.Bootstrap = slices.Concat(conf.Bootstrap, s.bootstrap)
	if len(s.listen) > 0 {
		conf.Listen = s.listen
	}
	return conf, conf.Validate(s.made.Task)
}

// open prepares the directory for the configuration, and opens it.
func (s *settled) open(log *slog.Logger) (*node.Node, error) {
	gologshim.SetDefaultHandler(slog.DiscardHandler) // libp2p also returns the errors that it logs
	if err := datadir.Configure(s.DataDir, s.made); err != nil {
		return nil, ofDirectory(err)
	}
	n, err := node.Open(s.DataDir, log)
	if err != nil {
		return nil, ofDirectory(err)
	}
	if err := s.introduceMembers(n); err != nil {
		return nil, errors.Join(ofDirectory(err), n.Close())
	}
	if t := s.made.Task; t.InRounds() && s.made.Config.WakeSeconds != datadir.DefaultConfig(t).WakeSeconds {
		log.Warn("wake_seconds " + datadir.WakeInRounds)
	}
	return n, nil
}

// ofDirectory gives an error of a directory its code. A file that is missing there is not one
// that the app has named.
func ofDirectory(err error) error {
	if code := errorCode(err); code == CodeFailed || code == CodeInput && errors.Is(err, fs.ErrNotExist) && !errors.Is(err, api.ErrRequest) {
		return coded(CodeStorage, err)
	}
	return err
}
