// Package declarative runs programs that are described by data instead of Go code: how the program gets the prompt, and
// what its output and its exit code mean.
package declarative
