// Package execution holds the words that both sides of the seam say: requests, requirements, capabilities, negotiation,
// events, commands, results, usage and error codes.
//
// It holds values only. It starts nothing, reads nothing, decides nothing, and imports the standard library alone, so an
// adapter in any module can be written against it. The JSON names of its fields are the wire format that programs see:
// camelCase, with a schemaVersion on everything that stands alone.
//
// Rules about these values (negotiation, retries, ordering) live in package agent; translation to a backend lives in an
// adapter; anything that names a vendor belongs to neither and does not come here.
package execution
