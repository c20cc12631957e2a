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
// The run directories are the truth and the database is derived: a row that a crash or a full disk kept from being written
// is imported from its directory by the next reader, and a damaged database is moved aside and rebuilt. Nothing opens the
// database before it is needed, so that starting a run costs a directory
// and two small files.
//
// Any number of processes write and read at once. One process records one run; any other reads it meanwhile, whole lines only.
//
// Events and results come without secrets from package agent; they are taken out of the request's own words here. Directories have
// mode 0700, files 0600.
//
// Governed runs do not belong here (their record is the ledger), nor does the control of a live run: this package only
// names its socket. Sessions and files of the agents themselves are the adapters' business.
package runstore
