//go:build !amd64

package vector

const quick = false

func dot(_, _ []float64) float64                    { panic(never) }
func addScaled(_ []float64, _ float64, _ []float64) { panic(never) }
func addAllScaled(_ []float64, _ []Scaled)          { panic(never) }
func squares(_ []float64) float64                   { panic(never) }
func addUnits(_ []int64, _ []float64, _ float64)    { panic(never) }
func multiply(_ []float64, _ []Product)             { panic(never) }
func addUnitsSquared(_ []int64, _ []float64, _ float64) (high, middle int64, low uint64) {
	panic(never)
}
func addAllUnits(_ []int64, _ []Scaled) { panic(never) }

const never = "vector: this processor is not known"
