package adapter

import (
	"context"
	"io"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

// SessionStore is an adapter whose agent keeps its conversations on disk (agent-mux specification, sessionDir,
// listSessionFiles, parseSessionFile). Stores are read in place and never written: a Host cannot write.
//
// Bad input is data: a corrupt, truncated, empty or unreadable file is listed and read as far as possible, and
// a history.Problem names it and the problem. All methods are safe for concurrent use.
type SessionStore interface {
	// SessionRoots returns the absolute directories in which the agent keeps its sessions on this host, whether
	// they exist or not.
	SessionRoots(h Host) []string

	// ListSessions finds the sessions without opening their files. An entry that looks like a session but
	// cannot be one (a directory, a link out of the store) is listed with its Problem. A missing store is an
	// empty one.
	ListSessions(ctx context.Context, h Host) ([]history.File, []history.Problem)

	// SummarizeSession reads the head and the tail of a session. Counts are nil if the file is too large to
	// count. The error is for a file that cannot be read at all.
	SummarizeSession(ctx context.Context, h Host, f history.File) (history.Summary, error)

	// ReadSession reads a whole session, line by line. The error is for a file that cannot be read at all, or
	// from ctx.
	ReadSession(ctx context.Context, h Host, f history.File) (history.Session, error)

	// OpenSession returns the bytes that ReadSession reads: all files of a session, concatenated and
	// decompressed. It may contain texts that are in no message; a text of a message appears as JSON writes it.
	OpenSession(ctx context.Context, h Host, f history.File) (io.ReadCloser, error)

	// FollowSession converts the lines of a session to events as they arrive. It fails if the format of this
	// file cannot be followed.
	FollowSession(h Host, f history.File) (SessionFollower, error)
}

// SessionFollower reads one session from its first line. It must be used by one goroutine.
type SessionFollower interface {
	// Line parses the next complete line and returns its events. If the agent's own records state the end of
	// the session, that is an execution.SessionEnd.
	Line(line []byte) []execution.Event
}

// UsageLog is an adapter whose agent records its usage in session files. The adapter locates the files and
// parses their bytes; it does not open them.
type UsageLog interface {
	// UsageStores returns the folders in which the agent keeps session files under h. It reads only variables;
	// a folder need not exist.
	UsageStores(h Host) []history.UsageStore
	// UsageVersion must change whenever a scanner's results change. Cached results of older scans are then
	// discarded.
	UsageVersion() int
	// NewUsageScanner returns a scanner for one file, from its beginning. It may read small neighbouring files
	// through h.FS, and ignores them if they cannot be read.
	NewUsageScanner(ctx context.Context, h Host, f history.UsageFile) UsageScanner
}

// UsageScanner reads one session file in one pass. It must be used by one goroutine.
type UsageScanner interface {
	// Scan parses the lines at the start of data and passes their usage to give; the strings of r may be kept,
	// r and data may not. It returns how many bytes are done: up to the end of the last complete line, or
	// further within a line not worth parsing, whose rest the next call skips. end means that no data follows:
	// an unterminated last line is then parsed if it is complete.
	Scan(data []byte, end bool, give func(r *history.UsageRecord)) (done int)
	// Bad returns how many lines could not be parsed so far and the offset of the first, counted from this
	// scanner's start.
	Bad() (lines int, first int64)
	// Boundary returns the offset of the end of the last complete line, counted from this scanner's start.
	Boundary() int64
	// State returns what a scanner needs to continue at Boundary, unless Scan was called with end. Restore sets
	// it and returns false for a state that it does not know.
	State() []byte
	Restore(state []byte) bool
}

// SessionSums is implemented by adapters whose agent states the usage of the whole session instead of the run, or whose
// session files have no exact times of calls.
// A client puts the session's earlier usage into Request.SessionUsage.
type SessionSums interface {
	UsageLog
	StatesSessionSums()
}

// SessionRemover is a SessionStore whose sessions are Drawbar's to delete, because Drawbar wrote them.
type SessionRemover interface {
	// RemoveSession deletes a session for good. The error is SESSION_NOT_FOUND if there is none, and INVALID_STATE_TRANSITION if a run
	// goes on with it.
	RemoveSession(h Host, id string) error
}

// StateKeeper is an agent whose sessions Drawbar keeps itself, in its state directory.
type StateKeeper interface {
	// KeepIn returns the agent with this state directory, an absolute path, in place of that of the environment it was made in. A request
	// that sets DRAWBAR_STATE_DIR has its own.
	KeepIn(dir string) Adapter
}
