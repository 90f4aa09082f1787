// Package skipped has signatures that gobind leaves out without a word.
package skipped

// Kept is carried.
func Kept(x int) (y int, err error) { return x, nil }

// Mean is not: gobind knows no slice but []byte.
func Mean(values []float64) float64 { return float64(len(values)) }

// Probe has a field and a method that are left out.
type Probe struct {
	Limits []string
}

// Limit is left out.
func (p *Probe) Limit(i uint32) string { return p.Limits[i] }
