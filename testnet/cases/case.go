package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
)

// Case is one worked example.
type Case struct {
	ID, Kind string
	input    json.RawMessage
	expected Value
	relTol   float64
	side     side
	err      error // why it cannot be evaluated
}

// side says on which side of the expected value a result may be.
type side string

// The sides: an accountant may err only towards too much (upper) or only towards too
// little (lower); a closed form may err to both (both).
const (
	upper side = "upper"
	lower side = "lower"
	both  side = "both"
)

// wrongSide is how far, relatively, a one-sided result may be on the wrong side: the
// expected values are themselves computed.
const wrongSide = 5e-6

// bounds is the interval that must contain a result.
func (s side) bounds(expected, relTol float64) (low, high float64) {
	below, above := relTol, relTol
	switch s {
	case upper:
		below = wrongSide
	case lower:
		above = wrongSide
	}
	if math.IsInf(expected, 0) {
		return expected, expected
	}
	low, high = expected*(1-below), expected*(1+above)
	return min(low, high), max(low, high) // with a negative number the ends change places
}

// bareInfinity finds the infinity that some programs write without quotation marks; the
// first branch skips strings.
var bareInfinity = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\bInfinity\b`)

// Read reads a file of cases. It returns an error only if the file is not a list of
// cases; [Case.Evaluate] finds the faults of a single case.
func Read(r io.Reader) ([]Case, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("cases: read: %w", err)
	}
	data = bareInfinity.ReplaceAllFunc(bytes.TrimSpace(data), func(token []byte) []byte {
		if token[0] == '"' {
			return token
		}
		return slices.Concat([]byte{'"'}, token, []byte{'"'})
	})
	var file struct{ Cases []json.RawMessage }
	if bytes.HasPrefix(data, []byte("[")) {
		err = json.Unmarshal(data, &file.Cases)
	} else {
		err = json.Unmarshal(data, &file)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("cases: the file is not a list of cases in JSON: %w", err)
	case len(file.Cases) == 0:
		return nil, errors.New(`cases: the file has no "cases"`)
	}
	cases := make([]Case, len(file.Cases))
	for i, c := range file.Cases {
		cases[i] = parse(c)
		if cases[i].ID == "" {
			cases[i].ID = fmt.Sprintf("#%d", i+1)
		}
	}
	return cases, nil
}

// parse reads one case and keeps an error in err.
func parse(data json.RawMessage) Case {
	var c Case
	fields := newArguments(data)
	if fields.err != nil {
		return Case{err: errors.New("a case must be an object")}
	}
	fields.read(&c.ID, "id")
	fields.read(&c.Kind, "kind")
	fields.read(&c.input, "input")
	fields.read(&c.expected, "expected")
	c.relTol = fields.number("rel_tol")
	fields.read(&c.side, "side")
	for _, remark := range []string{"oracle", "note", "comment"} {
		delete(fields.fields, remark)
	}
	if c.err = fields.done(); c.err != nil {
		return c
	}
	switch {
	case c.side != upper && c.side != lower && c.side != both:
		c.err = fmt.Errorf("side is %q, it must be upper, lower or both", c.side)
	case !(c.relTol >= 0) || math.IsInf(c.relTol, 1):
		c.err = fmt.Errorf("rel_tol is %v, it must be a number that is at least 0", c.relTol)
	}
	return c
}
