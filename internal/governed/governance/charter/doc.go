// Package charter says what an agentxchain.json has to satisfy: which keys there are, which values they take, what roles,
// runtimes, phases and gates may name, whether a run can reach its end at all, and what this version does not carry out
// yet. It is pure: it reads values and text, no file, no clock.
//
// One table (Keys) names every key with its type, its bounds and what it means. The checks, the JSON Schema and "config
// set" are all made from it.
package charter
