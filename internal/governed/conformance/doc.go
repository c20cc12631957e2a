// Package conformance drives the fixtures of the protocol's public suite against an implementation, over the two protocols
// that the suite knows: a program that gets one fixture on its standard input (stdio-fixture-v1), and a server that gets it by
// HTTP (http-fixture-v1). It also serves both sides of them for an implementation of ours; that one lives in product below.
//
// The verdict of an implementation is not taken for granted: what it says it did is held against what the fixture expects.
package conformance
