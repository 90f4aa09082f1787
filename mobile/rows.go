package mobile

import (
	"encoding/json"
	"strings"

	"p2pnode/learner"
)

// parseRow reads values by column, for [learner.Task.Encode]: text, numbers, and null
// for what is unknown. A column that the task does not have is an error.
func parseRow(t *learner.Task, rowJSON string) (cell func(name string) (string, bool), err error) {
	var values map[string]any
	if err := decodeJSON(rowJSON, &values); err != nil {
		return nil, wrongInput("the values are not a JSON object of columns: %w", err)
	}
	columns := t.Columns()
	known := make(map[string]bool, len(columns))
	for _, name := range columns {
		known[name] = true
	}
	cells := make(map[string]string, len(values))
	for name, v := range values {
		if !known[name] {
			return nil, wrongInput("column %q is none of the task's: %s", name, strings.Join(columns, ", "))
		}
		switch v := v.(type) {
		case string:
			cells[name] = v
		case json.Number:
			cells[name] = v.String()
		case nil:
			cells[name] = ""
		default:
			return nil, wrongInput("column %q: neither text nor a number", name)
		}
	}
	return func(name string) (string, bool) {
		v, ok := cells[name]
		return v, ok
	}, nil
}
