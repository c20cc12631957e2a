// Package session is the product's side of the conversations that agents keep on disk: an index over the stores of all
// agents, search in what was said, comparison, export, and watching a session that goes on.
//
// The agents' files are the truth, and are only ever read, through adapter.SessionStore. The index, sessions.db in the
// state directory, is derived: each row belongs to a file as it was, by path, size and time of change, and any process may
// add rows at any time. A damaged index is moved aside and built anew, one that cannot be used is replaced by one in
// memory.
//
// What a file means belongs to the adapters; what tokens cost, to the room that adds up usage.
package session
