package learner

import "slices"

// Columns are the names of the columns that a row of the user's data has: the
// features' in the task's order, the target's last.
func (t *Task) Columns() []string {
	names := make([]string, 0, len(t.Features)+1)
	for i := range t.Features {
		names = append(names, t.Features[i].Name)
	}
	return append(names, t.Target.Name)
}

// Lacks returns the first of these columns of the task that a row must have and that the
// table has not. A row may lack that of a key, which then names nothing, and has a vector
// in one column or in as many as it has numbers.
func (t *Task) Lacks(columns []string, has func(column string) bool) (column string, lacks bool) {
	for _, column := range columns {
		switch f := t.feature(column); {
		case has(column), f != nil && f.Kind == "key":
		case f == nil || f.Kind != "vector":
			return column, true
		default:
			if number, lacks := f.lacks(has); lacks {
				return number, true
			}
		}
	}
	return "", false
}

// feature is the one of that name, or nil.
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

// inVector reports whether the column may be that of one number of a vector.
func (t *Task) inVector(column string) bool {
	return slices.ContainsFunc(t.Features, func(f Feature) bool { return f.Kind == "vector" && f.hasNumber(column) })
}
