// Package session reads the conversations that agents keep on disk: an index over the stores of all agents,
// search, comparison, export, and watching a live session.
//
// The agents' files are authoritative and are only read, through adapter.SessionStore. The index, sessions.db
// in the state directory, is derived from them: each row belongs to one version of a file, by path, size and
// modification time, and any process may add rows at any time. A damaged index is moved aside and rebuilt; an
// unusable one is replaced with one in memory.
//
// Adapters know the files' formats; package usage knows the cost of tokens.
package session
