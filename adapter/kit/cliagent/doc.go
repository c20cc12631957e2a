// Package cliagent is the kit for agents that are command line programs: arguments in, lines to events out.
//
// An adapter passes a Spec: how to start the program, and a parser per run. The kit does the rest: environment and
// private files, the process and its tree, lines and commands serialized into the parser, the stream assembler,
// lifecycle hooks, inactivity, unknown lines, panics, and exactly one result.
//
// Vendor-specific code belongs in the adapter, and what holds for every backend in package agent.
package cliagent
