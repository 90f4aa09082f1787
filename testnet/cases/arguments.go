package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// arguments reads the fields of an object one after the other and remembers the first
// error. A field that nobody read is an error too: if it were ignored, a case that
// means something else would pass.
type arguments struct {
	fields map[string]json.RawMessage
	err    error
}

func newArguments(data json.RawMessage) *arguments {
	a := new(arguments)
	if err := json.Unmarshal(data, &a.fields); err != nil || a.fields == nil {
		a.err = errors.New("input must be an object")
	}
	return a
}

// fail keeps the first error and its field.
func (a *arguments) fail(name string, err error) {
	if a.err == nil && err != nil {
		a.err = fmt.Errorf("field %q: %w", name, err)
	}
}

// done returns the first error, or the name of a field that nobody read.
func (a *arguments) done() error {
	if a.err == nil && len(a.fields) > 0 {
		return fmt.Errorf("unknown field %q", slices.Sorted(maps.Keys(a.fields))[0])
	}
	return a.err
}

// has reports whether a field is there, unread.
func (a *arguments) has(name string) bool {
	_, ok := a.fields[name]
	return ok
}

// read decodes the first of the names that is there.
func (a *arguments) read(into any, names ...string) {
	for _, name := range names {
		if data, ok := a.fields[name]; ok {
			delete(a.fields, name)
			a.fail(name, json.Unmarshal(data, into))
			return
		}
	}
	a.fail(strings.Join(names, " or "), errors.New("is missing"))
}

// number reads a number under the first of the names that is there.
func (a *arguments) number(names ...string) float64 {
	var n number
	a.read(&n, names...)
	return float64(n)
}

// optional is number for a field that may be missing.
func (a *arguments) optional(missing float64, names ...string) float64 {
	if slices.ContainsFunc(names, a.has) {
		return a.number(names...)
	}
	return missing
}

// list reads one number or several.
func (a *arguments) list(names ...string) []float64 {
	var v Value
	a.read(&v, names...)
	if v.names != nil {
		a.fail(names[0], errors.New("must be a list of numbers"))
	}
	numbers := make([]float64, len(v.numbers))
	for i, n := range v.numbers {
		numbers[i] = float64(n)
	}
	return numbers
}

// maxCount is far beyond the number of releases in a lifetime.
const maxCount = 1 << 30

// count reads a number of times.
func (a *arguments) count(names ...string) int {
	n := a.number(names...)
	if a.err == nil && !(n >= 1 && n <= maxCount && n == math.Trunc(n)) {
		a.fail(names[0], fmt.Errorf("%v is not a whole number from 1 to %d", n, maxCount))
	}
	return int(min(max(n, 1), maxCount))
}

// text reads a name; "-" and "_" count as the same.
func (a *arguments) text(name string) string {
	var s string
	a.read(&s, name)
	return strings.ReplaceAll(strings.ToLower(s), "-", "_")
}
