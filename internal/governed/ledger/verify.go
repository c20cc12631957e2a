package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Report is the result of Verify.
type Report struct {
	OK      bool         `json:"ok"`
	Begun   bool         `json:"begun"` // there is a chain: without one and without heads there is nothing to verify the record against
	Entries int64        `json:"entries"`
	Head    string       `json:"head,omitempty"`
	Files   []FileReport `json:"files"`
	Broken  *Break       `json:"broken,omitempty"`  // the first broken line
	Adopted []Adopted    `json:"adopted,omitempty"` // lines that another program appended
	Pending string       `json:"pending,omitempty"` // an interrupted transaction; the record is checked as recovery leaves it
	Heads   int          `json:"heads_checked"`
	// Prior is the number of heads of a lost chain that a person chose to continue without; Uncovered counts lines that
	// no transaction covers yet.
	Prior     int       `json:"heads_given_up,omitempty"`
	Uncovered []Adopted `json:"uncovered,omitempty"`
}

// FileReport is one file of the record.
type FileReport struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Lines int64  `json:"lines"` // covered by the chain
}

// Adopted counts lines that another program appended and a later transaction covered.
type Adopted struct {
	File  string `json:"file"`
	Line  int64  `json:"line"` // the first
	Lines int64  `json:"lines"`
}

// Break is the first place where the record differs from the chain.
type Break struct {
	// Kind is edited, cut, inserted, removed, missing (a file), torn, rewritten (the chain differs from the one that a
	// checkpoint names), or chain (the chain itself is damaged).
	Kind    string `json:"kind"`
	File    string `json:"file"`
	Line    int64  `json:"line"` // from 1; 0 when only the file is known
	Offset  int64  `json:"offset"`
	Seq     int64  `json:"seq"` // the entry of the chain
	Message string `json:"message"`
}

// verifier walks the chain and compares it with the files.
type verifier struct {
	beneath  beneath
	v        *View
	report   *Report
	files    map[string]*covered
	verified int64 // number of entries whose archives were verified before
	prev     string
	seq      int64
	state    string // digest of state.json, from the last entry about it
	whole    map[string]string
	places   map[string]int64 // the wanted heads, with the index of the entry where each was found; -1 before
}

// covered is a file and how much of it was covered so far.
type covered struct {
	r     io.ReadCloser
	pos   int64
	lines int64
}

// Verify checks the record against its hash chain and names the first broken line. heads are the chain heads that
// checkpoints name, newest first: a chain that was rewritten or truncated does not contain them. It takes no lock.
func Verify(ctx context.Context, root string, heads []string) (Report, error) {
	d, err := openDisk(root, nil)
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = d.root.Close() }()
	for try := 0; ; try++ {
		view, err := read(d, root)
		if err != nil {
			return Report{}, err
		}
		rep, err := verify(ctx, view, d, heads, 0)
		if err != nil || rep.OK || try > 20 {
			return rep, err
		}
		// The files covered as a whole are read after the view: a command that wrote in between is not a fault.
		if now, err := read(d, root); err == nil && now.stateMark == view.stateMark && now.Pending == view.Pending &&
			now.files[protocol.ChainFile].size == view.files[protocol.ChainFile].size {
			return rep, nil
		}
	}
}

// verify leaves out the archives of the first entries, which were verified before.
func verify(ctx context.Context, view *View, beneath beneath, heads []string, verified int64) (Report, error) {
	rep := Report{Pending: view.Pending, Heads: len(heads)}
	c := &verifier{v: view, beneath: beneath, report: &rep, verified: verified, files: map[string]*covered{}, whole: map[string]string{}, places: map[string]int64{}}
	defer c.close()
	err := c.walk(ctx, heads)
	for _, file := range chained() {
		f := FileReport{File: file, Bytes: view.length(file)}
		if k := c.files[file]; k != nil {
			f.Lines = k.lines
		}
		rep.Files = append(rep.Files, f)
	}
	rep.OK = err == nil && rep.Broken == nil
	return rep, err
}

func (c *verifier) close() {
	for _, f := range c.files {
		f.r.Close()
	}
}

func (c *verifier) file(name string) (*covered, error) {
	if f := c.files[name]; f != nil {
		return f, nil
	}
	r, err := c.v.reader(name)
	if err != nil {
		return nil, err
	}
	f := &covered{r: r}
	c.files[name] = f
	return f, nil
}

func (c *verifier) broken(b Break) { c.report.Broken = &b }

func (c *verifier) walk(ctx context.Context, heads []string) error {
	r, err := c.v.reader(protocol.ChainFile)
	if err != nil {
		return err
	}
	defer r.Close()
	places := c.places
	for _, h := range heads {
		places[h] = -1
	}
	trace := &headTrace{heads: heads, places: places}
	lines := newLineReader(r)
	for {
		rec, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return failed("read", c.v.path(protocol.ChainFile), err)
		}
		if rec.Line%1024 == 0 && ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx))
		}
		e, hash, fault := c.entry(rec)
		if fault != "" {
			kind := "chain"
			if !rec.Complete {
				kind = "torn"
			}
			c.broken(Break{Kind: kind, File: protocol.ChainFile, Line: int64(rec.Line), Offset: rec.Offset, Seq: c.seq, Message: fault})
			return nil
		}
		c.report.Begun = true
		c.report.Entries++
		c.report.Head, c.prev, c.seq = hash, hash, e.Seq+1
		if at, ok := places[hash]; ok && at < 0 {
			places[hash] = e.Seq
		}
		if err := c.check(e, lines); err != nil || c.report.Broken != nil {
			return err
		}
	}
	if c.report.Begun && c.cutChain() {
		return nil
	}
	if missing := trace.missing(); missing != "" {
		return c.rewritten(missing, trace.last())
	}
	if !c.report.Begun {
		return nil
	}
	return c.ends()
}

// entry decodes a line of the chain and checks that it follows the one before.
func (c *verifier) entry(rec record) (e entry, hash, fault string) {
	if !rec.Complete || rec.TooLong {
		return e, "", "the line is incomplete"
	}
	e, hash, err := openEntry(rec.Data)
	switch {
	case err != nil:
		return e, "", err.Error()
	case e.Seq != c.seq || e.Prev != c.prev:
		return e, "", fmt.Sprintf("entry %d does not follow the one before: entries were removed, inserted or rewritten here", e.Seq)
	case (e.Seq == 0) != (e.Kind == entryGenesis):
		return e, "", "the chain does not start at its first entry"
	}
	return e, hash, ""
}

// check compares an entry with the files that it covers.
func (c *verifier) check(e entry, chain *lineReader) error {
	switch e.Kind {
	case entryGenesis:
		for _, h := range e.Prior {
			if at, ok := c.places[h]; ok && at < 0 {
				c.places[h] = e.Seq
				c.report.Prior++
			}
		}
		for _, s := range e.Files {
			p := chainPath(s.File)
			if p == "" || s.Length == 0 {
				continue
			}
			if err := c.region(e, p, 0, s.Length, s.SHA256, nil); err != nil || c.report.Broken != nil {
				return err
			}
		}
		return nil
	case entryMark:
		return nil
	case entryState:
		c.state = e.SHA256
		return nil
	case entryArchive:
		if e.Seq < c.verified {
			return nil
		}
		return c.archive(e)
	}
	p := chainPath(e.File)
	switch {
	case e.Kind == entryAdopted && e.File == protocol.StateFile:
		c.report.Adopted = append(c.report.Adopted, Adopted{File: e.File})
		return nil
	case (e.Kind == entryFile || e.Kind == entryAdopted) && slices.Contains(whole(), e.File):
		if c.whole[e.File] = e.SHA256; e.Kind == entryAdopted {
			c.report.Adopted = append(c.report.Adopted, Adopted{File: e.File})
		}
		return nil
	case e.File == protocol.HookAuditFile:
		p = e.File
	}
	if p == "" {
		c.broken(Break{Kind: "chain", File: protocol.ChainFile, Line: e.Seq + 1, Seq: e.Seq, Message: fmt.Sprintf("entry %d covers %q, which is not a file of the record", e.Seq, e.File)})
		return nil
	}
	return c.region(e, p, e.Offset, e.Length, e.SHA256, chain)
}

// region checks one range of a file: one line or many.
func (c *verifier) region(e entry, file string, offset, length int64, want string, chain *lineReader) error {
	f, err := c.file(file)
	if err != nil {
		return err
	}
	b := Break{File: file, Line: f.lines + 1, Offset: offset, Seq: e.Seq}
	end := c.v.length(file)
	switch {
	case end == 0:
		b.Kind, b.Message = "missing", "the file is missing or empty"
	case offset < f.pos:
		b.Kind, b.Line, b.Message = "cut", f.lines, "the file was truncated before this transaction: lines are lost here"
	case offset > f.pos:
		b.Kind, b.Message = "chain", fmt.Sprintf("the chain does not cover bytes %d to %d", f.pos, offset)
	case offset+length > end:
		_, lines, err := digest(f.r, end-offset)
		if err != nil {
			return failed("read", c.v.path(file), err)
		}
		b.Kind, b.Message = "cut", fmt.Sprintf("the file ends at byte %d, and %d more were written", end, offset+length-end)
		if e.Kind != "" {
			b.Line += lines
			break
		}
		if end == offset {
			break
		}
		// A shorter line may have taken the place of a removed one.
		kind, message, err := c.what(file, offset, length, want, chain)
		if err != nil {
			return err
		}
		if kind == "removed" {
			b.Kind, b.Message = kind, message
		}
	default:
		got, lines, err := digest(f.r, length)
		if err != nil {
			return failed("read", c.v.path(file), err)
		}
		if got == want && (e.Kind != "" || lines == 1) {
			f.pos += length
			f.lines += lines
			if e.Kind == entryAdopted {
				c.report.Adopted = append(c.report.Adopted, Adopted{File: file, Line: f.lines - lines + 1, Lines: lines})
			}
			return nil
		}
		b.Kind, b.Message, err = c.what(file, offset, length, want, chain)
		if err != nil {
			return err
		}
		if e.Kind != "" {
			b.Message = fmt.Sprintf("one of lines %d to %d, which the chain covers together, was changed", f.lines+1, f.lines+max(lines, 1))
		}
	}
	c.broken(b)
	return nil
}

// classify how the line was changed
func (c *verifier) what(file string, offset, length int64, want string, chain *lineReader) (kind, message string, err error) {
	there, after, err := c.lineAt(file, offset, length)
	if err != nil {
		return "", "", err
	}
	if after == want {
		return "inserted", "this line was inserted; the recorded line follows it", nil
	}
	for chain != nil {
		rec, err := chain.next()
		if err != nil {
			break
		}
		next, _, err := openEntry(rec.Data)
		if err != nil {
			break
		}
		if chainPath(next.File) != file || next.Kind != "" {
			continue
		}
		if next.SHA256 == there {
			return "removed", fmt.Sprintf("the recorded line is missing: the line of entry %d is in its place", next.Seq), nil
		}
		break
	}
	return "edited", "the line was changed", nil
}

// lineAt returns the digests of the line at an offset, and of the range after it that has the wanted length.
func (c *verifier) lineAt(file string, offset, length int64) (there, after string, err error) {
	r, err := c.v.readerFrom(file, offset)
	if err != nil {
		return "", "", err
	}
	defer r.Close()
	lines := newLineReader(r)
	rec, err := lines.next()
	if err != nil {
		return "", "", failed("read", c.v.path(file), err)
	}
	h := sha256.New()
	h.Write(rec.Data)
	if rec.Complete {
		h.Write([]byte{'\n'})
	}
	there = hex.EncodeToString(h.Sum(nil))
	after, _, _ = digest(lines.r, length) // shorter: another digest
	return there, after, nil
}

// ends checks that the files end where the chain's coverage ends.
func (c *verifier) ends() error {
	for _, file := range chained() {
		f, err := c.file(file)
		if err != nil {
			return err
		}
		if c.v.length(file) == f.pos {
			continue
		}
		var last [1]byte
		behind := newLineReader(io.TeeReader(f.r, &lastByte{&last}))
		for {
			if _, err := behind.next(); err != nil {
				break
			}
		}
		b := Break{Kind: "inserted", File: file, Line: f.lines + 1, Offset: f.pos, Seq: c.seq,
			Message: "lines from here on were not written by drawbar; if agentxchain wrote them, drawbar govern step adopts them, and they stay marked"}
		if last[0] != '\n' && behind.line == 1 {
			b.Kind, b.Message = "torn", "the last line is incomplete; the next command saves it elsewhere"
		}
		c.broken(b)
		return nil
	}
	if c.sealed(); c.report.Broken != nil {
		return nil
	}
	return c.beside()
}

// sealed checks that the state is the one that the last transaction wrote.
func (c *verifier) sealed() {
	if c.state == "" || c.state == c.v.seenMark {
		return
	}
	b := Break{Kind: "edited", File: protocol.StateFile, Seq: c.seq - 1,
		Message: "it differs from what the last transaction wrote; the next command restores that version and saves this one elsewhere"}
	if c.v.seenMark == "" {
		b.Kind, b.Message = "missing", "the file is missing; the next command restores it"
	}
	c.broken(b)
}

// lastByte is a writer that remembers the last byte.
type lastByte struct{ b *[1]byte }

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.b[0] = p[len(p)-1]
	}
	return len(p), nil
}

// headTrace follows the heads that checkpoints name.
type headTrace struct {
	heads  []string // newest first
	places map[string]int64
}

// missing is the oldest head that is not in the chain.
func (t *headTrace) missing() string {
	for _, h := range slices.Backward(t.heads) {
		if t.places[h] < 0 {
			return h
		}
	}
	return ""
}

// last is the last entry vouched for by the heads before the missing one; -1 if there is none.
func (t *headTrace) last() int64 {
	last := int64(-1)
	for _, h := range slices.Backward(t.heads) {
		if t.places[h] < 0 {
			break
		}
		last = max(last, t.places[h])
	}
	return last
}

// rewritten names the first line that no checkpoint vouches for.
func (c *verifier) rewritten(head string, last int64) error {
	b := Break{Kind: "rewritten", File: protocol.ChainFile, Line: last + 2, Seq: last + 1,
		Message: fmt.Sprintf("the checkpoint with the chain head %.12s is not in the chain: it was rewritten, or lost its end", head)}
	if !c.report.Begun {
		b.Kind, b.Line, b.Message = "missing", 0, fmt.Sprintf("the chain is missing, although a checkpoint names its head %.12s", head)
		c.broken(b)
		return nil
	}
	r, err := c.v.reader(protocol.ChainFile)
	if err != nil {
		return err
	}
	defer r.Close()
	lines := newLineReader(r)
	count := map[string]int64{}
	for {
		rec, err := lines.next()
		if err != nil {
			break
		}
		e, _, err := openEntry(bytes.Clone(rec.Data))
		if err != nil {
			break
		}
		for _, s := range e.Files {
			if e.Kind == entryGenesis {
				count[s.File] = s.Lines
			}
		}
		if e.Kind != "" {
			if e.Kind == entryAdopted {
				count[e.File] += e.Lines
			}
			continue
		}
		count[e.File]++
		if e.Seq > last {
			b.Message += fmt.Sprintf("; the first unverified line is %s line %d", path.Join(protocol.Dir, e.File), count[e.File])
			break
		}
	}
	c.broken(b)
	return nil
}
