// Package charter defines a valid agentxchain.json: its keys and their values, what roles, runtimes, phases and gates
// may name, whether a run can reach its end at all, and what this version does not support yet. It is pure: it reads
// values and text, no file, no clock.
//
// One table (Keys) names every key with its type, its bounds and its description. The checks, the JSON Schema and
// "config set" are derived from it.
package charter
