package adapter

import (
	"context"
	"io"
	"io/fs"
	"path"
)

// UsageLog is an adapter whose agent notes in its session files what it used. The adapter says where the files are and reads
// their bytes; it opens none of them.
type UsageLog interface {
	// UsageStores are the places where the agent keeps session files under h. It reads variables only; a place need not
	// exist.
	UsageStores(h Host) []UsageStore
	// UsageVersion changes with every change of what a scanner makes of a file. What was kept of an older scan is void then.
	UsageVersion() int
	// NewUsageScanner makes a scanner for one file from its beginning. It may read small files beside it through h.FS, and
	// does without them where they cannot be read.
	NewUsageScanner(ctx context.Context, h Host, f UsageFile) UsageScanner
}

// UsageStore is a folder with session files somewhere below it.
type UsageStore struct {
	Root  string                // absolute
	Match func(rel string) bool // whether a path below Root, with slashes, is a session file
	Enter func(rel string) bool // whether a folder below Root can hold any; nil: every one
	// Unpack gives the bytes of a file that is compressed, and r itself for others; closing what it gives closes r. nil: none is.
	Unpack func(rel string, r io.ReadCloser) (io.ReadCloser, error)
}

// UsageFile is one session file.
type UsageFile struct {
	Root string // of its store, absolute
	Rel  string // its path below Root, with slashes
}

// Path is the file's absolute path, with slashes.
func (f UsageFile) Path() string { return path.Join(f.Root, f.Rel) }

// Sidecar reads a small file at a path below the store's root, empty when that is not possible.
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

// UsageScanner reads one session file in one pass. It is used by one goroutine.
type UsageScanner interface {
	// Scan reads the lines at the start of data and gives out what they say was used; the strings of r may be kept, r and
	// data not. It returns how many bytes it is done with: up to the end of the last complete line, or beyond it in a line that
	// is not worth reading, whose rest the next call passes over. With end there is no more: a last line without its end is
	// read if it is a whole one.
	Scan(data []byte, end bool, give func(r *UsageRecord)) (done int)
	// Bad is how many lines could not be read so far, and where the first of them begins, counted from where this scanner
	// began.
	Bad() (lines int, first int64)
	// Boundary is where the last complete line ended, counted from where this scanner began.
	Boundary() int64
	// State is what a scanner must remember to go on at Boundary, unless Scan was called with end; Restore sets it, and
	// answers false for what it does not know.
	State() []byte
	Restore(state []byte) bool
}

// SessionSums is implemented by adapters whose agent states what the whole session used where others state what the run used.
// A client puts what the session had used before into Request.SessionUsage.
type SessionSums interface {
	UsageLog
	StatesSessionSums()
}

// UsageRecord is the usage of one call of a model, or a sum that the agent states.
type UsageRecord struct {
	Time     int64 // Unix milliseconds; 0 when unknown
	Key      UsageKey
	Twin     uint64 // records of sub-agents with the Twin of another record repeat it, whatever their keys; 0: none has
	Model    string
	Session  string
	Project  string // directory the agent worked in
	SubAgent bool

	Input        int64 // without what was read from or written to the cache
	Output       int64 // with thinking
	Thinking     int64 // part of Output
	CacheRead    int64
	CacheWrite   int64 // kept for five minutes, or for an unknown time
	CacheWrite1h int64 // kept for an hour

	Stated bool    // the agent states CostUSD for this record
	Cost   float64 // US dollars

	// Statement marks a sum and no call: CostUSD and the tokens are those of all calls of Model in Session, with sub-agents,
	// up to Time, since the statement before. It prices those calls and counts none.
	Statement bool
	// Fork is the session whose beginning Session repeats; keys are then those of the common ancestor.
	Fork string
	// Copied marks a call that was made before Session began: a fork repeats it, and it belongs to the session that was forked.
	Copied bool `json:",omitempty"`
	// InFamily marks a Key that is unique among a session and its forks only.
	InFamily bool
}

// UsageKey tells calls apart: records with equal keys are copies of one call. The zero key has no copies.
type UsageKey [16]byte

// Tokens is the number of all tokens.
func (r *UsageRecord) Tokens() int64 {
	return r.Input + r.Output + r.CacheRead + r.CacheWrite + r.CacheWrite1h
}
