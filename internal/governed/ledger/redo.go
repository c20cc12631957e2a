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

// redoFile is the redo log. A transaction is flushed to it and then carried out without waiting for the disk. If the machine goes down,
// the transactions of the log are carried out again. A line contains the SHA-256 of a redoLine, a space, and the redoLine as JSON.
const redoFile = protocol.Dir + "/transactions/redo.log"

// At this many transactions or bytes, everything they wrote is flushed and the log starts over.
const (
	redoCount = 64
	redoBytes = 1 << 20
)

type redoLine struct {
	Journal *journal `json:"journal,omitempty"`
	Mark    *mark    `json:"mark,omitempty"`
}

// mark follows a transaction that was carried out and describes what all transactions of the log have written. It is not flushed.
type mark struct {
	Format string            `json:"format"`
	Boot   string            `json:"boot"`            // until the next boot, the system has everything in memory or on the disk
	Count  int               `json:"count"`           // transactions in the log
	Ends   map[string]int64  `json:"ends,omitempty"`  // offsets at which the appended lines end
	Files  map[string]string `json:"files,omitempty"` // digests of the replaced files
	Dirs   []string          `json:"dirs,omitempty"`  // directories with changed names
}

// redo is the parsed log.
type redo struct {
	size    int64 // length of the valid lines, where the next one is written
	found   int64 // length of the file when it was read: beyond size, a line that is being written, or was never finished
	mark    mark
	pending *journal   // the last transaction, if it was not carried out completely
	lost    []*journal // transactions carried out before the machine went down
}

// readRedo reads the log. If the last line shows that nothing is to be recovered, it reads nothing else.
func readRedo(d *disk) (redo, error) {
	size, there, err := d.stat(redoFile) // before it is opened: opening a pipe waits
	if err != nil || !there {
		return redo{}, err
	}
	f, err := d.root.Open(redoFile)
	if err != nil {
		return redo{}, failed("open", d.at(redoFile), err)
	}
	defer f.Close()
	if size > maxJournalBytes {
		return redo{}, execution.Errorf(execution.CodeConfig, "%s has %d bytes, more than any transaction needs", d.at(redoFile), size).
			WithHint("save the file elsewhere, then: drawbar govern verify")
	}
	end, err := lastLine(f, size)
	if err != nil || end == 0 {
		return redo{found: size}, wrapRead(d, redoFile, err)
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
		return redo{size: end, found: size, mark: *last.Mark}, nil
	}
	data = make([]byte, end)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, end), data); err != nil {
		return redo{}, wrapRead(d, redoFile, err)
	}
	r, err := parseRedo(d, data)
	r.found = size
	return r, err
}

func wrapRead(d *disk, file string, err error) error {
	if err == nil {
		return nil
	}
	return failed("read", d.at(file), err)
}

// parseRedo parses a log up to its first invalid line. What follows was never flushed.
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

// write appends a line. Once a journal is flushed, its transaction has happened.
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

// follows reports whether a transaction starts where those of the log ended, so that no other program has written in between.
func (m *mark) follows(j *journal) bool {
	return !slices.ContainsFunc(j.Appends, func(s appendStep) bool { end, ok := m.Ends[s.File]; return ok && end != s.Offset }) &&
		!slices.ContainsFunc(j.Files, func(s fileStep) bool { sum, ok := m.Files[s.File]; return ok && sum != s.Before })
}

// add records what a transaction writes.
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

// done marks the last transaction of the log as carried out. Removals are flushed at once, because repeating one could remove a newer
// file of the same name; so are files of the user, who may have put back the older content on purpose.
func (l *Ledger) done(j *journal) error {
	r := &l.redo
	r.pending = nil
	r.mark.add(j)
	ours := func(file string) bool { return protocol.Operational(file) || file == stateCopy }
	removes := len(j.Remove) > 0 || slices.ContainsFunc(j.Files, func(s fileStep) bool { return !ours(s.File) }) || slices.ContainsFunc(j.Moves, func(s moveStep) bool { return s.From == flatStaged })
	if l.disk.boot == "" || len(r.lost) > 0 || removes || r.mark.Count >= redoCount || r.size >= redoBytes {
		return l.emptyLog()
	}
	r.mark.Format, r.mark.Boot = journalFormat, l.disk.boot
	return r.write(l.disk, redoLine{Mark: &r.mark})
}

// emptyLog flushes everything the transactions of the log have written, and empties the log.
func (l *Ledger) emptyLog() error {
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

// missing returns the part of lost transactions that did not reach the disk, or nil if all of it did. Files that another program has
// changed since are left alone.
func missing(d *disk, lost []*journal) (*journal, error) {
	if len(lost) == 0 {
		return nil, nil
	}
	last := lost[len(lost)-1]
	j := &journal{TransactionID: last.TransactionID, Kind: last.Kind, TurnID: last.TurnID, PreparedAt: last.PreparedAt}
	var lines []appendStep
	var files []fileStep
	versions := map[string][][]byte{} // successive contents of each file
	first := map[string]string{}      // digest of each file before them
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

// linesMissing reports whether a file lacks some of the lines. A file that is shorter than it was before them was truncated by
// somebody else, and is left alone.
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

// older reports whether content is one of the versions, or what a failure left of one: a part of it, or zeros.
func older(content []byte, versions [][]byte) bool {
	return bytes.IndexByte(content, 0) >= 0 || slices.ContainsFunc(versions, func(v []byte) bool { return bytes.HasPrefix(v, content) })
}

// recoverRedo reads the log and restores what the machine lost when it went down. A pending transaction is left to finishPending.
func (l *Ledger) recoverRedo() (err error) {
	if l.redo, err = readRedo(l.disk); err != nil {
		return err
	}
	if l.redo.found > l.redo.size {
		if err := l.dropBad(); err != nil {
			return err
		}
	}
	j, err := missing(l.disk, l.redo.lost)
	if err != nil || j == nil {
		return err
	}
	if err := l.replay(j, true); err != nil {
		return fmt.Errorf("restore what was lost when the machine went down (%s): %w", about(j), err)
	}
	l.note(Note{What: "restored", Transaction: j.TransactionID, TurnID: j.TurnID,
		Message: fmt.Sprintf("the machine went down before the record was completely on disk; the last %d transactions were carried out again", len(l.redo.lost))})
	return nil
}

// dropBad removes what follows the valid lines of the log. It is saved first unless it is an incomplete line.
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
