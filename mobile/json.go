package mobile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

var errNull = errors.New("null is no value; leave it out")

// decodeJSON reads one JSON value, and refuses what the standard library passes over:
// unknown keys and keys in capitals, a key that is there twice, null, and any text after
// the value. The keys of a map are the caller's to check; it may be null, as may its values.
// A number decoded into an any keeps its digits.
func decodeJSON(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON value")
	}
	d = json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return exact(d, reflect.TypeOf(into).Elem().Kind() != reflect.Map)
}

// exact returns an error if an object in the next value of valid JSON has a key twice or, if
// the keys are ours, one in capitals, or null.
func exact(d *json.Decoder, ours bool) error {
	begin, err := d.Token()
	var keys map[string]bool
	switch begin {
	case json.Delim('{'):
		keys = make(map[string]bool)
	case json.Delim('['):
	case nil:
		if ours && err == nil {
			return errNull
		}
		return err
	default:
		return err
	}
	for d.More() {
		if keys != nil {
			token, _ := d.Token() // its error is that of the next
			key, _ := token.(string)
			if keys[key] {
				return fmt.Errorf("%q is there twice", key)
			}
			if ours && strings.ContainsFunc(key, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
				return fmt.Errorf("unknown field %q", key)
			}
			keys[key] = true
		}
		if err := exact(d, ours); err != nil {
			return err
		}
	}
	_, err = d.Token() // the end
	return err
}
