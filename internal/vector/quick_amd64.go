package vector

import "golang.org/x/sys/cpu"

// quick reports whether the processor has AVX2.
var quick = cpu.X86.HasAVX2

// dot adds up in gonum's order: the k-th of four sums takes each number k of four, the
// first of them takes those that are left over, and in the end it is (0 + 2) + (1 + 3).
//
//go:noescape
func dot(x, y []float64) float64

//go:noescape
func addScaled(dst []float64, alpha float64, x []float64)

// addAllScaled reads and writes each number of dst once, however long the list.
//
//go:noescape
func addAllScaled(dst []float64, list []Scaled)

//go:noescape
func squares(x []float64) float64

// addUnits adds 1.5 2^52 to what it has rounded: from there on to either side numbers
// are 1 apart, and their bits are counted up by 1, too.
//
//go:noescape
func addUnits(total []int64, x []float64, units float64)

//go:noescape
func multiply(theta []float64, list []Product)

// addAllUnits counts up the bits of what addUnits has added for each of list, and
// leaves that to be taken off once.
//
//go:noescape
func addAllUnits(total []int64, list []Scaled)

// addUnitsSquared splits what it adds, u 2^22 + l with 0 <= l < 2^22, and returns the
// sums of u^2, u l and l^2.
//
//go:noescape
func addUnitsSquared(total []int64, x []float64, units float64) (high int64, middle int64, low uint64)
