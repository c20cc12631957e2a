// Package ledger keeps the governed record of a project on disk: state, session, history, decisions, events, run
// history and escalations under .agentxchain, written in one journaled transaction, and a hash chain over every line.
//
// How the record is written belongs here. What is written does not: the entries come from the rules
// (internal/governed/governance), and the bytes of other files from their owners. internal/governed/project writes the
// dispatch bundle and the hook runner its audits; this package only moves a turn's files to the archive.
//
// # A transaction
//
// Commit encodes everything, lets the caller prepare a checkpoint (git objects, no ref), and adds a journal to the redo log that holds
// every byte that will be appended or replaced, with the offset it belongs to. From the moment the journal is flushed the transaction
// has happened; before, nothing has. Then the lines are appended at their offsets, whole files are replaced, the state last, the
// bundles of accepted turns move to the archive, the checkpoint's ref is moved, and a mark in the log says that all this was done. Every
// step asks first whether it has been done, so that doing all of it again changes nothing. That is what recovery does: Open
// carries out a journal without a mark, and a reader who meets one shows what recovery will give.
//
// # What is flushed
//
// Only the log, once for each transaction. What its steps write reaches the disk when the system writes it back. Should the machine
// go down before, the mark names another boot: Open carries out again what is missing of all transactions in the log. A file that
// another program has changed since is left as it is. After 64 transactions or 1 MiB, and whenever the record does not continue where
// the log ended, because another program wrote to it, everything named in the log is flushed and the log begins again. So is it
// after each transaction where the system does not identify its boots, and after one that removes files, since others may appear in
// their place. The move of a checkpoint's ref is git's to flush, and is not repeated.
//
// # Who may write
//
// One process at a time, see lock.go. A reader takes no lock.
package ledger
