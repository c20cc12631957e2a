// Package audit compares the governed record with its hash chain and with the repository's commits, in both
// directions: what the record says was committed, and what commits say was recorded. It changes nothing and
// decides nothing about a run.
package audit
