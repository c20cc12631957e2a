// Package queue carries out many items, several at once, each until it has a result, and keeps the results in a file that survives a
// crash: a second run over the same items does what is left. How an item is run is the caller's.
package queue
