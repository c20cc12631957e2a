// Package cliagent is the kit for agents that are command line programs: spawn arguments in, lines to events out.
//
// An adapter hands it a Spec: how to start the program and a parser per run. The kit does the rest that every such agent
// needs: environment and private files, the process and its tree, lines and commands serialized into the parser, the
// stream assembler, lifecycle hooks, inactivity, unknown lines, panics, and exactly one result.
//
// Anything that names a vendor belongs in the adapter, anything that holds for every backend in package agent.
package cliagent
