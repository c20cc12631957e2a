// Package agent adds to an adapter the guarantees that every backend must give.
//
// Whatever the adapter does: a request is negotiated before anything starts, and an unsupported one never runs;
// the shortest deadline applies, and a cancellation is not a timeout; events are numbered and in the order of
// the contract; there is exactly one result, with one trace, and usage is counted once; panics of an adapter
// become a result while a consumer's own panics pass through; a policy, a callback or a person answers
// questions; messages are queued, then taken or cancelled; failed attempts are retried by policy, and another
// backend may take over; secrets are never shown.
//
// The package knows no vendor, starts no process and stores nothing: runs stay in memory until they are
// released.
package agent
