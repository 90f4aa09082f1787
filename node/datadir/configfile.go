package datadir

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"p2pnode/storage"
)

// KeyValue is a key of the configuration with its value, and where the value comes from.
type KeyValue struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	Text  string `json:"-"`    // the value as [Setting] writes it
	From  string `json:"from"` // config.toml, default, or the From of a setting
	Line  int    `json:"line,omitempty"`
}

// DefaultOrigin is the origin of a value that neither the file nor a setting gives.
const DefaultOrigin = "default"

// ShowConfig lists the keys of a directory's configuration, after applying settings.
func ShowConfig(dir string, over []Setting) ([]KeyValue, error) {
	l, err := layeredIn(dir, over)
	if err != nil {
		return nil, err
	}
	if err := l.err(filepath.Join(dir, ConfigFile)); err != nil {
		return nil, err
	}
	var list []KeyValue
	for _, k := range Keys() {
		v := KeyValue{Key: k.Name, Value: k.Value(&l.config), Text: k.Text(&l.config), From: DefaultOrigin}
		if from := l.from[k.Name]; from != "" {
			v.From = from
		}
		if v.From == ConfigFile {
			v.Line = l.lines[k.Name]
		}
		list = append(list, v)
	}
	return list, nil
}

func layeredIn(dir string, over []Setting) (*layered, error) {
	t, err := ReadTask(dir)
	if err != nil {
		return nil, err
	}
	text, err := configText(dir)
	if err != nil {
		return nil, err
	}
	return readConfig(text, t, over), nil
}

// CheckConfig returns all that is wrong in a directory's configuration with settings
// applied. If nothing is wrong, it returns what is doubtful.
func CheckConfig(dir string, over []Setting) (wrong, doubtful []Finding, err error) {
	l, err := layeredIn(dir, over)
	if err != nil {
		return nil, nil, err
	}
	if len(l.wrong) > 0 {
		return l.wrong, nil, nil
	}
	if _, err := policy(l.config.Design(l.task)); err != nil {
		return []Finding{{Text: err.Error()}}, nil, nil
	}
	return nil, l.doubts(), nil
}

// doubts lists values that are allowed, but probably not meant.
func (l *layered) doubts() (list []Finding) {
	c := &l.config
	doubt := func(is bool, key, text string) {
		if is {
			list = append(list, l.about(key, text))
		}
	}
	every := func(is func(string) bool) bool {
		return len(c.Listen) > 0 && !slices.ContainsFunc(c.Listen, func(a string) bool { return !is(a) })
	}
	here := every(func(a string) bool { return strings.HasPrefix(a, "/ip4/127.") || strings.HasPrefix(a, "/ip6/::1/") })
	doubt(here && len(c.Announce) == 0, "listen", "only programs on this machine can call the node; /ip4/0.0.0.0/tcp/PORT is every interface")
	doubt(!here && slices.ContainsFunc(c.Listen, func(a string) bool { return strings.Contains(a, "/tcp/0") || strings.Contains(a, "/udp/0") }), "listen",
		"port 0 is a different port at each start, so addresses that were given to others stop working; choose a port")
	doubt(!c.MDNS && len(c.Bootstrap) == 0 && !here, "bootstrap", "names nobody, and mdns = false: the node finds only peers that it has met, or that p2pnode peer add names")
	doubt(c.Power == PowerLow && c.DHT == "server", "dht", "is server, so other nodes send their questions here, and power is low; write client, which answers nobody, unless nodes of private sums would have nobody else to ask")
	doubt(c.Relay && c.Power == PowerLow, "relay_service", "makes this node carry the connections of others, and power is low")
	doubt(c.Relay && here, "relay_service", "others cannot reach this machine to be relayed: listen has only its own addresses")
	sortByLine(list)
	return list
}

// SetKeys changes keys in the file of a directory's configuration, and leaves everything
// else in the file as it is, comments too. It writes nothing unless the result is a sound
// configuration. If a change touches what records are promised, the ledger must allow it,
// and no other process may have the directory open. Of two calls at once, one waits for the
// other.
func SetKeys(dir string, settings []Setting) (changes []KeyChange, err error) {
	t, err := ReadTask(dir)
	if err != nil {
		return nil, err
	}
	release, err := hold(dir) // the second of two calls would write what the first one has changed back
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	text, err := configText(dir)
	if err != nil {
		return nil, err
	}
	before := readConfig(text, t, nil)
	if len(before.keys) == 0 { // nobody knows what was promised
		return nil, before.err(filepath.Join(dir, ConfigFile))
	}
	wanted := before.config
	for _, s := range settings {
		k, _ := keyNamed(s.Key)
		if err := k.set(&wanted, s.Value); err != nil {
			return nil, fmt.Errorf("config: key %q: %w", k.Name, err)
		}
		if text, err = withKey(text, k, &wanted); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, ConfigFile), err)
		}
	}
	after, err := parseConfig(ConfigFile, text, t, nil)
	if err != nil {
		return nil, fmt.Errorf("nothing was changed: %w", err)
	}
	_, changes = before.config.Reloaded(after)
	promised := slices.ContainsFunc(changes, func(c KeyChange) bool { return c.Promised })
	write := func() error { return replaceAll(dir, []dirFile{{ConfigFile, text}}) }
	if !promised {
		return changes, write()
	}
	return changes, promise(dir, Files{Task: t, Config: after}, write)
}

// promise writes a changed configuration if the ledger of its directory allows it.
func promise(dir string, files Files, write func() error) (err error) {
	if files.Key, err = readKey(filepath.Join(dir, KeyFile)); err != nil {
		return err
	}
	if files.Catalogue, err = catalogueIn(dir, files.Task); err != nil {
		return err
	}
	s, err := OpenStore(dir, &files)
	if errors.Is(err, storage.ErrLocked) {
		return fmt.Errorf("nothing was changed, because the ledger has to allow a change of what your records are promised: %w", err)
	}
	if err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	return errors.Join(write(), s.Close())
}

// withKey returns a text of TOML in which a key has the value that it has in c.
// Everything else stays, comments too. A key that was missing is added at the end, with
// its comment.
func withKey(text []byte, k Key, c *Config) ([]byte, error) {
	assigned, err := assignment(k, c)
	if err != nil {
		return nil, err
	}
	lines, refused := linesOf(text)
	if refused != nil {
		return nil, fmt.Errorf("line %d: it %s", refused.Line, refused.Text)
	}
	line := lines[k.Name]
	if line == 0 {
		return appendKey(text, k, assigned), nil
	}
	split := bytes.SplitAfter(text, []byte("\n"))
	for end := line; end <= len(split); end++ {
		old := bytes.Join(split[line-1:end], nil)
		if !sound(old) {
			continue // the value continues on the next line
		}
		if comment := trailing(old); comment != "" {
			assigned += " " + comment
		}
		if bytes.HasSuffix(old, []byte("\n")) {
			assigned += "\n"
		}
		return slices.Concat(bytes.Join(split[:line-1], nil), []byte(assigned), bytes.Join(split[end:], nil)), nil
	}
	return nil, fmt.Errorf("line %d: the end of the value of %q was not found", line, k.Name)
}

// assignment returns a key with its value in one line of TOML.
func assignment(k Key, c *Config) (string, error) {
	value := k.Value(c)
	if k.Text(c) == "" {
		if _, text := value.(string); !text {
			value = []string{} // an empty list, and not null
		}
	}
	text, err := toml.Marshal(map[string]any{k.Name: value})
	return strings.TrimSuffix(string(text), "\n"), err
}

func appendKey(text []byte, k Key, assigned string) []byte {
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(slices.Clip(text), '\n')
	}
	for line := range strings.SplitSeq(k.About, "\n") {
		text = fmt.Appendf(slices.Clip(text), "# %s\n", line)
	}
	return fmt.Appendf(text, "%s\n", assigned)
}

// sound reports whether a piece of a file is valid TOML by itself.
func sound(piece []byte) bool { return toml.Unmarshal(piece, new(map[string]any)) == nil }

// trailing returns the comment behind the value of an assignment.
func trailing(assigned []byte) string {
	for i := range assigned {
		// What stands before the sign has to be complete TOML; otherwise the sign is part
		// of a text.
		if assigned[i] == '#' && len(bytes.TrimSpace(assigned[:i])) > 0 && sound(assigned[:i]) && sound(assigned[i:]) {
			return strings.TrimSpace(string(assigned[i:]))
		}
	}
	return ""
}
