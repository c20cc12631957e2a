// Package pifile reads what Pi and its forks keep on disk: one file per session, whose lines are entries of a tree.
// Oh My Pi added entries to those of Pi and changed some of them; one decoder reads both.
//
// Where the files are, and everything about a running agent, belongs to the adapters.
package pifile
