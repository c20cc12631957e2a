// Package coordinator carries one piece of work through several governed repositories: workstreams that end at barriers, gates over all
// of them, and turns that know what the other repositories have delivered.
//
// The record of a repository is authoritative. The coordinator's own history only says which turns it began, which accepted turns it has
// seen, and what people approved; everything else (state, barriers, both ledgers) is made from it anew. A turn carries its place in the run
// in its repository's state and history, written in the same transaction as the turn itself, so a command that is killed anywhere loses
// nothing: the next one finds the turn in its repository.
package coordinator
