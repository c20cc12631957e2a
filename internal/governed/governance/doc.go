// Package governance holds the rules of governed runs: what may happen to a run, and what follows from it.
//
// Transition is the one door: a run and an input give the run afterwards and the effects that the orchestrator carries out.
// A refused input leaves the run as it was and names the command to type next. Everything is decided from values: the moment,
// ids, file contents and the outcome of commands come in with the input, so the same inputs give the same run again.
//
// What reads or changes the world does not belong here, nor do the words and codecs of files (protocol), the content rules of
// gates (gate), the check of a configuration (charter) or of a turn result (turnresult).
package governance
