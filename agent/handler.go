package agent

import "github.com/drawbar/drawbar/execution"

// Handler sees every event of a run, in order and before any reader. It must return soon: the agent waits for it. It may
// call the methods of the run, but not wait for its result or read its events. Make one with On, Once or OnAny. A handler
// that panics is reported as a debug event and not called again.
type Handler struct {
	fn   func(execution.Event) (again bool)
	dead bool
}

// OnAny handles every event.
func OnAny(fn func(execution.Event)) Handler {
	return Handler{fn: func(e execution.Event) bool { fn(e); return true }}
}

// On handles the events whose body is a T.
func On[T execution.Body](fn func(execution.Event, T)) Handler {
	return Handler{fn: func(e execution.Event) bool {
		if b, ok := e.Body.(T); ok {
			fn(e, b)
		}
		return true
	}}
}

// Once handles the first event whose body is a T.
func Once[T execution.Body](fn func(execution.Event, T)) Handler {
	return Handler{fn: func(e execution.Event) bool {
		b, ok := e.Body.(T)
		if ok {
			fn(e, b)
		}
		return !ok
	}}
}
