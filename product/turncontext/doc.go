// Package turncontext assembles a request for one turn of an assistant from what its product knows: identity and traits, instructions, the
// session, memory, enrichment and guardrails (BYOH specification, turn context).
//
// Assemble is deterministic: the same input gives the same request. An Assembly says what was left out, and why. The package runs
// nothing and keeps nothing; Assembly.Request is what a client runs.
package turncontext
