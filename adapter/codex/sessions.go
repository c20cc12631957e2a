package codex

import (
	"bytes"
	"cmp"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/history"
)

var _ adapter.SessionStore = Adapter{}

// sessions is Codex's store: one rollout file per thread, by date, or in the archive. Old ones may be compressed. A
// sub-agent is a separate thread. A fork contains only its own records, and states how much of its parent's file
// precedes them.
var sessions = sessionfile.New(sessionfile.Format{
	Agent: name,
	Roots: func(h adapter.Host) []string {
		return []string{home.Path(h, "sessions"), home.Path(h, "archived_sessions")}
	},
	List: listSessions,
	Decode: func(b *sessionfile.Builder, c *sessionfile.Conversation) sessionfile.Decoder {
		return &sessionDecoder{b: b, c: c, outcomes: map[string]outcome{}}
	},
	Before: func(h adapter.Host, f history.File) []string {
		var paths []string
		for _, a := range ancestry(h, f) {
			if a.path != "" {
				paths = append(paths, a.path)
			}
		}
		return paths
	},
	Unpack:   unpack,
	Describe: missingParent,
})

const packedSuffix = ".jsonl.zst"

// unpack decompresses a packed rollout.
func unpack(path string, r io.ReadCloser) (io.ReadCloser, error) {
	if !strings.HasSuffix(path, packedSuffix) {
		return r, nil
	}
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(sessionfile.MaxLine))
	if err != nil {
		return nil, err
	}
	return unpacked{d, r}, nil
}

type unpacked struct {
	*zstd.Decoder
	file io.Closer
}

func (u unpacked) Close() error {
	u.Decoder.Close()
	return u.file.Close()
}

// rolloutName matches rollout-<local time>-<thread>.
var rolloutName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+)$`) })

// sessionID returns the thread of a rollout file, and whether it is compressed.
func sessionID(file string) (id string, packed, ok bool) {
	stem, packed := strings.CutSuffix(file, packedSuffix)
	if !packed {
		if stem, ok = strings.CutSuffix(file, ".jsonl"); !ok {
			return "", false, false
		}
	}
	if m := rolloutName().FindStringSubmatch(stem); m != nil {
		return m[1], packed, true
	}
	return stem, packed, stem != ""
}

func listSessions(l *sessionfile.Lister) {
	for _, root := range []struct {
		dir      string
		depth    int // directories between the root and its files
		archived bool
	}{{"sessions", 3, false}, {"archived_sessions", 0, true}} {
		if dir := home.Path(l.Host, root.dir); l.Root(dir) {
			listRollouts(l, dir, root.depth, root.archived)
		}
	}
}

func listRollouts(l *sessionfile.Lister, dir string, depth int, archived bool) {
	entries := l.Dir(dir)
	plain := map[string]bool{}
	for _, e := range entries {
		plain[e.Name] = true
	}
	for _, e := range entries {
		id, packed, ok := sessionID(e.Name)
		switch {
		case ok && packed && plain[strings.TrimSuffix(e.Name, ".zst")]:
			// Both exist while Codex compresses a file.
		case ok:
			l.Add(history.File{ID: id, Archived: archived}, e)
		case depth > 0 && l.Enter(e):
			listRollouts(l, e.Path, depth-1, archived)
		}
	}
}

// ancestor is a file whose beginning belongs to a fork.
type ancestor struct {
	id    string
	path  string
	below int64 // the first ordinal that does not belong to the fork
}

const (
	maxAncestors = 64
	headOfMeta   = 8 << 10 // these members precede the instructions, which are long
)

var (
	forkedFrom    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"forked_from_id":"([^"\\]{1,100})"`) })
	forkedOrdinal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"forked_from_ordinal_exclusive":(\d{1,18})[,}]`) })
)

// ancestry returns the files that precede a fork, the oldest first. Older versions copy them instead, as does a
// sub-agent's history: such files stand alone.
func ancestry(h adapter.Host, f history.File) []ancestor {
	var list []ancestor
	seen := map[string]bool{f.ID: true}
	for path := f.Path; len(list) < maxAncestors; {
		head := metaHead(h, path)
		from, ordinal := forkedFrom().FindSubmatch(head), forkedOrdinal().FindSubmatch(head)
		if from == nil || ordinal == nil {
			break
		}
		a := ancestor{id: string(from[1])}
		a.below, _ = strconv.ParseInt(string(ordinal[1]), 10, 64) // the expression only admits numbers that fit
		if seen[a.id] {
			break
		}
		seen[a.id] = true
		a.path = findRollout(h, a.id)
		list = append([]ancestor{a}, list...)
		if path = a.path; path == "" {
			break
		}
	}
	return list
}

// missingParent reports the missing file of a fork.
func missingParent(b *sessionfile.Builder) {
	if b.Summary.ForkedFrom == "" || b.Partial {
		return
	}
	for _, a := range ancestry(b.Host, b.File) {
		if a.path == "" {
			b.Problem(b.File.Path, 0, "the session "+a.id+", off which this one was forked, is not in the store: what was said before the fork is missing")
		}
	}
}

// metaHead returns the beginning of a file's first line.
func metaHead(h adapter.Host, path string) []byte {
	r, err := sessionfile.Open(h, path, unpack)
	if err != nil {
		return nil
	}
	defer r.Close()
	head := make([]byte, headOfMeta)
	n, _ := io.ReadFull(r, head) // a short file is fine
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	return line
}

// findRollout finds the file of a thread. The id contains its creation time, and files are kept by day.
func findRollout(h adapter.Host, id string) string {
	dirs := []string{home.Path(h, "archived_sessions")}
	hex := strings.ReplaceAll(id, "-", "")
	if ms, err := strconv.ParseInt(hex[:min(12, len(hex))], 16, 64); err == nil {
		made := time.UnixMilli(ms).UTC()
		for _, days := range []int{0, -1, 1} { // the folder is named by local time
			d := made.AddDate(0, 0, days)
			dirs = append(dirs, filepath.Join(home.In(h), "sessions", d.Format("2006"), d.Format("01"), d.Format("02")))
		}
	}
	packed := ""
	for _, dir := range dirs {
		for _, e := range sessionfile.ReadDir(h, dir) {
			if have, _, ok := sessionID(e); ok && have == id {
				if strings.HasSuffix(e, ".jsonl") {
					return filepath.Join(dir, e)
				}
				packed = cmp.Or(packed, filepath.Join(dir, e))
			}
		}
	}
	return packed
}
