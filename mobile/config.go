package mobile

// Config says where a node lives, what it learns, and when it may use the network.
// Fields are copied by [NewNode]; what changes later has no effect.
type Config struct {
	// DataDir is a directory of the app's own that no other program can read and no
	// backup copies: a restored copy is refused (see docs/mobile.md). It is made if
	// it is not there.
	DataDir string
	// Task is the text of a task file (docs/tasks.md), or the name of a built-in task.
	Task string
	// Settings is TOML with keys of the daemon's config.toml; what it leaves out has
	// the phone's defaults, those of the profile power = "low".
	Settings string

	AllowMetered      bool // take part over metered networks too; default false
	RequireCharging   bool // take part only while charging; default false
	AllowPowerSaver   bool // take part while the system saves power; default false
	MinBatteryPercent int  // below it, take part only while charging; 0 to 100, default 20

	// QueueLimit is how many examples may wait to be written; default 1000.
	QueueLimit int
	// MaxExamples is how many examples the node keeps, as all are held in memory;
	// 0, the default, is what fits into 32 MiB.
	MaxExamples int

	LogLevel int // LogDebug to LogOff; default LogInfo

	bootstrap, listen []string
}

// What a network costs, for [Node.SetNetwork].
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

// NewConfig returns a configuration with the defaults.
func NewConfig(dataDir, task string) *Config {
	return &Config{DataDir: dataDir, Task: task, MinBatteryPercent: 20, QueueLimit: 1000, LogLevel: LogInfo}
}

// ParseConfig reads a configuration from JSON, as an app may ship it: the fields in
// snake case, and the lists "bootstrap" and "listen". An unknown key is an error.
func ParseConfig(configJSON string) (c *Config, err error) {
	defer guard(&err)
	return nil, errNotBuilt
}

// AddBootstrap adds a peer to start from, as /ip4/.../tcp/.../p2p/ID.
func (c *Config) AddBootstrap(multiaddr string) (err error) {
	defer guard(&err)
	return errNotBuilt
}

// AddListen adds an address to listen on, in place of a free port on every interface.
func (c *Config) AddListen(multiaddr string) (err error) {
	defer guard(&err)
	return errNotBuilt
}
