package datadir

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/node/ticket"
)

// BuiltinTask returns the built-in task of that name: "movies", "linear" or "clusters".
func BuiltinTask(name string) (*learner.Task, error) {
	switch name {
	case "movies":
		return learner.Movies(), nil
	case "linear":
		return learner.Linear(), nil
	case "clusters":
		return learner.Clusters(), nil
	}
	return nil, fmt.Errorf("node: no built-in task %q (there are movies, linear and clusters); a file's name ends in .toml", name)
}

// LoadTask returns a built-in task by its name, or reads a task file. The name of a file
// ends in ".toml".
func LoadTask(nameOrFile string) (*learner.Task, error) {
	text, err := TaskText(nameOrFile)
	if err != nil {
		return nil, err
	}
	t, err := ParseTask(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", nameOrFile, err)
	}
	return t, nil
}

// TaskText returns the text of a task file, or that of a built-in task. Of a file that is
// too long it returns only so much that [ParseTask] and [CheckTask] refuse it.
func TaskText(nameOrFile string) ([]byte, error) {
	if strings.HasSuffix(nameOrFile, ".toml") {
		text, err := readMost(nameOrFile, ticket.MaxTask+1)
		if err != nil {
			return nil, fmt.Errorf("node: read the task file: %w", err)
		}
		return text, nil
	}
	t, err := BuiltinTask(nameOrFile)
	if info, lacks := os.Stat(nameOrFile); err != nil && lacks == nil && info.Mode().IsRegular() {
		return nil, fmt.Errorf("node: %s is no task file, whose name ends in .toml; \"p2pnode task new\" writes one for a CSV file", nameOrFile)
	}
	if err != nil {
		return nil, err
	}
	return FormatTask(t)
}

// readMost reads the first bytes of a file, at most so many.
func readMost(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// ParseTask reads a task from TOML and completes it: a key that is left out gets its
// usual value, see [learner.Task.Complete]. The error lists all unknown keys and all
// values with a wrong type or out of range, each as a [Finding].
func ParseTask(text []byte) (*learner.Task, error) {
	t, file := readTask(text)
	if t != nil {
		return t, nil
	}
	var all []error
	for _, w := range file.wrong {
		all = append(all, w)
	}
	return nil, errors.Join(all...)
}

// parseWhole reads the task of a data directory. FormatTask wrote every key of it, so a
// key that is missing there is zero, even if the usual values change.
func parseWhole(text []byte) (*learner.Task, error) {
	var t learner.Task
	if err := decodeTOML(text, &t); err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return &t, nil
}

// FormatTask writes a task with all its keys, as TOML. ParseTask reads the same task
// back.
func FormatTask(t *learner.Task) ([]byte, error) {
	return encodeTOML(t)
}

// NetworkName returns the hash that names a task's network, as 32 hexadecimal digits. It
// covers what the nodes must agree on, and the wire version, so that nodes that would not
// understand each other's bytes never meet. It leaves out the defaults that each node may
// choose for itself, and the constants of the personal model, which is never sent.
func NetworkName(t *learner.Task) string { return networkName(t, gossip.Version) }

// networkNames returns the names of a task's network under this wire version and all
// earlier ones, because a data directory outlives a version.
func networkNames(t *learner.Task) []string {
	names := make([]string, gossip.Version)
	for i := range names {
		names[i] = networkName(t, i+1)
	}
	return names
}

// laterVersions is how many wire versions after this one are recognised by the names of
// their networks.
const laterVersions = 10

// Version returns the wire version under which a network of the task has this name: an
// earlier version, this one, or one of the next ten; 0 if it is none of them.
func Version(t *learner.Task, network string) int {
	for wire := 1; wire <= gossip.Version+laterVersions; wire++ {
		if networkName(t, wire) == network {
			return wire
		}
	}
	return 0
}

func networkName(t *learner.Task, wire int) string {
	sum := taskHash(t, wire)
	return hex.EncodeToString(sum[:16])
}

// taskHash returns the hash whose first half is the network's name.
func taskHash(t *learner.Task, wire int) [sha256.Size]byte {
	agreed := *t
	agreed.Local = learner.Local{}
	agreed.Release.Epsilon, agreed.Release.Delta = 0, 0
	agreed.Release.Releases, agreed.Release.WakeSeconds = 0, 0
	// JSON keeps the order of a struct's fields and writes every float with the digits
	// that identify it, so equal tasks give equal bytes.
	text, err := json.Marshal(struct {
		Wire int
		Task learner.Task
	}{wire, agreed})
	if err != nil {
		panic("node: a validated task has no JSON form: " + err.Error()) // only NaN or Inf, which Validate refuses
	}
	return sha256.Sum256(text)
}

// decodeTOML refuses unknown keys and names the key that is wrong.
func decodeTOML(text []byte, into any) error {
	d := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	err := d.Decode(into)
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) {
		e := strict.Errors[0]
		row, _ := e.Position()
		return fmt.Errorf("line %d: unknown key %q", row, strings.Join(e.Key(), "."))
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		row, _ := wrong.Position()
		if key := strings.Join(wrong.Key(), "."); key != "" {
			return fmt.Errorf("line %d: key %q: %s", row, key, inWords(wrong))
		}
		return fmt.Errorf("line %d: %s", row, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	return err
}

// inWords says what is wrong with a value. If the type is wrong, it says in TOML's words
// what the value should be.
func inWords(wrong *toml.DecodeError) string {
	text := strings.TrimPrefix(wrong.Error(), "toml: ")
	if _, typ, found := strings.Cut(text, " of type "); found {
		return cmp.Or(mustBe(typ), text)
	}
	return text
}

// mustBe says what a value of a type looks like in TOML; "" for types that no key has.
func mustBe(typ string) string {
	switch typ {
	case "bool":
		return "must be true or false"
	case "string":
		return "must be a text in quotes"
	case "[]string":
		return "must be a list of texts, as ['one', 'two']"
	case "[]float64":
		return "must be a list of numbers, as [0.1, 0.2]"
	case "float64":
		return "must be a number"
	case "int", "uint32":
		return "must be a whole number"
	}
	return ""
}

func encodeTOML(v any) ([]byte, error) {
	var b bytes.Buffer
	e := toml.NewEncoder(&b)
	e.SetIndentTables(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
