package mobile

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// An app reads back what its user added, by column or as a vector, and is told what
// was not taken as it is.
func TestExamplesAreShownAsTheyWereAdded(t *testing.T) {
	n := open(t, linearConfig(t), nil)
	vector := make([]float64, 20)
	vector[0], vector[1] = 0.30000000000000004, -7
	row := strings.Replace(rowJSON("0.25"), "}", `,"y":"1.0"}`, 1)
	row = strings.Replace(row, `"x2":0.25`, `"x2":null`, 1)
	check(t, n.AddExample(encodeVector(vector), 1), n.AddExampleJSON(row), n.Flush())
	page, err := n.ExamplesJSON(1, 2)
	var list []api.RecordInfo
	check(t, err, json.Unmarshal([]byte(page), &list))
	if len(list) != 2 || len(list[0].Cells) != 21 || len(list[1].Cells) != 21 {
		t.Fatalf("listed %s", page)
	}
	for i, want := range [][]api.WrittenCell{
		{{Column: "x1", Text: "0.30000000000000004"}, {Column: "x2", Text: "-7", Note: "clamped"}, {Column: "y", Text: "1"}},
		{{Column: "x1", Text: "0.25"}, {Column: "x2", Note: "empty"}, {Column: "y", Text: "1.0"}},
	} {
		c := list[i].Cells
		if got := []api.WrittenCell{c[0], c[1], c[20]}; !reflect.DeepEqual(got, want) {
			t.Errorf("example %d: %+v, want %+v", i+1, got, want)
		}
	}
	require.Eventually(t, "both cells are counted", func() bool { // a busy node tells of a moment ago
		var s struct{ Node api.Status }
		status, err := n.StatusJSON()
		check(t, err, json.Unmarshal([]byte(status), &s))
		return reflect.DeepEqual(s.Node.Cells, []api.ColumnTally{{Column: "x2", Clamped: 1, Empty: 1}})
	})
}
