package adapter

import (
	"context"
	"io"
	"io/fs"
	"path"
)

// UsageLog is an adapter whose agent records its usage in session files. The adapter locates the files and
// parses their bytes; it does not open them.
type UsageLog interface {
	// UsageStores returns the folders in which the agent keeps session files under h. It reads only variables;
	// a folder need not exist.
	UsageStores(h Host) []UsageStore
	// UsageVersion must change whenever a scanner's results change. Cached results of older scans are then
	// discarded.
	UsageVersion() int
	// NewUsageScanner returns a scanner for one file, from its beginning. It may read small neighbouring files
	// through h.FS, and ignores them if they cannot be read.
	NewUsageScanner(ctx context.Context, h Host, f UsageFile) UsageScanner
}

// UsageStore is a folder that contains session files at any depth.
type UsageStore struct {
	Root string // absolute
	// FS is the file system with Root, nil for the host's. In another one the files are derived: their sizes are
	// revisions, and they are read whole.
	FS    fs.FS
	Match func(rel string) bool // reports whether a path below Root, with slashes, is a session file
	Enter func(rel string) bool // reports whether a folder below Root can contain any; nil: all can
	// Unpack decompresses a compressed file and returns r itself for others; closing the result closes r. nil:
	// no file is compressed.
	Unpack func(rel string, r io.ReadCloser) (io.ReadCloser, error)
}

// UsageFile is one session file.
type UsageFile struct {
	Root string // the store's root, absolute
	Rel  string // its path below Root, with slashes
}

// Path is the file's absolute path, with slashes.
func (f UsageFile) Path() string { return path.Join(f.Root, f.Rel) }

// Sidecar reads a small file at a path below the store's root. It returns nil if that fails.
func (f UsageFile) Sidecar(h Host, rel string) []byte {
	name, err := h.Name(path.Join(f.Root, rel))
	if err != nil || h.FS == nil {
		return nil
	}
	file, err := h.FS.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // read only
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxSidecar {
		return nil
	}
	b, err := fs.ReadFile(h.FS, name)
	if err != nil {
		return nil
	}
	return b
}

const maxSidecar = 1 << 20

// UsageScanner reads one session file in one pass. It must be used by one goroutine.
type UsageScanner interface {
	// Scan parses the lines at the start of data and passes their usage to give; the strings of r may be kept,
	// r and data may not. It returns how many bytes are done: up to the end of the last complete line, or
	// further within a line not worth parsing, whose rest the next call skips. end means that no data follows:
	// an unterminated last line is then parsed if it is complete.
	Scan(data []byte, end bool, give func(r *UsageRecord)) (done int)
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

// UsageRecord is the usage of one model call, or a sum that the agent states.
type UsageRecord struct {
	Time     int64 // Unix milliseconds; 0 if unknown
	Key      UsageKey
	Twin     uint64 // sub-agents' records with the Twin of another record repeat it, whatever their keys; 0: none
	Model    string
	Session  string
	Project  string // directory the agent worked in
	SubAgent bool

	Input        int64 // without tokens read from or written to the cache
	Output       int64 // including thinking
	Thinking     int64 // part of Output
	CacheRead    int64
	CacheWrite   int64 // cached for five minutes or an unknown time
	CacheWrite1h int64 // cached for an hour

	Stated bool    // the agent states CostUSD for this record
	Cost   float64 // US dollars

	// Statement marks a sum, not a call: CostUSD and the tokens cover all calls of Model in Session, with
	// sub-agents, from the previous statement up to Time. It prices those calls and is not counted as one.
	Statement bool
	// Fork is the session that Session was forked from; keys are then those of the common ancestor.
	Fork string
	// Copied marks a call from before Session began: a fork repeats it, and it belongs to the original session.
	Copied bool `json:",omitempty"`
	// InFamily marks a Key that is unique only among a session and its forks.
	InFamily bool
}

// UsageKey identifies a call: records with equal keys are copies of one call. The zero key has no copies.
type UsageKey [16]byte

// Tokens returns the number of all tokens.
func (r *UsageRecord) Tokens() int64 {
	return r.Input + r.Output + r.CacheRead + r.CacheWrite + r.CacheWrite1h
}
