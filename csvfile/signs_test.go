package csvfile

import "testing"

func TestFault(t *testing.T) {
	for cell, want := range map[string]bool{"#N/A": true, " #div/0! ": true, "#WERT!": true, "": false, "NA": false, "#1": false, "N/A": false} {
		if Fault(cell) != want {
			t.Errorf("%q: %v", cell, !want)
		}
	}
}

func TestTotal(t *testing.T) {
	for _, c := range []struct {
		cells []string
		want  bool
	}{
		{[]string{"Total", "", "", "", "", "812.4"}, true},
		{[]string{"", "Grand total:", "", "5"}, true},
		{[]string{" SUM ", "", "5"}, true},
		{[]string{"Total", "2024-01-01", "3", "work", "5"}, false},
		{[]string{"Total", "5"}, false},
		{[]string{"Totality", "", "", "5"}, false},
		{[]string{"H1", "", "", "5"}, false},
		{[]string{"", "", ""}, false},
		{nil, false},
	} {
		if got := Total(c.cells); got != c.want {
			t.Errorf("%q: %v", c.cells, got)
		}
	}
}
