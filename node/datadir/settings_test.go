package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/storage"
)

// Every key can be set by a text, and a text says its value.
func TestKeys(t *testing.T) {
	for _, k := range Keys() {
		if k.Name == "" || k.About == "" {
			t.Errorf("the key %q has no name or no comment", k.Name)
		}
		var c, again Config
		text := "true"
		if k.set(&c, text) != nil { // neither a text nor a truth
			text = "1"
		}
		if err := k.set(&c, text); err != nil || k.Text(&c) != text {
			t.Errorf("%s = %s became %q, %v", k.Name, text, k.Text(&c), err)
		}
		if err := k.set(&again, k.Text(&c)); err != nil || !k.same(&again, &c) || k.same(&again, &Config{}) {
			t.Errorf("%s: %v, %q", k.Name, err, k.Text(&again))
		}
	}
}

func TestEnvironment(t *testing.T) {
	settings, misspelled := Environment([]string{
		"HOME=/", "P2PNODE_LISTEN=a,b", "P2PNODE_DHT=", "P2PNODE_DIR=/x", "P2PNODE_BOOTSRAP=x", "P2PNODE_Delta=1",
		"P2PNODE_SERVICE_HOST=10.0.0.1", "P2PNODE_RELAY_SERVICE_HOST=10.0.0.1", "P2PNODE_PORT=tcp://10.0.0.1:80",
	})
	if len(settings) != 1 || settings[0] != (Setting{"listen", "a,b", "P2PNODE_LISTEN"}) {
		t.Errorf("settings %+v", settings)
	}
	if len(misspelled) != 2 || misspelled[0].From != "P2PNODE_BOOTSRAP" || !strings.Contains(misspelled[0].Text, "P2PNODE_BOOTSTRAP?") || misspelled[1].From != "P2PNODE_Delta" {
		t.Errorf("misspelled %+v", misspelled)
	}
	if _, err := ParseSetting("keep_day=3", "--set"); err == nil || !strings.Contains(err.Error(), "do you mean keep_days?") {
		t.Errorf("a key that is none: %v", err)
	}
	if _, err := ParseSetting("keep_days", "--set"); err == nil || !strings.Contains(err.Error(), "an equals sign") {
		t.Errorf("no value: %v", err)
	}
}

// The last setting is over the one before, which is over the file, which is over the
// default; what records are promised stands in the file only.
func TestLayers(t *testing.T) {
	text := []byte("keep_days = 3.0\nepsilon = 0.5\nnoise = 'gaussian'\n")
	l := readConfig(text, lineTask(), []Setting{{"keep_days", "4", "P2PNODE_KEEP_DAYS"}, {"keep_days", "5", "--set"}, {"epsilon", "0.50", "P2PNODE_EPSILON"}, {"listen", "/ip4/127.0.0.1/tcp/1, /ip4/127.0.0.1/tcp/2", "P2PNODE_LISTEN"}})
	require.NoError(t, l.err(ConfigFile))
	if c := l.config; c.KeepDays != 5 || c.Epsilon != 0.5 || len(c.Listen) != 2 || c.DHT != "server" {
		t.Errorf("%+v", c)
	}
	if l.from["keep_days"] != "--set" || l.from["noise"] != ConfigFile || l.from["dht"] != "" {
		t.Errorf("from %v", l.from)
	}
	for _, k := range Keys() {
		if k.Promised != strings.Contains(" epsilon delta releases noise accounting pace contraction batch unprotected ", " "+k.Name+" ") {
			t.Errorf("%s: promised is %v", k.Name, k.Promised)
		}
	}
	for setting, want := range map[Setting]string{
		{"epsilon", "0.7", "P2PNODE_EPSILON"}:        `P2PNODE_EPSILON: is 0.7 here and 0.5 in config.toml, which alone says`,
		{"unprotected", Consent, "--set"}:            `--set unprotected: is send my models`,
		{"mdns", "maybe", "P2PNODE_MDNS"}:            `P2PNODE_MDNS: is "maybe", and must be true or false`,
		{"dht", "none", "--set"}:                     `--set dht: "none" is neither server nor client nor off`,
		{"keep_records", "many", "X"}:                `must be a whole number`,
		{"keep_days", "long", "X"}:                   `must be a number`,
		{"profile", "1,x", "X"}:                      `must be numbers with commas between them`,
		{"listen", "localhost:80", "P2PNODE_LISTEN"}: `P2PNODE_LISTEN: "localhost:80" is no multiaddress, such as /ip4/0.0.0.0/tcp/4001: must begin with /`,
	} {
		if err := readConfig(text, lineTask(), []Setting{setting}).err(ConfigFile); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", setting, err, want)
		}
	}
}

// All that is wrong in a configuration is said at once, by lines.
func TestEverythingWrongInAConfiguration(t *testing.T) {
	_, err := parseConfig(ConfigFile, []byte("dht = 'no'\n\nspeed = 1\nepsilom = 2\nmdns = 'yes'\nkeep_days = -1.0\n"), lineTask(), []Setting{{"power", "much", "P2PNODE_POWER"}})
	says(t, err, `config.toml: line 1: key "dht": "no" is neither`)
	says(t, err, `line 3: key "speed": is no key of the configuration: leave it out`)
	says(t, err, `config.toml: line 4: key "epsilom": is no key of the configuration; do you mean epsilon?`)
	says(t, err, `line 5: key "mdns": must be true or false`)
	says(t, err, `line 6: key "keep_days": -1 is outside`)
	says(t, err, `P2PNODE_POWER: "much" is neither`)
}

// A file that a power cut has emptied is not a file of defaults, which may promise less.
func TestEmptyConfiguration(t *testing.T) {
	for _, text := range []string{"", "# epsilon = 0.1\n\n"} {
		_, err := parseConfig(ConfigFile, []byte(text), lineTask(), []Setting{{"mdns", "false", "P2PNODE_MDNS"}})
		says(t, err, "config.toml: sets no key")
		dir := filepath.Join(t.TempDir(), "node")
		require.NoError(t, Init(dir, lineTask(), DefaultConfig(lineTask())))
		require.NoError(t, os.WriteFile(filepath.Join(dir, ConfigFile), []byte(text), 0o600))
		_, err = SetKeys(dir, []Setting{{"mdns", "false", ""}}) // it would promise the defaults
		says(t, err, "sets no key")
	}
}

// A directory is made from settings as from flags, but for giving up all that it promises.
func TestFound(t *testing.T) {
	c := DefaultConfig(lineTask())
	require.NoError(t, c.Found([]Setting{{"epsilon", "0.25", "P2PNODE_EPSILON"}, {"noise", "laplace", "P2PNODE_NOISE"}}))
	if c.Epsilon != 0.25 || c.Accounting != "" {
		t.Errorf("%+v", c)
	}
	says(t, c.Found([]Setting{{"unprotected", Consent, "P2PNODE_UNPROTECTED"}}), "is not taken from here")
	says(t, c.Found([]Setting{{"releases", "x", "P2PNODE_RELEASES"}}), `P2PNODE_RELEASES: key "releases": is "x"`)
}

// A key changes where it stands; comments, order and everything else stay.
func TestSetKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	require.NoError(t, Init(dir, lineTask(), DefaultConfig(lineTask())))
	file := filepath.Join(dir, ConfigFile)
	mine := "# mine\nlisten = [ # two\n  '/ip4/127.0.0.1/tcp/1', # the '#' is none\n  '/ip4/127.0.0.1/tcp/2',\n] # end\n\nkeep_days = 3.0 # not '4'\nbootstrap = []"
	write := func(text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	for settings, want := range map[string]string{
		"keep_days=4":                  strings.Replace(mine, "3.0", "4.0", 1),
		"listen=/ip4/127.0.0.1/tcp/9":  "# mine\nlisten = ['/ip4/127.0.0.1/tcp/9'] # end\n\nkeep_days = 3.0 # not '4'\nbootstrap = []",
		"mdns=false":                   mine + "\n# look for peers on the local network\nmdns = false\n",
		"neighbours=":                  mine + "\n# peer IDs: only these become neighbours, and they must list this node too; left out: any peer that fits\nneighbours = []\n",
		"pace=growing;contraction=0.5": mine + "\n# uniform, growing (later releases get less noise and cost more; needs contraction), or one-shot\npace = 'growing'\n# for growing, and only then: how much of the noise before is left after an update, between 0 and 1; 0.9 to begin with\ncontraction = 0.5\n",
	} {
		write(mine)
		var list []Setting
		for text := range strings.SplitSeq(settings, ";") {
			s, err := ParseSetting(text, "")
			require.NoError(t, err)
			list = append(list, s)
		}
		_, err := SetKeys(dir, list)
		require.NoError(t, err)
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		if string(got) != want {
			t.Errorf("%s:\n%s\nwant\n%s", settings, got, want)
		}
	}
	write(mine)
	_, err := SetKeys(dir, []Setting{{Key: "keep_days", Value: "-1"}})
	says(t, err, "nothing was changed")
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	if string(got) != mine {
		t.Errorf("a wrong value left %q", got)
	}
	s := openStore(t, dir)
	_, err = SetKeys(dir, []Setting{{Key: "epsilon", Value: "0.5"}})
	if !errors.Is(err, storage.ErrLocked) {
		t.Errorf("a promise beside a running node: %v", err)
	}
	require.NoError(t, s.Close())
	changes, err := SetKeys(dir, []Setting{{Key: "epsilon", Value: "0.5"}})
	require.NoError(t, err)
	if len(changes) != 1 || changes[0] != (KeyChange{"epsilon", "1", "0.5", true, false}) {
		t.Errorf("changes %+v", changes)
	}
}

// What two commands change at once is both changed.
func TestSetKeysAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	require.NoError(t, Init(dir, lineTask(), DefaultConfig(lineTask())))
	settings := []Setting{{Key: "keep_days", Value: "4"}, {Key: "mdns", Value: "false"}, {Key: "max_megabytes", Value: "77"}, {Key: "upnp", Value: "false"}}
	failed := make(chan error)
	for _, s := range settings {
		go func() {
			_, err := SetKeys(dir, []Setting{s})
			failed <- err
		}()
	}
	for range settings {
		require.NoError(t, <-failed)
	}
	list, err := ShowConfig(dir, nil)
	require.NoError(t, err)
	for _, s := range settings {
		if at := slices.IndexFunc(list, func(v KeyValue) bool { return v.Key == s.Key }); list[at].Text != s.Value {
			t.Errorf("%s is %s, want %s", s.Key, list[at].Text, s.Value)
		}
	}
}

func TestCheckConfig(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	require.NoError(t, Init(dir, lineTask(), DefaultConfig(lineTask())))
	wrong, doubts, err := CheckConfig(dir, []Setting{{"mdns", "false", "P2PNODE_MDNS"}})
	require.NoError(t, err)
	if len(wrong) != 0 || len(doubts) != 2 || doubts[0].Key != "listen" || doubts[0].Line == 0 || doubts[1].Key != "bootstrap" {
		t.Errorf("wrong %+v, doubts %+v", wrong, doubts)
	}
	wrong, doubts, err = CheckConfig(dir, []Setting{{"dht", "x", "P2PNODE_DHT"}, {"power", "x", "P2PNODE_POWER"}})
	require.NoError(t, err)
	if len(wrong) != 2 || len(doubts) != 0 {
		t.Errorf("wrong %+v, doubts %+v", wrong, doubts)
	}
	list, err := ShowConfig(dir, []Setting{{"dht", "off", "--set"}})
	require.NoError(t, err)
	for _, v := range list {
		if v.Key == "dht" && (v.Value != "off" || v.From != "--set") || v.Key == "keep_days" && v.From != DefaultOrigin || v.Key == "epsilon" && (v.From != ConfigFile || v.Line == 0) {
			t.Errorf("%+v", v)
		}
	}
	if len(list) != len(Keys()) {
		t.Errorf("%d keys, want %d", len(list), len(Keys()))
	}
}

// says checks what an error says.
func says(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
