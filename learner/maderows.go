package learner

import "slices"

// MadeRows are rows of the task that are made of what is public; see [Task.MadeRows].
func (k *Known) MadeRows(t *Task) []map[string]string {
	if k == nil || k.catalogue == nil {
		return t.MadeRows(nil)
	}
	return t.MadeRows(k.catalogue.first)
}

// MadeRows are rows to test a coder with, in the owner's units: made of the task's public
// constants alone, with cells of each feature that are taken as they are, beyond its range,
// unknown and empty. The target is left out. keys are some of the task's catalogue.
func (t *Task) MadeRows(keys []string) []map[string]string {
	made := make([][]string, len(t.Features))
	most := 0
	for i := range t.Features {
		f := &t.Features[i]
		if f.Kind == "key" {
			made[i] = append(slices.Clone(keys), "no such thing", "", "NA")
		} else {
			made[i] = append(f.kind().made(f), "", " NA ")
		}
		most = max(most, len(made[i]))
	}
	rows := make([]map[string]string, most)
	for r := range rows {
		rows[r] = make(map[string]string, len(t.Features))
		for i := range t.Features {
			rows[r][t.Features[i].Name] = made[i][(r+i)%len(made[i])]
		}
	}
	return rows
}
