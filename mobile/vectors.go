package mobile

// Features builds a vector of features in place of an app's own ByteBuffer. It is not
// safe for concurrent use.
type Features struct{}

// NewFeatures returns a vector of n zeros.
func NewFeatures(n int) *Features { return &Features{} }

// Set sets the i-th number, counted from 0.
func (f *Features) Set(i int, v float64) (err error) {
	defer guard(&err)
	return errNotBuilt
}

// Bytes returns the vector as the methods of [Node] want it.
func (f *Features) Bytes() []byte { return nil }
