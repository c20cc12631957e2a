// Package usagescan is the kit for adapters whose agents record usage in session files: it splits files into lines,
// skips irrelevant lines without scanning them, and helps with times, counts, keys and repeated names.
//
// A format consists of a function that judges a line by its first bytes and one that reads it. Skipped lines are not
// checked to be JSON, because tool output can be gigabytes. Lines that are read are validated as a whole by
// transport/jsonscan.
package usagescan
