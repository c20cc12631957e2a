// Package audit compares the governed record with its hash chain and with the repository's commits, in both directions:
// every turn that the record shows as committed, and every checkpoint among the commits. It changes nothing and makes
// no decision about a run.
package audit
