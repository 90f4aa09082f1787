package mobile

import (
	"net/netip"
	"strings"
	"testing"
)

// What an app reads of wrong JSON says in words what belongs there, and nothing of Go's.
func TestJSONErrorsInWords(t *testing.T) {
	row := func(text string) error { return decodeJSON(text, new(map[string]any)) }
	numbers := func(text string) error { return decodeJSON(text, new([]uint64)) }
	config := func(text string) error { _, err := ParseConfig(text); return err }
	for want, err := range map[string]error{
		"a list where an object belongs":                              row("[1]"),
		"there is no JSON value":                                      row(""),
		"the JSON value breaks off":                                   row("{"),
		"a number where a whole number of 0 or more belongs":          numbers("[-1]"),
		"an object where a list belongs":                              numbers("{}"),
		`the configuration: "queue_limit": text where a whole number`: config(`{"queue_limit":"1"}`),
		`"allow_metered": a number where true or false belongs`:       config(`{"allow_metered":1}`),
		`"listen": a list where text belongs`:                         config(`{"listen":[[]]}`),
		"the configuration: a list where an object belongs":           config("[]"),
		`the configuration: unknown field "directory"`:                config(`{"directory":""}`),
		"a number where the text of an address belongs":               decodeJSON("[1]", new([]netip.Addr)),
		`"task": true or false where text belongs`:                    config(`{"task":true}`),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "-1") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
