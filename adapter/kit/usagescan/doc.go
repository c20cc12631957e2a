// Package usagescan is the kit for adapters whose agents note in session files what they used: it splits files into lines,
// passes over lines that are not worth reading without looking at their bytes, and helps with the rest: times, counts, keys
// and names that repeat.
//
// A format is a function that judges a line by its first bytes and one that reads it. What a line's head rules out is not
// checked to be JSON: ten gigabytes of tool output are not worth it. What is read is checked as a whole, by
// transport/jsonscan.
package usagescan
