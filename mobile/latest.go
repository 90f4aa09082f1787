package mobile

import (
	"context"
	"sync"
	"time"
)

// latest is the newest answer to a question that may take long to answer.
type latest[T any] struct {
	ask func() (T, error)

	mu      sync.Mutex
	value   T
	at      time.Time     // when the value was requested
	err     error         // error of the newest attempt
	began   time.Time     // when that attempt began
	pending chan struct{} // closed when the attempt under way has ended; nil: none is under way
}

// get asks the question and returns the answer if it comes before ctx ends. Otherwise, or
// if the attempt fails, it returns the previous answer and its age. One attempt runs at a
// time. If it has taken longer than [userWait] and there is a previous answer, get does
// not wait for it.
func (l *latest[T]) get(ctx context.Context) (value T, age time.Duration, err error) {
	l.mu.Lock()
	if l.pending == nil {
		l.pending, l.began = make(chan struct{}), time.Now()
		go l.attempt(l.pending, l.began)
	}
	pending, hopeless := l.pending, !l.at.IsZero() && time.Since(l.began) > userWait
	l.mu.Unlock()
	if !hopeless {
		select {
		case <-pending:
		case <-ctx.Done():
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at.IsZero() {
		return value, 0, l.err
	}
	return l.value, time.Since(l.at), nil
}

func (l *latest[T]) attempt(done chan struct{}, at time.Time) {
	defer close(done)
	value, err := l.safely()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err = err; err == nil {
		l.value, l.at = value, at
	}
	l.pending = nil
}

func (l *latest[T]) safely() (value T, err error) {
	defer guard(&err)
	return l.ask()
}
