// Package pty opens pseudo-terminals and removes control sequences from terminal output. It does not start processes;
// package process does, also in a pseudo-terminal. It knows nothing about agents.
package pty
