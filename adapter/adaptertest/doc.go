// Package adaptertest contains the tests of every adapter: the conformance suite of the seam, the reference adapter
// in memory, the checker of the event order, and a decorator that injects faults.
//
// The suite returns errors instead of taking a *testing.T, so that `go test` and a command that examines an installed
// agent run the same checks. A check that a subject cannot provoke is skipped with its reason, never silently. Tests
// of one adapter's translation (recorded transcripts, parsers) belong to that adapter.
package adaptertest
