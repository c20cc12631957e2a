// Package execution defines the values that cross the seam between callers and adapters: requests,
// requirements, capabilities, negotiation, events, commands, results, usage and error codes.
//
// It contains values only. It starts nothing, reads nothing, decides nothing, and imports only the standard
// library, so adapters in any module can use it. The JSON names of its fields are the wire format: camelCase,
// with a schemaVersion on every top-level value.
//
// Rules about these values (negotiation, retries, ordering) are in package agent; translation to a backend is
// in its adapter. Nothing here names a vendor.
package execution
