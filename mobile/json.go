package mobile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
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
		return inWords(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON value")
	}
	d = json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return exact(d, reflect.TypeOf(into).Elem().Kind() != reflect.Map)
}

// inWords returns an error of the decoder without Go's types, and without the value.
func inWords(err error) error {
	e, has := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == io.EOF:
		return errors.New("there is no JSON value")
	case err == io.ErrUnexpectedEOF:
		return errors.New("the JSON value breaks off")
	case !has:
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	kind, _, _ := strings.Cut(e.Value, " ") // of "number -1"
	found := map[string]string{"array": "a list", "object": "an object", "string": "text", "number": "a number", "bool": "true or false"}
	text := fmt.Sprintf("%s where %s belongs", found[kind], expected(e.Type))
	if e.Field != "" {
		text = fmt.Sprintf("%q: %s", e.Field[strings.LastIndex(e.Field, ".")+1:], text)
	}
	return errors.New(text)
}

// expected says which JSON a type is read from.
func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Int:
		return "a whole number"
	case reflect.Uint64:
		return "a whole number of 0 or more"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	}
	if t == reflect.TypeFor[netip.Addr]() {
		return "the text of an address"
	}
	return "an object"
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

// encodeJSON returns the text of a method's answer.
func encodeJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("write the answer: %w", err)
	}
	return string(text), nil
}
