package agent

import "github.com/drawbar/drawbar/execution"

// Handler receives every event of a run, in order and before any reader. It must return soon, because the agent
// waits for it. It may call the run's methods, except to wait for the result or read events. Create one with
// On or OnAny. A handler that panics is reported as a debug event and not called again.
type Handler struct {
	fn   func(execution.Event) (again bool)
	dead bool
}

// OnAny calls fn for every event.
func OnAny(fn func(execution.Event)) Handler {
	return Handler{fn: func(e execution.Event) bool { fn(e); return true }}
}

// On calls fn for events whose body is a T.
func On[T execution.Body](fn func(execution.Event, T)) Handler {
	return Handler{fn: func(e execution.Event) bool {
		if b, ok := e.Body.(T); ok {
			fn(e, b)
		}
		return true
	}}
}
