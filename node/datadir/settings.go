package datadir

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"p2pnode/learner"
)

// Setting gives a key of the configuration a value that replaces the one in the file. A
// later setting replaces an earlier one.
type Setting struct {
	Key   string
	Value string // lists have commas between their values
	From  string // where it comes from, for people: P2PNODE_LISTEN, --set
}

// variablePrefix begins the names of the environment variables. The key follows in
// capitals.
const variablePrefix = "P2PNODE_"

// DirVariable is the environment variable that names the data directory.
const DirVariable = variablePrefix + "DIR"

// Environment returns the settings of an environment. An empty variable counts as not
// set. misspelled lists variables whose names are close to the name of a key. Other
// variables with our prefix are ignored: some systems set them for a service called
// p2pnode.
func Environment(environ []string) (settings []Setting, misspelled []Finding) {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		rest, ours := strings.CutPrefix(name, variablePrefix)
		if !ours || value == "" || name == DirVariable {
			continue
		}
		key := strings.ToLower(rest)
		if _, known := keyNamed(key); known && name == strings.ToUpper(name) {
			settings = append(settings, Setting{key, value, name})
			continue
		}
		if near := nearKey(key); near != "" {
			misspelled = append(misspelled, Finding{From: name, Text: "has no effect; do you mean " + variablePrefix + strings.ToUpper(near) + "?"})
		}
	}
	slices.SortFunc(settings, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return settings, misspelled
}

// ParseSetting reads KEY=VALUE.
func ParseSetting(text, from string) (Setting, error) {
	key, value, found := strings.Cut(text, "=")
	if !found {
		return Setting{}, fmt.Errorf("config: %q: write the key, an equals sign and the value, as keep_days=30", text)
	}
	if _, known := keyNamed(key); !known {
		form := configForm()
		return Setting{}, fmt.Errorf("config: %q %s", key, form.unknown(key, key, form.of))
	}
	return Setting{key, value, from}, nil
}

// configForm describes the file of a configuration.
func configForm() form {
	return form{"the configuration", "leave it out; p2pnode config --help lists the keys", reflect.TypeFor[Config]()}
}

// layered is a configuration that was put together from its file and settings.
type layered struct {
	tomlFile
	task   *learner.Task
	config Config
	from   map[string]string // what gave a key its value; missing: nothing did, so it is the default
}

// readConfig reads a configuration from TOML, applies settings and checks the result
// against the task.
func readConfig(text []byte, t *learner.Task, over []Setting) *layered {
	l := &layered{tomlFile: tomlFile{form: configForm()}, task: t, config: DefaultConfig(t), from: map[string]string{}}
	if !l.read(text, &l.config) {
		return l
	}
	for key := range l.keys {
		l.from[key] = ConfigFile
	}
	if len(l.keys) == 0 && len(l.wrong) == 0 {
		// Nobody writes such a file, and the defaults may promise records less than it did.
		l.note(Finding{Text: "sets no key, as a file that a power cut has emptied: put it back from a copy, or write what your records were promised, as epsilon = 1"})
	}
	for _, s := range over {
		l.lay(s)
	}
	for _, fault := range l.config.faults(t) {
		if found := l.about(fault.key, fault.err.Error()); !slices.ContainsFunc(l.wrong, found.after) {
			l.note(found)
		}
	}
	sortByLine(l.wrong)
	return l
}

// about returns a finding about a key, with the place that gave the key its value.
func (l *layered) about(key, text string) Finding {
	if from := l.from[key]; from != "" && from != ConfigFile {
		return Finding{Key: key, Text: text, From: from}
	}
	return l.finding(key, text)
}

// lay applies a setting. What records are promised is read only from the file, so it
// cannot depend on who starts the node, or from where.
func (l *layered) lay(s Setting) {
	k, known := keyNamed(s.Key)
	before := l.config
	err := fmt.Errorf("is no key of %s", l.form.name)
	if known {
		err = k.set(&l.config, s.Value)
	}
	if err == nil && k.Promised && !k.same(&before, &l.config) {
		err = fmt.Errorf("is %s here and %s in %s, which alone says what your records are promised: write it there (p2pnode config set %s=...), or take it away here",
			quoted(s.Value), quoted(k.Text(&before)), ConfigFile, s.Key)
	}
	if err != nil {
		l.config = before
		l.wrong = append(l.wrong, Finding{Key: s.Key, Text: err.Error(), From: s.From})
		return
	}
	l.from[s.Key] = s.From
}

// quoted returns a value as it is written in the middle of a sentence.
func quoted(value string) string {
	if value == "" {
		return "empty"
	}
	return value
}

// SetFlag is the From of settings that the flag gives together with their keys.
const SetFlag = "--set"

// err returns all that is wrong. Each error says where to mend it: in the named file, or
// at the flag or the variable that gave the value.
func (l *layered) err(file string) error {
	all := make([]error, len(l.wrong))
	for i, w := range l.wrong {
		text := file + ": "
		switch {
		case w.From == SetFlag:
			text = fmt.Sprintf("%s %s: ", w.From, w.Key)
		case w.From != "":
			text = w.From + ": "
		case w.Line > 0:
			text += fmt.Sprintf("line %d: ", w.Line)
		}
		if w.From == "" && w.Key != "" {
			text += fmt.Sprintf("key %q: ", w.Key)
		}
		all[i] = errors.New(text + w.Text)
	}
	return errors.Join(all...)
}

// parseConfig reads a configuration, the content of the named file, and applies settings.
func parseConfig(file string, text []byte, t *learner.Task, over []Setting) (Config, error) {
	l := readConfig(text, t, over)
	return l.config, l.err(file)
}

// Found applies settings to a configuration from which a directory is about to be made.
// They may change any promise to records, because there are none yet, but they may not
// give up the guarantee altogether. If they name a noise and no accounting, the
// accounting is left open, to be chosen for the noise.
func (c *Config) Found(over []Setting) error {
	accounting := false
	for _, s := range over {
		k, known := keyNamed(s.Key)
		if !known || s.Key == "unprotected" {
			return fmt.Errorf("config: %s: the key %q is not taken from here; write it in %s, or use the flag --unprotected", s.From, s.Key, ConfigFile)
		}
		if err := k.set(c, s.Value); err != nil {
			return fmt.Errorf("config: %s: key %q: %w", s.From, s.Key, err)
		}
		accounting = accounting || s.Key == "accounting"
	}
	if slices.ContainsFunc(over, func(s Setting) bool { return s.Key == "noise" }) && !accounting {
		c.Accounting = ""
	}
	return nil
}
