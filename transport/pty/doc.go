// Package pty opens pseudo-terminals and takes the control sequences out of what programs print to them. It does not
// start processes; package process does, also in a pseudo-terminal. It knows nothing of agents.
package pty
