// Package agent wraps an adapter in the guarantees that every backend must give.
//
// Whatever the adapter does: a request is negotiated before anything starts and what is unsupported is never run; the
// shortest of all deadlines holds and a cancellation is not a timeout; events come numbered and in the order of the
// contract; there is exactly one result, with one trace, and usage counted once; panics of an adapter become a result
// while a consumer's own pass through; questions are answered by a policy, by a callback or by a person; messages are queued,
// then taken or cancelled; failed attempts are repeated by policy, and another backend may take over; nobody is shown a secret.
//
// It knows no vendor and starts no process. It does not store anything: runs live in memory until they are dropped.
package agent
