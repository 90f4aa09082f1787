package mobile

import (
	"encoding/json"
	"slices"
	"strings"

	"p2pnode/learner"
)

// parseRow reads values by column, for [learner.Task.Encode]: text, numbers, lists of
// numbers for vectors, and null for what is unknown. A column that the task does not have
// is an error.
func parseRow(t *learner.Task, rowJSON string) (cell func(name string) (string, bool), err error) {
	var values map[string]any
	if err := decodeJSON(rowJSON, &values); err != nil {
		return nil, wrongInput("the values are not a JSON object of columns: %w", err)
	}
	cells := make(map[string]string, len(values))
	for name, v := range values {
		if !t.Reads(name) {
			return nil, wrongInput("column %q is none of the task's: %s", name, strings.Join(t.Columns(), ", "))
		}
		switch v := v.(type) {
		case string:
			cells[name] = v
		case json.Number:
			cells[name] = v.String()
		case nil:
			cells[name] = ""
		case []any:
			if cells[name], err = listText(t, name, v); err != nil {
				return nil, err
			}
		default:
			return nil, wrongInput("column %q: neither text nor a number", name)
		}
	}
	return func(name string) (string, bool) {
		v, ok := cells[name]
		return v, ok
	}, nil
}

// listText returns the text of a cell with the numbers of a vector.
func listText(t *learner.Task, column string, list []any) (string, error) {
	vector := func(f learner.Feature) bool { return f.Kind == "vector" && f.Name == column }
	if !slices.ContainsFunc(t.Features, vector) {
		return "", wrongInput("column %q: neither text nor a number; a list belongs to the kind \"vector\"", column)
	}
	numbers := make([]string, len(list))
	for i, v := range list {
		number, ok := v.(json.Number)
		if !ok {
			return "", wrongInput("column %q: the list has something else than a number at place %d, counted from 0", column, i)
		}
		numbers[i] = number.String()
	}
	return "[" + strings.Join(numbers, ",") + "]", nil
}
