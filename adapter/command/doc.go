// Package command runs any program for one turn: the program that the request names (Run.Command).
//
// The prompt is its standard input, or an argument that contains {prompt} or {prompt_file}. Standard output is the answer
// and the exit code the outcome. A program with sessions, options or output in JSON is better described by an entry of the
// configuration: see package declarative.
package command
