// Package protocoldoc makes docs/PROTOCOL.md, the tables of the governed protocol: the configuration from the table of its keys
// (charter.Keys), the other files from the types of package protocol and their doc tags, the words from words.md, which the test
// holds against the constants. The document is made by the test, which fails when it is out of date.
package protocoldoc

//go:generate go test . -run TestProtocolDocument -update
