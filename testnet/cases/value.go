package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Value is what a case compares: one number, a list, or numbers with names. Its JSON
// form is that of the file.
type Value struct {
	names   []string // sorted names of an object; nil otherwise
	numbers []number
	scalar  bool
}

// number is a float64 whose JSON form can be infinite.
type number float64

// String returns ten digits, enough to recognise a failing case.
func (n number) String() string { return strconv.FormatFloat(float64(n), 'g', 10, 64) }

// MarshalJSON writes a value that is not finite as a string, because JSON has no number
// for it.
func (n number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	switch {
	case math.IsInf(f, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-inf"`), nil
	case math.IsNaN(f):
		return []byte(`"nan"`), nil
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads a number, also one in quotation marks.
func (n *number) UnmarshalJSON(data []byte) error {
	text := string(data)
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) {
		return fmt.Errorf("%s is not a number", data)
	}
	*n = number(f)
	return nil
}

// String writes the value for people.
func (v Value) String() string {
	texts := make([]string, len(v.numbers))
	for i, n := range v.numbers {
		texts[i] = n.String()
		if v.names != nil {
			texts[i] = v.names[i] + "=" + texts[i]
		}
	}
	switch text := strings.Join(texts, " "); {
	case v.scalar, v.names != nil:
		return text
	default:
		return "[" + text + "]"
	}
}

// MarshalJSON writes the value as the file has it.
func (v Value) MarshalJSON() ([]byte, error) {
	switch {
	case v.scalar:
		return json.Marshal(v.numbers[0])
	case v.names == nil:
		return json.Marshal(v.numbers)
	}
	named := make(map[string]number, len(v.names))
	for i, name := range v.names {
		named[name] = v.numbers[i]
	}
	return json.Marshal(named)
}

// UnmarshalJSON reads a number, a list or an object of numbers. An empty list or object
// is an error, because it compares nothing.
func (v *Value) UnmarshalJSON(data []byte) error {
	*v = Value{}
	var err error
	switch data = bytes.TrimSpace(data); {
	case bytes.HasPrefix(data, []byte("[")):
		err = json.Unmarshal(data, &v.numbers)
	case bytes.HasPrefix(data, []byte("{")):
		var named map[string]number
		err = json.Unmarshal(data, &named)
		v.names = slices.Sorted(maps.Keys(named))
		for _, name := range v.names {
			v.numbers = append(v.numbers, named[name])
		}
	default:
		v.scalar, v.numbers = true, make([]number, 1)
		err = json.Unmarshal(data, &v.numbers[0])
	}
	if err == nil && len(v.numbers) == 0 {
		err = errors.New("there is no number in it")
	}
	return err
}
