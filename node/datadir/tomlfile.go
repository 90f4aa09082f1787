package datadir

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"p2pnode/learner"
)

// Finding is something wrong or doubtful in a file of TOML.
type Finding struct {
	Line int    `json:"line"` // 0: the key is not in the file
	Key  string `json:"key"`  // "": the finding is not about a key
	Text string `json:"text"` // what is wrong, and what to write
	// From is where the value comes from if it is not in the file, for example
	// P2PNODE_LISTEN.
	From string `json:"from,omitempty"`
}

// Error implements [error] for a task file.
func (f Finding) Error() string {
	text := "task"
	if f.Line > 0 {
		text += fmt.Sprintf(": line %d", f.Line)
	}
	if f.Key != "" {
		text += fmt.Sprintf(": key %s", f.Key)
	}
	return text + ": " + f.Text
}

// after reports whether the finding f only follows from cause: the value of the key was
// not taken because of cause.
func (f Finding) after(cause Finding) bool {
	return f.Key == cause.Key || strings.HasPrefix(cause.Key, f.Key+".")
}

// sortByLine sorts findings by line. Those about keys that are not in the file come last.
func sortByLine(list []Finding) {
	line := func(f Finding) int {
		if f.Line == 0 {
			return math.MaxInt
		}
		return f.Line
	}
	slices.SortStableFunc(list, func(a, b Finding) int { return cmp.Compare(line(a), line(b)) })
}

// form describes the keys that a file may have.
type form struct {
	name  string // the name of such a file, with its article
	other string // what to do with a key that is unknown
	of    reflect.Type
}

// tomlFile is a file that is being read.
type tomlFile struct {
	form  form
	lines map[string]int // of each key
	keys  learner.Keys   // those whose values can be used
	wrong []Finding
}

// A file may come from a stranger: no more findings of one are noted, and it may not have
// keys that lie deeper than any that have a meaning, or so many different ones that go-toml,
// which compares each with all others, would be at work for long.
const (
	mostFindings = 100
	deepestKey   = 16
	mostKeys     = 5000
)

// note notes a finding, unless there are so many that nobody reads more.
func (f *tomlFile) note(found Finding) {
	if len(f.wrong) < mostFindings {
		f.wrong = append(f.wrong, found)
	}
}

// finding returns a finding about a key. Its line is that of the key or, if the key is
// missing, of the table that lacks it.
func (f *tomlFile) finding(key, text string) Finding {
	line := 0
	for at := key; at != "" && line == 0; {
		line = f.lines[at]
		at = at[:max(0, strings.LastIndexAny(at, ".["))]
	}
	return Finding{Line: line, Key: key, Text: text}
}

// read decodes the usable part of a file into a value, over what the value holds already,
// and notes what is wrong with the rest. It returns false if nothing can be used.
func (f *tomlFile) read(text []byte, into any) bool {
	var refused *Finding
	if f.lines, refused = linesOf(text); refused != nil {
		f.note(*refused)
		return false
	}
	var tables map[string]any
	if err := toml.Unmarshal(text, &tables); err != nil {
		f.note(syntax(text, err))
		return false
	}
	f.fitTable("", tables, f.form.of)
	f.keys = learner.Keys{}
	addKeys(f.keys, "", tables)
	usable, err := toml.Marshal(tables)
	if err == nil {
		err = decodeTOML(usable, into)
	}
	if err != nil {
		f.note(Finding{Text: err.Error()})
	}
	return err == nil
}

// syntax says where a text stops being TOML, and what to write instead.
func syntax(text []byte, err error) Finding {
	var wrong *toml.DecodeError
	if !errors.As(err, &wrong) {
		return Finding{Text: err.Error()}
	}
	line, _ := wrong.Position()
	for _, mark := range []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(text, []byte(mark)) {
			return Finding{Line: line, Text: "the file is not plain UTF-8, it begins with a byte order mark: save it in the editor as UTF-8 without one"}
		}
	}
	says := strings.TrimPrefix(wrong.Error(), "toml: ")
	if lines := bytes.Split(text, []byte("\n")); line > 0 && line <= len(lines) {
		says += usualMistake(string(lines[line-1]))
	}
	return Finding{Line: line, Text: says}
}

// What people write who do not know TOML.
var (
	decimalComma = regexp.MustCompile(`=\s*[+-]?\d*,\d`)
	bareWord     = regexp.MustCompile(`=\s*\pL`)
	tableAgain   = regexp.MustCompile(`^\s*\[([^\[\]]+)\]`)
)

// usualMistake says what to write instead of a line that is no TOML.
func usualMistake(line string) string {
	switch {
	case strings.ContainsAny(line, "“”„‟«»‘’"):
		return `; around a text write straight quotation marks, as "one"`
	case decimalComma.MatchString(line):
		return "; numbers have a decimal point, as 0.5"
	case bareWord.MatchString(line):
		return `; around a text write quotation marks, as "one"; yes is true, and no is false`
	case tableAgain.MatchString(line):
		return "; of tables that may be several, as features, each begins with two brackets, [[features]]"
	}
	return ""
}

// fit reports whether a value fits a type. It takes what does not fit out of tables, and
// notes it.
func (f *tomlFile) fit(key string, value any, of reflect.Type) bool {
	switch v := value.(type) {
	case map[string]any:
		if of.Kind() == reflect.Struct {
			f.fitTable(key, v, of)
			return true
		}
	case []any:
		if of.Kind() == reflect.Slice {
			return f.fitList(key, v, of)
		}
	case bool:
		return of.Kind() == reflect.Bool || f.wrongType(key, of)
	case string:
		return of.Kind() == reflect.String || f.wrongType(key, of)
	case int64:
		if of.Kind() == reflect.Uint32 && (v < 0 || v > math.MaxUint32) {
			f.note(f.finding(key, fmt.Sprintf("is %d, and must be between 0 and %d", v, uint32(math.MaxUint32))))
			return false
		}
		return slices.Contains([]reflect.Kind{reflect.Int, reflect.Int64, reflect.Uint32, reflect.Uint64, reflect.Float64}, of.Kind()) || f.wrongType(key, of)
	case float64:
		return of.Kind() == reflect.Float64 || f.wrongType(key, of)
	}
	return f.wrongType(key, of)
}

func (f *tomlFile) wrongType(key string, of reflect.Type) bool {
	text := cmp.Or(mustBe(of.String()), "has a value of the wrong kind")
	switch {
	case of.Kind() == reflect.Struct:
		text = fmt.Sprintf("must be a table, [%s]", key)
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct:
		text = fmt.Sprintf("must be one or more tables, [[%s]]", key)
	}
	f.note(f.finding(key, text))
	return false
}

func (f *tomlFile) fitList(key string, list []any, of reflect.Type) bool {
	if of.Elem().Kind() != reflect.Struct { // the message for a list names the type of its elements
		for _, v := range list {
			if !new(tomlFile).fit("", v, of.Elem()) {
				return f.wrongType(key, of)
			}
		}
		return true
	}
	whole := true
	for i, v := range list {
		whole = f.fit(fmt.Sprintf("%s[%d]", key, i), v, of.Elem()) && whole
	}
	return whole
}

func (f *tomlFile) fitTable(key string, table map[string]any, of reflect.Type) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		below := strings.TrimPrefix(key+"."+name, ".")
		field, known := tomlField(of, name)
		if !known && len(f.wrong) < mostFindings {
			f.note(f.finding(below, f.form.unknown(below, name, of)))
		}
		if !known || !f.fit(below, table[name], field) {
			delete(table, name)
		}
	}
}

// addKeys adds the key of a value, and the keys below it.
func addKeys(keys learner.Keys, key string, value any) {
	if key != "" {
		keys[key] = true
	}
	switch v := value.(type) {
	case map[string]any:
		for name, below := range v {
			addKeys(keys, strings.TrimPrefix(key+"."+name, "."), below)
		}
	case []any:
		for i, below := range v {
			addKeys(keys, fmt.Sprintf("%s[%d]", key, i), below)
		}
	}
}

// tomlField returns the type of a key of a table.
func tomlField(of reflect.Type, name string) (reflect.Type, bool) {
	for i := range of.NumField() {
		if tag, _, _ := strings.Cut(of.Field(i).Tag.Get("toml"), ","); tag == name {
			return of.Field(i).Type, true
		}
	}
	return nil, false
}

// unknown returns the message for an unknown key. It suggests a key of the same table
// with a similar spelling, or the same key of another table.
func (o *form) unknown(key, name string, table reflect.Type) string {
	meant := ""
	for i := range table.NumField() {
		tag, _, _ := strings.Cut(table.Field(i).Tag.Get("toml"), ",")
		if alike(name, tag) {
			meant = strings.TrimSuffix(key, name) + tag
		}
	}
	for i := range o.of.NumField() {
		field := o.of.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("toml"), ",")
		if meant != "" || tag+"."+name == key {
			continue
		}
		if _, ok := tomlField(o.of, name); ok {
			meant = name + ", before the first table"
		} else if field.Type.Kind() == reflect.Struct {
			if _, ok := tomlField(field.Type, name); ok {
				meant = tag + "." + name
			}
		}
	}
	if meant == "" {
		return "is no key of " + o.name + ": " + o.other
	}
	return "is no key of " + o.name + "; do you mean " + meant + "?"
}

// alike reports whether two words differ by one letter or by two neighbouring letters
// that are swapped, or one begins with the other.
func alike(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) > 2 && strings.HasPrefix(b, a) {
		return true
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 0:
		return i < len(a) && (a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:])
	case 1:
		return a[i:] == b[i+1:]
	}
	return false
}

// lineFinder finds the lines in which the keys of a text stand.
type lineFinder struct {
	parser  unstable.Parser
	breaks  []int          // the offsets at which lines end
	lists   map[string]int // how many tables each list of tables has so far
	lines   map[string]int
	names   map[string]bool // of the keys that go-toml compares with each other
	refused *Finding        // why the text is read no further
}

// place is a key, with the numbers of the lists that it is in, and as go-toml knows it: a
// list of tables forgets the keys of one when the next begins.
type place struct{ key, name string }

func (p place) below(name string) place {
	return place{strings.TrimPrefix(p.key+"."+name, "."), fmt.Sprintf("%s%d:%s", p.name, len(name), name)}
}

// linesOf returns the line in which each key of a text stands first, or what is wrong with
// so many or so deep keys.
func linesOf(text []byte) (lines map[string]int, refused *Finding) {
	f := lineFinder{lists: map[string]int{}, lines: map[string]int{}, names: map[string]bool{}}
	for i, c := range text {
		if c == '\n' {
			f.breaks = append(f.breaks, i)
		}
	}
	f.parser.Reset(text)
	var table place
	for f.refused == nil && f.parser.NextExpression() {
		switch e := f.parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = f.key(place{}, e)
		case unstable.KeyValue:
			f.pair(table, e)
		}
	}
	return f.lines, f.refused
}

// key notes the line of the key of an expression in a table, and of the tables that it
// names on the way.
func (f *lineFinder) key(at place, e *unstable.Node) place {
	for part := e.Key(); f.refused == nil && part.Next(); {
		at = at.below(string(part.Node().Data))
		f.note(at, part.Node())
		if e.Kind == unstable.ArrayTable && part.IsLast() {
			f.lists[at.key]++
		}
		if n := f.lists[at.key]; n > 0 {
			at.key = fmt.Sprintf("%s[%d]", at.key, n-1)
			f.note(at, part.Node())
		}
	}
	return at
}

// pair notes the line of a key in a table, and those of the keys inside its value.
func (f *lineFinder) pair(table place, e *unstable.Node) {
	at := f.key(table, e)
	f.value(at, f.lines[at.key], e.Value())
}

// value notes the lines of the keys inside the value of a key in a line.
func (f *lineFinder) value(at place, line int, v *unstable.Node) {
	if v.Kind != unstable.InlineTable && v.Kind != unstable.Array {
		return
	}
	i := 0
	for child := v.Children(); f.refused == nil && child.Next(); {
		switch c := child.Node(); c.Kind {
		case unstable.KeyValue:
			f.pair(at, c)
		case unstable.Comment:
		case unstable.InlineTable, unstable.Array:
			element := place{fmt.Sprintf("%s[%d]", at.key, i), fmt.Sprintf("%s%d,", at.name, i)}
			f.count(element, line)
			f.value(element, line, c)
			i++
		default:
			i++
		}
	}
}

func (f *lineFinder) note(at place, part *unstable.Node) {
	if f.lines[at.key] == 0 {
		before, _ := slices.BinarySearch(f.breaks, int(part.Raw.Offset))
		f.lines[at.key] = before + 1
	}
	f.count(at, f.lines[at.key])
}

// count refuses the text if a key, or a list's element, in a line is one too many or lies
// too deep.
func (f *lineFinder) count(at place, line int) {
	f.names[at.name] = true
	switch {
	case strings.Count(at.key, ".")+strings.Count(at.key, "[") >= deepestKey:
		f.refused = &Finding{Line: line, Text: fmt.Sprintf("has a key inside %d others: none that means anything lies so deep", deepestKey)}
	case len(f.names) > mostKeys:
		f.refused = &Finding{Line: line, Text: fmt.Sprintf("has more than %d different keys: no file needs so many", mostKeys)}
	}
}
