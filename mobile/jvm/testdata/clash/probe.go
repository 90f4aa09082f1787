// Package clash has a method that gobind carries and javac refuses: every Java
// object has a final method wait.
package clash

// Probe is any object.
type Probe struct{}

// Wait becomes a method of the same name.
func (p *Probe) Wait() {}
