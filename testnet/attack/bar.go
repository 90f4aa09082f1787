package attack

// Bar is one thing that must hold under an attack.
type Bar struct {
	Name     string  `json:"name"` // the number of the bar in docs/threats.md and what is measured: "1 memory: providers"
	Measured float64 `json:"measured"`
	Allowed  float64 `json:"allowed"`
	AtLeast  bool    `json:"at_least"` // the measured value may not be smaller, rather than larger, than the allowed one
	Unit     string  `json:"unit"`
	Held     bool    `json:"held"`
}

// AtMost is a bar that holds while the measured value is at most the allowed one.
func AtMost(name string, measured, allowed float64, unit string) Bar {
	return Bar{Name: name, Measured: measured, Allowed: allowed, Unit: unit, Held: measured <= allowed}
}

// atLeast is a bar that holds while the measured value is at least the allowed one.
func atLeast(name string, measured, allowed float64, unit string) Bar {
	return Bar{Name: name, Measured: measured, Allowed: allowed, AtLeast: true, Unit: unit, Held: measured >= allowed}
}
