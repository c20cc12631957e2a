package history

import (
	"io"
	"io/fs"
	"path"
)

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
