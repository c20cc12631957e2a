// Package runstore is the record of runs of single agents: what ran, where, for how long, at what cost, in which session,
// and every event of it.
//
// On disk, under the state directory (see DefaultDir):
//
//	runs/<run id>/meta.json           what was started, and by which process; written before the first event
//	runs/<run id>/events-0001.jsonl   events, one JSON object a line, append-only, continued in -0002 and so on; the recording
//	                                  process holds a lock on the first
//	runs/<run id>/result.json         the result; its presence means that the run ended
//	runs.db                           SQLite index over all that, for lists and sums
//	run-index.jsonl                   one line per ended run, where no project directory takes it
//
// The database is derived from the run directories: the next reader adds a row that was not written because of a crash or a full
// disk, and a damaged database is moved aside and rebuilt. The database is opened on first use, so that starting a run needs only a
// directory and two small files.
//
// Several processes may write and read at the same time. One process records a run; others can read it meanwhile, in whole lines.
//
// Package agent has removed secrets from events and results; this package removes them from the request's own texts. Directories
// have mode 0700, files 0600.
//
// Governed runs have their own record, the ledger. Package control controls live runs; this package only names the socket. Sessions
// and files of the agents are the adapters' task.
package runstore
