// Package protocol holds the words of governed runs as they stand in files: configuration, run state, turn results, the
// record, the dispatch bundle, and the layout of the .agentxchain folder. Field names are those of the AgentXchain protocol
// v7 (specifications 001 and, where its roles are used, 000).
//
// Values, their codecs and their fixed vocabularies belong here. Rules do not: whether a value is legal is decided in
// internal/governed/governance and its sub-packages. Nothing here reads a file, a clock or a variable.
package protocol
