// Package e2e drives the real agent programs, pinned by package-lock.json, against the scripted model server, in a network
// namespace that has loopback only. The tests carry the build tag e2e; e2e/run installs the programs and starts them.
//
// Nothing here talks to a model or needs a key. What no real program is needed for is tested elsewhere.
package e2e
