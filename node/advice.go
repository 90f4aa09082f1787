package node

// Advised is an error and, in its text after it, what the daemon's owner can do about
// it with the command p2pnode. A program that embeds a node has advice of its own.
type Advised struct {
	Err    error
	Advice string
}

// Error implements [error].
func (a *Advised) Error() string { return a.Err.Error() + "; " + a.Advice }

// Unwrap is for [errors.Is] and its kin.
func (a *Advised) Unwrap() error { return a.Err }
