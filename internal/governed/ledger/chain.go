package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

// chained lists the files whose lines the chain covers, in the order in which a transaction writes them.
func chained() []string {
	return []string{protocol.HistoryFile, protocol.LedgerFile, protocol.RepoLedgerFile, protocol.EscalationsFile, protocol.RunHistoryFile,
		protocol.EventsFile}
}

// chainPath is the path of the file that an entry names; empty if the chain does not cover it.
func chainPath(name string) string {
	p := protocol.Dir + "/" + name
	if slices.Contains(chained(), p) {
		return p
	}
	return ""
}

// The kinds of entries of chain.jsonl. A line of the record has no kind.
const (
	entryGenesis = "genesis" // the first entry: what the files contained before
	entryMark    = "mark"    // where the files end, so that the end of a long chain can be read on its own
	entryAdopted = "adopted" // lines that another program appended
	entryState   = "state"   // state.json after a transaction; the last entry of each
	entryFile    = "file"    // another file after a transaction, or a range of it
	entryArchive = "archive" // the archived files of a turn
)

// whole lists the files that the chain covers by a digest of the file instead of by line.
func whole() []string { return []string{protocol.SessionFile, protocol.TalkFile} }

// sealedPath is the path of the file that an entry or a span names, whether covered by line or as a whole; empty if
// neither.
func sealedPath(name string) string {
	if name == protocol.HookAuditFile || slices.Contains(whole(), name) {
		return name
	}
	return chainPath(name)
}

// markEvery is the number of entries between marks.
const markEvery = 128

// entry is a line of chain.jsonl. Length and digest of a line include its newline. hash is the digest of the entry's
// JSON without the hash itself, and prev is the hash of the entry before, so that a head identifies everything up to
// it.
type entry struct {
	Seq    int64         `json:"seq"`
	Kind   string        `json:"kind,omitempty"`
	At     protocol.Time `json:"at,omitzero"`
	File   string        `json:"file,omitempty"`
	Offset int64         `json:"offset"`
	Length int64         `json:"length"`
	Lines  int64         `json:"lines,omitempty"` // of adopted lines
	SHA256 string        `json:"sha256,omitempty"`
	Files  []span        `json:"files,omitempty"` // genesis, mark and archive
	Prior  []string      `json:"prior,omitempty"` // genesis: heads of a lost chain that a person chose to continue without
	Prev   string        `json:"prev"`
}

// span is a prefix of a file.
type span struct {
	File   string `json:"file"`
	Length int64  `json:"length"`
	Lines  int64  `json:"lines,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

const hashKey = `,"hash":"`

// seal encodes an entry with its hash, without a newline.
func (e entry) seal() (line []byte, hash string, err error) {
	line, err = protocol.Marshal(e)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(line)
	hash = hex.EncodeToString(sum[:])
	line = append(line[:len(line)-1], hashKey...)
	line = append(line, hash...)
	return append(line, `"}`...), hash, nil
}

// openEntry decodes an entry and verifies that its hash matches its content.
func openEntry(line []byte) (e entry, hash string, err error) {
	at := len(line) - 64 - 2 - len(hashKey)
	if at < 1 || !bytes.Equal(line[at:at+len(hashKey)], []byte(hashKey)) || !bytes.HasSuffix(line, []byte(`"}`)) {
		return e, "", errors.New("not a chain entry")
	}
	hash = string(line[at+len(hashKey) : len(line)-2])
	body := append(slices.Clone(line[:at]), '}')
	sum := sha256.Sum256(body)
	if hash != hex.EncodeToString(sum[:]) {
		return e, "", errors.New("its hash does not match its content")
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return e, "", fmt.Errorf("not a chain entry: %w", err)
	}
	if e.Seq < 0 || e.Offset < 0 || e.Length < 0 {
		return e, "", errors.New("it contains a negative number")
	}
	return e, hash, nil
}

// chainTail is the state at the end of the chain, which the next entry builds on.
type chainTail struct {
	size int64 // of chain.jsonl
	seq  int64 // of the next entry; 0 starts a chain
	head string
	ends map[string]int64 // how much of each file is covered, by path
	mark int64            // seq after the last mark

	state string            // digest of state.json after the last transaction; empty if the chain does not say
	whole map[string]string // digests of the files that are covered as a whole
}

func (t *chainTail) clone() *chainTail {
	c := *t
	c.ends = make(map[string]int64, len(t.ends))
	maps.Copy(c.ends, t.ends)
	c.whole = maps.Clone(t.whole)
	return &c
}

// add appends an entry to out.
func (t *chainTail) add(out []byte, e entry) ([]byte, error) {
	e.Seq, e.Prev = t.seq, t.head
	line, hash, err := e.seal()
	if err != nil {
		return nil, err
	}
	t.seq++
	t.head = hash
	t.size += int64(len(line)) + 1
	out = append(out, line...)
	return append(out, '\n'), nil
}

// cover adds entries for lines appended to a file.
func (t *chainTail) cover(out []byte, file string, offset int64, lines [][]byte) ([]byte, error) {
	var err error
	for _, line := range lines {
		if t.seq-t.mark >= markEvery {
			if out, err = t.add(out, entry{Kind: entryMark, Files: t.spans()}); err != nil {
				return nil, err
			}
			t.mark = t.seq
		}
		sum := sha256.Sum256(line)
		e := entry{File: path.Base(file), Offset: offset, Length: int64(len(line)), SHA256: hex.EncodeToString(sum[:])}
		if out, err = t.add(out, e); err != nil {
			return nil, err
		}
		offset += int64(len(line))
		t.ends[file] = offset
	}
	return out, nil
}

func (t *chainTail) spans() []span {
	var s []span
	for _, f := range chained() {
		s = append(s, span{File: path.Base(f), Length: t.ends[f]})
	}
	if end, ok := t.ends[protocol.HookAuditFile]; ok {
		s = append(s, span{File: protocol.HookAuditFile, Length: end})
	}
	for _, f := range whole() {
		if sum, ok := t.whole[f]; ok {
			s = append(s, span{File: f, SHA256: sum})
		}
	}
	return s
}

// end is the end of the chain. The caller does not change it.
func (l *Ledger) end() (*chainTail, error) {
	size, _, err := l.disk.stat(protocol.ChainFile)
	if err == nil && (l.tail == nil || l.tail.size != size) {
		l.tail, err = readTail(l.disk)
	}
	return l.tail, err
}

// readTail reads the end of the chain, back to the last mark. A missing chain starts with its first entry.
func readTail(d *disk) (*chainTail, error) {
	t := &chainTail{ends: map[string]int64{}, whole: map[string]string{}}
	size, there, err := d.stat(protocol.ChainFile)
	if err != nil || !there || size == 0 {
		return t, err
	}
	f, err := d.root.Open(protocol.ChainFile)
	if err != nil {
		return nil, failed("read", d.at(protocol.ChainFile), err)
	}
	defer f.Close()
	t.size = size
	seen := map[string]bool{}
	first := true
	err = eachLineBackward(f, size, func(line []byte) (bool, error) {
		e, hash, err := openEntry(line)
		if err != nil {
			return false, err
		}
		if first {
			t.seq, t.head, first = e.Seq+1, hash, false
		}
		see := func(name string, end int64, sum string) {
			p := sealedPath(name)
			if p == "" || seen[p] {
				return
			}
			if seen[p] = true; slices.Contains(whole(), p) {
				t.whole[p] = sum
			} else {
				t.ends[p] = end
			}
		}
		if e.File != "" {
			see(e.File, e.Offset+e.Length, e.SHA256)
		}
		for _, s := range e.Files {
			if e.Kind != entryArchive {
				see(s.File, s.Length, s.SHA256)
			}
		}
		if e.Kind == entryState && t.state == "" {
			t.state = e.SHA256
		}
		t.mark = e.Seq + 1
		return e.Kind != entryGenesis && e.Kind != entryMark, nil
	})
	if err != nil {
		return nil, damaged(d.at(protocol.ChainFile), err).
			WithHint("drawbar govern verify shows where; move the file away to start a new chain from the current files")
	}
	return t, nil
}

// eachLineBackward calls fn with the lines of a file from the last to the first, until it returns false.
func eachLineBackward(f io.ReaderAt, size int64, fn func(line []byte) (bool, error)) error {
	const block = 32 << 10
	var rest []byte // the start of what was read: the end of a line, or everything
	for at := size; at > 0; {
		n := min(at, block)
		if len(rest) > maxLine {
			return errors.New("a line is too long")
		}
		buf := make([]byte, n, n+int64(len(rest)))
		if _, err := f.ReadAt(buf, at-n); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		at -= n
		rest = append(buf, rest...)
		for {
			end := len(rest)
			if end > 0 && rest[end-1] == '\n' {
				end--
			}
			i := bytes.LastIndexByte(rest[:end], '\n')
			if i < 0 && at > 0 {
				break
			}
			if line := rest[i+1 : end]; len(line) > 0 {
				if on, err := fn(line); err != nil || !on {
					return err
				}
			}
			if i < 0 {
				return nil
			}
			rest = rest[:i+1]
		}
	}
	return nil
}

// digest hashes a range of a file and counts its lines.
func digest(r io.Reader, length int64) (sum string, lines int64, err error) {
	h := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(h, (*lineCounter)(&lines)), io.LimitReader(r, length), make([]byte, min(length, 64<<10)+1))
	if err == nil && n < length {
		err = io.ErrUnexpectedEOF
	}
	return hex.EncodeToString(h.Sum(nil)), lines, err
}

type lineCounter int64

func (c *lineCounter) Write(p []byte) (int, error) {
	*c += lineCounter(bytes.Count(p, []byte{'\n'}))
	return len(p), nil
}

// begin returns the entries that the chain needs before lines are appended: the first one, and those for lines that
// other programs appended. sizes are the lengths of the files. Files that are shorter than the chain says are returned
// in short.
func (t *chainTail) begin(d *disk, now protocol.Time, sizes map[string]int64, prior []string) (out []byte, adopted, short []string, err error) {
	part := func(file string, offset, length int64) (string, int64, error) {
		f, err := d.root.OpenFile(file, os.O_RDONLY, 0)
		if err != nil {
			return "", 0, failed("read", d.at(file), err)
		}
		defer f.Close()
		sum, lines, err := digest(io.NewSectionReader(f, offset, length), length)
		if err != nil {
			return "", 0, failed("read", d.at(file), err)
		}
		return sum, lines, nil
	}
	if t.seq == 0 {
		e := entry{Kind: entryGenesis, At: now, Prior: prior}
		for _, file := range chained() {
			s := span{File: path.Base(file), Length: sizes[file]}
			if s.Length > 0 {
				if s.SHA256, s.Lines, err = part(file, 0, s.Length); err != nil {
					return nil, nil, nil, err
				}
			}
			e.Files = append(e.Files, s)
			t.ends[file] = s.Length
		}
		out, err = t.add(out, e)
		t.mark = t.seq
		return out, nil, nil, err
	}
	for _, file := range chained() {
		size, end := sizes[file], t.ends[file]
		switch {
		case size < end:
			short = append(short, file)
			t.ends[file] = size
		case size > end:
			e := entry{Kind: entryAdopted, At: now, File: path.Base(file), Offset: end, Length: size - end}
			if e.SHA256, e.Lines, err = part(file, end, size-end); err != nil {
				return nil, nil, nil, err
			}
			if out, err = t.add(out, e); err != nil {
				return nil, nil, nil, err
			}
			t.ends[file] = size
			adopted = append(adopted, file)
		}
	}
	return out, adopted, short, nil
}
