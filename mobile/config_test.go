package mobile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"
)

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig(`{"task":"movies","settings":"epsilon = 0.5","allow_metered":true,"min_battery_percent":0,
		"listen":["/ip4/127.0.0.1/tcp/0"],"bootstrap":["/ip4/192.0.2.7/tcp/4001/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"]}`)
	if err != nil {
		t.Fatal(err)
	}
	c.DataDir = t.TempDir()
	s, err := c.settle()
	if err != nil {
		t.Fatal(err)
	}
	if !s.AllowMetered || s.MinBatteryPercent != 0 || s.QueueLimit != 1000 || s.made.Config.Epsilon != 0.5 ||
		s.made.Config.Power != datadir.PowerLow || s.made.Config.UPnP || s.made.Config.MDNS || s.made.Config.DHT != "client" ||
		len(s.made.Config.Listen) != 1 || len(s.made.Config.Bootstrap) != 1 {
		t.Errorf("%+v", s)
	}
	for text, want := range map[string]string{
		``:                            "there is no JSON value",
		`[]`:                          "a list where an object belongs",
		`{"datadir":"/x"}`:            `unknown field "datadir"`,
		`{"log_level":5}`:             "log level 5",
		`{"min_battery_percent":101}`: "101 %",
		`{"queue_limit":0}`:           "too short",
		`{"max_examples":-1}`:         "-1 examples",
		`{"listen":["tcp://x"]}`:      "listen",
		`{"bootstrap":["/ip4/192.0.2.7/tcp/4001"]}`: "/p2p/",
		`{} {}`:                             "follows",
		`null`:                              "null",
		`{"task":null}`:                     "null",
		`{"Task":"movies"}`:                 `unknown field "Task"`,
		`{"task":"movies","ta\u017fk":"x"}`: "unknown field",
		`{"task":"movies","task":"linear"}`: `"task" is there twice`,
	} {
		if _, err := ParseConfig(text); errorCode(err) != CodeInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestNewNodeRefusesWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		change func(*Config)
		code   string
	}{
		"no directory":       {func(c *Config) { c.DataDir = "" }, CodeInput},
		"relative directory": {func(c *Config) { c.DataDir = "data" }, CodeInput},
		"a file":             {func(c *Config) { c.DataDir = file }, CodeStorage},
		"below a file":       {func(c *Config) { c.DataDir = filepath.Join(file, "x") }, CodeStorage},
		"where none is made": {func(c *Config) { c.DataDir = "/proc/x" }, CodeStorage},
		"no task":            {func(c *Config) { c.Task = "" }, CodeInput},
		"unknown task":       {func(c *Config) { c.Task = "films" }, CodeInput},
		"bad task":           {func(c *Config) { c.Task = "name = 3" }, CodeInput},
		"unknown setting":    {func(c *Config) { c.Settings = "epsilom = 1" }, CodeInput},
		"bad setting":        {func(c *Config) { c.Settings = "epsilon = -1" }, CodeInput},
		"keys that disagree": {func(c *Config) { c.Settings = "noise = 'laplace'\naccounting = 'gdp'" }, CodeInput},
		"bad level":          {func(c *Config) { c.LogLevel = -1 }, CodeInput},
	} {
		conf := testConfig(t)
		c.change(conf)
		if _, err := NewNode(conf, nil); errorCode(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if _, err := NewNode(nil, nil); errorCode(err) != CodeInput {
		t.Errorf("nil: %v", err)
	}
}

// It only settles the configuration: if that is not refused, a node in the root would be made.
func TestDataDirIsNoRoot(t *testing.T) {
	root := filepath.VolumeName(t.TempDir()) + string(filepath.Separator)
	for _, dir := range []string{root, root + "x/..", root + "."} {
		c := testConfig(t)
		c.DataDir = dir
		if _, err := c.settle(); errorCode(err) != CodeInput || !strings.Contains(err.Error(), "is the root of a file system") {
			t.Errorf("%q: %v", dir, err)
		}
	}
}

// An update of the app may bring other settings, and other constants of the task
// that are each node's own; not another task, nor a larger budget.
func TestAppsUpdate(t *testing.T) {
	c := testConfig(t)
	check(t, open(t, c, nil).Stop())
	c.Settings = "wake_seconds = 77.0"
	n := open(t, c, nil)
	text, err := os.ReadFile(filepath.Join(c.DataDir, "config.toml"))
	if err != nil || !strings.Contains(string(text), "wake_seconds = 77.0") {
		t.Errorf("%v: %s", err, text)
	}
	check(t, n.Stop())
	c.Task = "clusters"
	if _, err := NewNode(c, nil); errorCode(err) != CodeTask {
		t.Errorf("another task: %v", err)
	}
	c.Task, c.Settings = "movies", ""
	check(t, open(t, c, nil).Stop())
}

// Laplace noise goes with the pure accounting, which the settings need not name.
func TestAccountingSuitsTheNoise(t *testing.T) {
	c := testConfig(t)
	c.Settings = "noise = 'laplace'"
	check(t, open(t, c, nil).Stop())
	check(t, open(t, c, nil).Stop())
}

// What app developers hand over first is the path of the file.
func TestTaskIsNoPath(t *testing.T) {
	for _, task := range []string{"", "/assets/heating.toml", `{"name":"heating"}`} {
		_, err := NewNode(NewConfig(t.TempDir(), task), nil)
		if err == nil || !strings.Contains(err.Error(), "not its path") {
			t.Errorf("%q: %v", task, err)
		}
	}
}

// A wake that has no effect is said to have none.
func TestWakeOfATaskInRounds(t *testing.T) {
	const task = "name = \"walks\"\n[[features]]\nname = \"steps\"\nkind = \"number\"\nmin = 0.0\nmax = 30000.0\n[target]\nname = \"tired\"\nmin = 0.0\nmax = 1.0\n"
	for settings, warned := range map[string]bool{"wake_seconds = 600": true, "epsilon = 0.5": false} {
		c, r := NewConfig(t.TempDir(), task), &recorder{}
		c.Settings, c.LogLevel = settings, LogWarn
		n, err := NewNode(c, r)
		if err != nil {
			t.Fatal(err)
		}
		said := func() bool { return slices.Contains(r.all(), "2 wake_seconds "+datadir.WakeInRounds) }
		if warned {
			require.Eventually(t, "the app is warned", said)
		}
		check(t, n.Stop())
		if said() != warned {
			t.Errorf("%s: %q", settings, r.all())
		}
	}
}

// Two spellings of a key are no way to say a setting twice.
func TestSettingsAreKeys(t *testing.T) {
	for settings, want := range map[string]string{
		"Epsilon = 0.5\nepsilon = 0.7": `line 1: key "Epsilon": is no key of the configuration; do you mean epsilon?`,
		"epsilon = 0.5\nepsilon = 0.7": "line 2",
		"neighbors = []":               `key "neighbors": is no key`,
		"epsilon = 'half'":             `line 1: key "epsilon": must be a number`,
	} {
		c := linearConfig(t)
		c.Settings = settings
		if _, err := NewNode(c, nil); errorCode(err) != CodeInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ... %s", settings, err, want)
		}
	}
}
