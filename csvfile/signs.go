package csvfile

import (
	"slices"
	"strings"
)

// Fault reports whether a cell is what a spreadsheet shows in place of a value that it cannot
// compute.
func Fault(cell string) bool {
	switch strings.ToUpper(strings.TrimSpace(cell)) {
	case "#N/A", "#NV", "#VALUE!", "#WERT!", "#REF!", "#BEZUG!", "#DIV/0!", "#NUM!", "#ZAHL!", "#NAME?", "#NULL!", "#SPILL!", "#CALC!":
		return true
	}
	return false
}

// Total reports whether a row looks like the total of others: the first of its cells with
// anything in it says so, and half of the others or more are empty.
func Total(cells []string) bool {
	full := func(cell string) bool { return strings.TrimSpace(cell) != "" }
	first := slices.IndexFunc(cells, full)
	if first < 0 {
		return false
	}
	switch name := strings.ToLower(strings.Trim(cells[first], " \t:")); name {
	case "total", "totals", "grand total", "subtotal", "sum", "average", "mean", "gesamt", "summe":
	default:
		return false
	}
	empty := 0
	for _, cell := range cells {
		if !full(cell) {
			empty++
		}
	}
	return empty > 0 && 2*empty >= len(cells)-1
}
