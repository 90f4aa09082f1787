package testnet

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"
)

// The error is that of the noise, within five of its standard errors over 256 numbers
// (false with probability 1e-6), rounding is nothing beside it, and bytes are those of the
// formats.
func TestMeasureSums(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: private sums of a hundred people with all their keys")
	}
	last := 0
	rows, err := MeasureSums(t.Context(), SumScaleOptions{
		Contributors: []int{50, 3000}, Dimension: []int{256}, Seed: 1,
		Progress: func(done, all int) { last = all },
	})
	if err != nil || len(rows) != 4 || last != 6100 {
		t.Fatalf("%d rows, progress to %d, %v", len(rows), last, err)
	}
	for _, r := range rows {
		least, most := 4+8*256, 5500+8*256
		if r.Members == 7 {
			most = 13000 + 8*256
		}
		if r.Upload < least || r.Upload > most || r.Received != int64(r.Contributors)*int64(r.Upload) || r.List != 68*r.Contributors {
			t.Errorf("bytes of %+v", r)
		}
		if off := math.Abs(r.Error/r.Noise - 1); off > 5/math.Sqrt(2*256) || r.Rounding > 1e-4 || r.Rounding == 0 {
			t.Errorf("errors of %+v", r)
		}
	}
	var table bytes.Buffer
	if err := WriteSumScaleTable(&table, rows); err != nil || strings.Count(table.String(), "against") != 4 {
		t.Errorf("%v:\n%s", err, table.String())
	}
}

func TestMeasureSumsStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rows, err := MeasureSums(ctx, SumScaleOptions{Contributors: []int{50}, Dimension: []int{2}})
	if !errors.Is(err, context.Canceled) || len(rows) != 0 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func TestSumScaleIsChecked(t *testing.T) {
	for want, o := range map[string]SumScaleOptions{
		"nodes 1:":         {Contributors: []int{1}, Dimension: []int{2}},
		"nodes 1048577":    {Contributors: []int{1<<20 + 1}, Dimension: []int{2}},
		"dimension 0":      {Contributors: []int{2}, Dimension: []int{0}},
		"nodes is empty":   {Dimension: []int{2}},
		"dimension is emp": {Contributors: []int{2}},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
