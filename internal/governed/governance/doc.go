// Package governance holds the rules of governed runs: what may happen to a run, and what follows from it.
//
// Transition is the single entry point: it takes a run and an input, and returns the new run and the effects for the
// orchestrator to carry out. A refused input leaves the run unchanged and names the next command to type. Everything is
// decided from values: the time, ids, file contents and the outcome of commands are part of the input, so the same
// inputs always produce the same run.
//
// What reads or changes the outside world does not belong here, nor do the types and codecs of files (protocol), the
// content rules of gates (gate), the check of a configuration (charter) or of a turn result (turnresult).
package governance
