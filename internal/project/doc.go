// Package project is a governed project on disk: its configuration, its layout, the dispatch bundles of turns and their
// staged results. What the files must say is decided in internal/governance; the record of runs is internal/ledger's.
package project
