// Package audit holds the governed record against its hash chain and against the repository's commits, both ways: what the record
// says was committed, and what commits say was recorded. It changes nothing and decides nothing about a run.
package audit
