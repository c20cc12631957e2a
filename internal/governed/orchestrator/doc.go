// Package orchestrator runs governed work. It combines the rules (internal/governed/governance), the record
// (internal/governed/ledger), the user's files (internal/governed/workspace), our files (internal/governed/project) and
// the runtimes, in an order that loses nothing after a crash.
//
// The sequence belongs here, and what must hold between those packages: which lock covers what, what is written before
// what. A rule that can be decided from values belongs in governance; what names a runtime belongs in turnruntime.
package orchestrator
