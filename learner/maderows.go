package learner

import "slices"

// MadeRows returns made-up rows of the task, from public values only; see
// [Task.madeRows].
func (k *Known) MadeRows(t *Task) []map[string]string {
	if k == nil || k.catalogue == nil {
		return t.madeRows(nil)
	}
	return t.madeRows(k.catalogue.first)
}

// madeRows returns rows to test a coder with, in the owner's units. They are made from
// the task's public constants only; for each feature there are cells that are taken
// unchanged, beyond its range, unknown and empty. The target is left out. keys are some
// keys of the task's catalogue.
func (t *Task) madeRows(keys []string) []map[string]string {
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
