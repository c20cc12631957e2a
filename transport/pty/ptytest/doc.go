// Package ptytest runs a program on a pseudo-terminal in tests: what it shows, and what is typed. It knows nothing
// about the program.
package ptytest
