// Package conformance runs the fixtures of the protocol's public suite against an implementation, over the suite's two
// protocols: a program that gets one fixture on its standard input (stdio-fixture-v1), and a server that gets it by
// HTTP (http-fixture-v1). It also contains the implementation's side of both protocols; our implementation is in the
// sub-package product.
//
// An implementation's verdict is not trusted: what it reports as done is compared with what the fixture expects.
package conformance
