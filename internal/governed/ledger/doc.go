// Package ledger keeps the governed record of a project on disk: state, session, history, decisions, events, run history and
// escalations under .agentxchain, written in one journaled transaction, and a hash chain over every line.
//
// How the record is written belongs here. What is written does not: the entries come from the rules (internal/governed/governance), and
// the bytes of other files from whoever owns them. The dispatch bundle is written by internal/governed/project, hook audits by the hook
// runner; this package only moves what a turn leaves behind into the archive.
//
// # A transaction
//
// Commit encodes everything, lets the caller prepare a checkpoint (git objects, no ref), and writes a journal that holds every
// byte that will be appended or replaced, with the offset it belongs to. From the moment the journal has its name the
// transaction has happened; before, nothing has. Then the lines are appended at their offsets, whole files are replaced, the
// state last, the bundles of accepted turns move to the archive, the checkpoint's ref is moved, and the journal is removed. Every
// step asks first whether it has been done, so that doing all of it again changes nothing. That is what recovery does: Open
// carries out what a journal holds, and a reader who meets a journal shows what recovery will give.
//
// # What is flushed
//
// The journal and its folder are flushed before the first step, because they are the promise. The appended files and the new
// contents of replaced ones are flushed together, at once, and the folder after the last rename, before the journal goes: from
// then on they are the only copy. The removal itself is not flushed. A journal that a power failure brings back is carried out
// again and changes nothing, and the next transaction's flush of the folder makes the removal last. Moves to the archive are not
// flushed either: where they are lost the bundle is where it was. So a transaction waits for four flushes, whatever it writes.
//
// # Who may write
//
// One at a time, see lock.go. A reader takes no lock.
package ledger
