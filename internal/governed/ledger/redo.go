package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// redoFile is the redo log. A transaction is flushed to it and then carried out without waiting for the disk: after the machine went
// down, the transactions of the log are carried out again. A line is the SHA-256 of a redoLine, a space, and the redoLine as JSON.
const redoFile = protocol.Dir + "/transactions/redo.log"

// With so many transactions or bytes in the log, all that they wrote is flushed and the log begins again.
const (
	redoCount = 64
	redoBytes = 1 << 20
)

type redoLine struct {
	Journal *journal `json:"journal,omitempty"`
	Mark    *mark    `json:"mark,omitempty"`
}

// mark follows a transaction that was carried out. It says what all transactions of the log have left, and is not flushed.
type mark struct {
	Format string            `json:"format"`
	Boot   string            `json:"boot"`           // where the system still has in memory what it did not write to the disk
	Count  int               `json:"count"`          // transactions in the log
	Ends   map[string]int64  `json:"ends,omitempty"` // where the appended lines end
	Files  map[string]string `json:"files,omitempty"`
	Dirs   []string          `json:"dirs,omitempty"` // in which names have changed
}

// redo is what the log says.
type redo struct {
	size    int64 // of its valid lines: the next one goes there
	bad     bool  // more follows
	mark    mark
	pending *journal   // was not carried out, or not all of it
	lost    []*journal // were carried out before the machine went down
}

// readRedo reads the log: only its last line where that says that there is nothing to do.
func readRedo(d *disk) (redo, error) {
	f, err := d.root.Open(redoFile)
	if errors.Is(err, fs.ErrNotExist) {
		return redo{}, nil
	}
	if err != nil {
		return redo{}, failed("open", d.at(redoFile), err)
	}
	defer f.Close()
	size, _, err := d.stat(redoFile)
	if err != nil {
		return redo{}, err
	}
	if size > maxJournalBytes {
		return redo{}, execution.Errorf(execution.CodeConfig, "%s has %d bytes, more than any transaction needs", d.at(redoFile), size).
			WithHint("save the file elsewhere, then: drawbar govern verify")
	}
	end, err := lastLine(f, size)
	if err != nil || end == 0 {
		return redo{bad: size > 0}, wrapRead(d, redoFile, err)
	}
	begin, err := lastLine(f, end-1)
	if err != nil {
		return redo{}, wrapRead(d, redoFile, err)
	}
	data := make([]byte, end-begin)
	if _, err := f.ReadAt(data, begin); err != nil {
		return redo{}, wrapRead(d, redoFile, err)
	}
	if last, err := decodeRedo(d, data); err == nil && last.Mark != nil && d.boot != "" && last.Mark.Boot == d.boot {
		return redo{size: end, bad: size > end, mark: *last.Mark}, nil
	}
	data = make([]byte, end)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, end), data); err != nil {
		return redo{}, wrapRead(d, redoFile, err)
	}
	r, err := parseRedo(d, data)
	r.bad = r.size < size
	return r, err
}

func wrapRead(d *disk, file string, err error) error {
	if err == nil {
		return nil
	}
	return failed("read", d.at(file), err)
}

// parseRedo reads a log up to its first bad line: what follows was never flushed.
func parseRedo(d *disk, data []byte) (redo, error) {
	var r redo
	for line := range bytes.Lines(data) {
		l, err := decodeRedo(d, line)
		var newer *newerJournal
		if errors.As(err, &newer) {
			return r, execution.Errorf(execution.CodeConfig, "%s was written by another version of drawbar: %w", d.at(redoFile), err).
				WithHint("run the command with that version to finish the interrupted transaction")
		}
		if err != nil {
			break
		}
		if r.pending != nil {
			r.lost = append(r.lost, r.pending)
		}
		if r.pending = l.Journal; l.Mark != nil {
			r.mark = *l.Mark
		}
		r.size += int64(len(line))
	}
	if d.boot != "" && r.mark.Boot == d.boot {
		r.lost = nil
	}
	return r, nil
}

func decodeRedo(d *disk, line []byte) (l redoLine, err error) {
	sum, data, _ := bytes.Cut(bytes.TrimSuffix(line, []byte{'\n'}), []byte{' '})
	if digest := sha256.Sum256(data); string(sum) != hex.EncodeToString(digest[:]) {
		return l, errors.New("the checksum does not match")
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return l, err
	}
	switch {
	case (l.Journal == nil) == (l.Mark == nil):
		return l, errors.New("it is neither a transaction nor a mark")
	case l.Mark != nil && l.Mark.Format != journalFormat:
		return l, &newerJournal{l.Mark.Format}
	case l.Journal != nil && l.Journal.Format != journalFormat:
		return l, &newerJournal{l.Journal.Format}
	case l.Journal != nil:
		return l, l.Journal.check(d)
	}
	return l, nil
}

// write adds a line. Flushing a journal is the point of no return: behind it, the transaction has happened.
func (r *redo) write(d *disk, l redoLine) (err error) {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	line := slices.Concat([]byte(hex.EncodeToString(sum[:])), []byte{' '}, data, []byte{'\n'})
	_, there, err := d.stat(redoFile)
	if err != nil {
		return err
	}
	f, err := d.root.OpenFile(redoFile, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return failed("write", d.at(redoFile), err)
	}
	defer f.Close()
	defer func() {
		if err != nil {
			_ = f.Truncate(r.size)
			err = failed("write", d.at(redoFile), err)
		}
	}()
	if err := f.Truncate(r.size); err != nil {
		return err
	}
	if _, err := f.WriteAt(line, r.size); err != nil {
		return err
	}
	d.crash("write " + redoFile)
	if l.Journal != nil {
		if err := d.sync(f); err != nil {
			return err
		}
		d.crash("sync " + redoFile)
		if !there {
			if err := d.syncDir(path.Dir(redoFile)); err != nil {
				return err
			}
		}
	}
	r.size += int64(len(line))
	return nil
}

// follows reports whether a transaction begins where those of the log ended: nobody else has written in between.
func (m *mark) follows(j *journal) bool {
	return !slices.ContainsFunc(j.Appends, func(s appendStep) bool { end, ok := m.Ends[s.File]; return ok && end != s.Offset }) &&
		!slices.ContainsFunc(j.Files, func(s fileStep) bool { sum, ok := m.Files[s.File]; return ok && sum != s.Before })
}

// add adds what a transaction leaves.
func (m *mark) add(j *journal) {
	if m.Count++; m.Ends == nil {
		m.Ends, m.Files = map[string]int64{}, map[string]string{}
	}
	changed := func(file string) {
		if dir := path.Dir(file); !slices.Contains(m.Dirs, dir) {
			m.Dirs = append(m.Dirs, dir)
		}
	}
	for _, s := range j.Appends {
		m.Ends[s.File] = s.Offset + int64(len(s.Content))
		changed(s.File)
	}
	for _, s := range j.Files {
		m.Files[s.File] = marker(s.Content)
		changed(s.File)
	}
	for _, s := range j.Moves {
		changed(s.From)
		changed(s.To)
	}
	for _, p := range j.Remove {
		changed(p)
	}
}

// done says in the log that its last transaction was carried out. A removal is flushed at once: what appears there later is not to be
// removed again.
func (l *Ledger) done(j *journal) error {
	r := &l.redo
	r.pending = nil
	r.mark.add(j)
	removes := len(j.Remove) > 0 || slices.ContainsFunc(j.Moves, func(s moveStep) bool { return s.From == flatStaged })
	if l.disk.boot == "" || len(r.lost) > 0 || removes || r.mark.Count >= redoCount || r.size >= redoBytes {
		return l.settle()
	}
	r.mark.Format, r.mark.Boot = journalFormat, l.disk.boot
	return r.write(l.disk, redoLine{Mark: &r.mark})
}

// settle flushes what the transactions of the log have written, and begins the log again.
func (l *Ledger) settle() error {
	m := l.redo.mark
	if err := l.disk.flush(slices.Sorted(maps.Keys(m.Ends)), slices.Sorted(maps.Keys(m.Files))); err != nil {
		return err
	}
	for _, dir := range m.Dirs {
		if err := l.disk.syncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := l.disk.shorten(redoFile, 0); err != nil {
		return err
	}
	l.redo = redo{}
	return nil
}

// missing gives the part of lost transactions that did not reach the disk; nil when all of it did. What another program has changed
// since stays as it is.
func missing(d *disk, lost []*journal) (*journal, error) {
	if len(lost) == 0 {
		return nil, nil
	}
	last := lost[len(lost)-1]
	j := &journal{TransactionID: last.TransactionID, Kind: last.Kind, TurnID: last.TurnID, PreparedAt: last.PreparedAt}
	var lines []appendStep
	var files []fileStep
	versions := map[string][][]byte{} // what a file was to hold, one after the other
	first := map[string]string{}
	for _, t := range lost {
		for _, s := range t.Appends {
			if i := slices.IndexFunc(lines, func(have appendStep) bool { return have.File == s.File }); i >= 0 {
				lines[i].Content = append(lines[i].Content, s.Content...)
			} else {
				lines = append(lines, appendStep{s.File, s.Offset, slices.Clone(s.Content)})
			}
		}
		for _, s := range t.Files {
			if i := slices.IndexFunc(files, func(have fileStep) bool { return have.File == s.File }); i >= 0 {
				files[i].Content = s.Content
			} else {
				files = append(files, s)
				first[s.File] = s.Before
			}
			versions[s.File] = append(versions[s.File], s.Content)
		}
		for _, s := range t.Moves {
			if _, err := d.root.Lstat(s.From); err == nil {
				j.Moves = append(j.Moves, s)
			}
		}
		for _, p := range t.Remove {
			if _, err := d.root.Lstat(p); err == nil {
				j.Remove = append(j.Remove, p)
			}
		}
	}
	for _, s := range lines {
		if absent, err := linesMissing(d, s); err != nil {
			return nil, err
		} else if absent {
			j.Appends = append(j.Appends, s)
		}
	}
	for _, s := range files {
		now, err := d.read(s.File)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(now, s.Content) && (marker(now) == first[s.File] || older(now, versions[s.File])) {
			s.Before = marker(now)
			j.Files = append(j.Files, s)
		}
	}
	if len(j.Appends)+len(j.Files)+len(j.Moves)+len(j.Remove) == 0 {
		return nil, nil
	}
	return j, nil
}

// linesMissing reports whether lines are not all there. In a file that is shorter than it was before them somebody has cut.
func linesMissing(d *disk, s appendStep) (bool, error) {
	size, there, err := d.stat(s.File)
	if err != nil || size < s.Offset {
		return false, err
	}
	if !there {
		return true, nil
	}
	f, err := d.root.Open(s.File)
	if err != nil {
		return false, failed("open", d.at(s.File), err)
	}
	defer f.Close()
	fits, err := lineBegins(f, size, s.Offset)
	if err != nil || !fits {
		return false, wrapRead(d, s.File, err)
	}
	same, err := equalAt(f, s.Offset, s.Content)
	return !same, wrapRead(d, s.File, err)
}

// older reports whether content is one of the versions, or what is left of one when the disk got only a part.
func older(content []byte, versions [][]byte) bool {
	return bytes.IndexByte(content, 0) >= 0 || slices.ContainsFunc(versions, func(v []byte) bool { return bytes.HasPrefix(v, content) })
}

// recoverRedo carries out what the log says that a crash has interrupted or undone.
func (l *Ledger) recoverRedo() (err error) {
	if l.redo, err = readRedo(l.disk); err != nil {
		return err
	}
	if l.redo.bad {
		if err := l.dropBad(); err != nil {
			return err
		}
	}
	j, err := missing(l.disk, l.redo.lost)
	if err != nil || j == nil {
		return err
	}
	if err := l.replay(j, true); err != nil {
		return fmt.Errorf("restore what %s had written before the machine went down: %w", about(j), err)
	}
	l.note(Note{What: "restored", Transaction: j.TransactionID, TurnID: j.TurnID,
		Message: fmt.Sprintf("the machine went down before all of the record was on the disk; the last %d transactions were carried out again", len(l.redo.lost))})
	return nil
}

// dropBad cuts off what follows the valid lines of the log, and saves it unless it is a line that was not written to its end.
func (l *Ledger) dropBad() error {
	data, err := l.disk.read(redoFile)
	if err != nil {
		return err
	}
	if rest := data[l.redo.size:]; bytes.IndexByte(rest, '\n') >= 0 {
		kept, err := l.keep(redoFile, l.redo.size, rest)
		if err != nil {
			return err
		}
		l.note(Note{What: "dropped", Path: redoFile, Kept: kept, Message: "the end of " + redoFile + " was not valid and was saved elsewhere"})
	}
	return l.disk.shorten(redoFile, l.redo.size)
}
