// Package api defines what the owner of a data directory can ask of a node, the
// answers, and the errors. It does not depend on how a node finds its answers, or on
// how they are transported.
package api

import "errors"

// ErrSilent says that there is a daemon and it does not answer.
var ErrSilent = errors.New("does not answer; wait until it does, or end it and try again")

// ErrRequest says that the mistake is in the request, not in the node.
var ErrRequest = errors.New("node: a wrong request")

// ErrScope says that the asker's token does not allow the request.
var ErrScope = errors.New("node: not allowed")

// ErrEnded says that a request failed after the node had ended.
var ErrEnded = errors.New("node: the node has ended")

// WrongRequest makes an error an [ErrRequest] that says which.
func WrongRequest(err error) error { return wrong{err} }

type wrong struct{ error }

// Is is for [errors.Is].
func (e wrong) Is(target error) bool { return target == ErrRequest }

// Unwrap is for [errors.Is] and its kin.
func (e wrong) Unwrap() error { return e.error }

// Advised is an error whose text ends with what the daemon's owner can do about it: with the
// command p2pnode, or with a parameter of the request, as again=true. The command says its
// flag for a parameter, and a program that embeds a node replaces the advice with its own.
type Advised struct {
	Err    error
	Advice string
}

// Advise adds advice to err.
func Advise(err error, advice string) error { return &Advised{err, advice} }

// Error implements [error].
func (a *Advised) Error() string { return a.Err.Error() + "; " + a.Advice }

// Unwrap is for [errors.Is] and its kin.
func (a *Advised) Unwrap() error { return a.Err }
