package learner

// Columns are the names of the columns that a row of the user's data has: the
// features' in the task's order, the target's last.
func (t *Task) Columns() []string {
	names := make([]string, 0, len(t.Features)+1)
	for i := range t.Features {
		names = append(names, t.Features[i].Name)
	}
	return append(names, t.Target.Name)
}

// Optional reports whether a row may lack the column: that of a key, which then names nothing.
func (t *Task) Optional(column string) bool {
	key := t.key()
	return key != nil && key.Name == column
}

// Numeric reports whether the cells of a column are numbers.
func (t *Task) Numeric(column string) bool {
	for i := range t.Features {
		if t.Features[i].Name == column {
			return t.Features[i].Kind != "set" && t.Features[i].Kind != "key"
		}
	}
	return column == t.Target.Name && t.Target.Classes == nil
}
