package learner

import "slices"

// Columns returns the names of the columns in a row of the user's data: those of the
// features in the task's order, then the target's.
func (t *Task) Columns() []string {
	names := make([]string, 0, len(t.Features)+1)
	for i := range t.Features {
		names = append(names, t.Features[i].Name)
	}
	return append(names, t.Target.Name)
}

// Lacks returns the first of these columns of the task that a row must have and the
// table has not. The column of a key may be missing: the row then names nothing. A
// vector may be in one column or in one column for each of its numbers, none of which is
// another column of the task.
func (t *Task) Lacks(columns []string, has func(column string) bool) (column string, lacks bool) {
	for _, column := range columns {
		switch f := t.feature(column); {
		case has(column), f != nil && f.Kind == "key":
		case f == nil || f.Kind != "vector":
			return column, true
		default:
			if number, lacks := f.lacks(func(column string) bool { return !t.names(column) && has(column) }); lacks {
				return number, true
			}
		}
	}
	return "", false
}

// feature returns the feature of that name, or nil.
func (t *Task) feature(name string) *Feature {
	for i := range t.Features {
		if t.Features[i].Name == name {
			return &t.Features[i]
		}
	}
	return nil
}

// Reads reports whether [Task.Encode] looks at the column of a row.
func (t *Task) Reads(column string) bool {
	return slices.Contains(t.Columns(), column) || t.inVector(column)
}

// Numeric reports whether the cells of a column are numbers.
func (t *Task) Numeric(column string) bool {
	if f := t.feature(column); f != nil {
		return f.kind().numeric
	}
	return column == t.Target.Name && t.Target.Classes == nil || t.inVector(column)
}

// Numerics is [Task.Numeric] for the columns of row after row: it remembers what it was asked, as
// a task of thousands of columns is long to search. It is not safe for concurrent use.
func (t *Task) Numerics() func(column string) bool {
	known := make(map[string]bool)
	return func(column string) bool {
		numeric, asked := known[column]
		if !asked {
			numeric = t.Numeric(column)
			known[column] = numeric
		}
		return numeric
	}
}

// inVector reports whether the column may hold one number of a vector.
func (t *Task) inVector(column string) bool {
	return !t.names(column) && slices.ContainsFunc(t.Features, func(f Feature) bool { return f.Kind == "vector" && f.hasNumber(column) })
}

// names reports whether a feature or the target has that name.
func (t *Task) names(column string) bool { return column == t.Target.Name || t.feature(column) != nil }

// unnamed are the cells of a row that may be numbers of a vector: beside the numbers x1 to x40 of
// one, a target x0 is none of them.
func (t *Task) unnamed(cell func(name string) (string, bool)) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		if t.names(name) {
			return "", false
		}
		return cell(name)
	}
}
