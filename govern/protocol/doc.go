// Package protocol defines the files of governed runs: configuration, run state, turn results, the record, the dispatch
// bundle, and the layout of the .agentxchain folder. Field names are those of the AgentXchain protocol v7
// (specification 001 and, for roles of the first edition, 000).
//
// Types, their codecs and their fixed vocabularies belong here. Rules do not: internal/governed/governance and its
// sub-packages decide whether a value is legal. The package reads no file, clock or variable.
package protocol
