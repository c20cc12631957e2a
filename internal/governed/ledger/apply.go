package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// apply carries out the transaction that the log ends with, and says so there. A checkpoint that is stale is an error of its own,
// after which everything else is done.
//
// again says that an earlier attempt may have begun.
func (l *Ledger) apply(ctx context.Context, j *journal, again bool) error {
	if err := l.replay(j, again); err != nil {
		return err
	}
	stale, err := l.applyCheckpoint(ctx, j)
	if err != nil {
		return err
	}
	if err := l.done(j); err != nil {
		return err
	}
	return stale
}

// replay does what a journal says, every step of it that has not been done. Doing it twice, or after any part of it, comes to the
// same.
func (l *Ledger) replay(j *journal, again bool) error {
	for _, step := range j.Appends {
		if err := l.append(j, step, again); err != nil {
			return err
		}
	}
	type replacement struct{ temp, file string }
	var ready []replacement
	for _, step := range j.Files {
		if step.Gone {
			if err := l.drop(j, step); err != nil {
				return err
			}
			continue
		}
		temp, err := l.replacement(j, step)
		if err != nil {
			return err
		}
		if temp != "" {
			ready = append(ready, replacement{temp, step.File})
		}
	}
	for _, r := range ready {
		if err := l.disk.rename(r.temp, r.file); err != nil {
			return err
		}
	}
	for _, m := range j.Moves {
		if err := l.move(m.From, m.To); err != nil {
			return err
		}
	}
	for _, p := range j.Remove {
		if err := l.disk.root.RemoveAll(p); err != nil {
			return failed("remove", l.disk.at(p), err)
		}
		l.disk.crash("remove " + p)
	}
	return nil
}

func (l *Ledger) applyCheckpoint(ctx context.Context, j *journal) (stale, err error) {
	if j.Checkpoint == nil {
		return nil, nil
	}
	if l.opts.ApplyCheckpoint == nil {
		return nil, execution.Errorf(execution.CodeInternal, "transaction %s has a checkpoint, but no ApplyCheckpoint is set", j.TransactionID)
	}
	err = l.opts.ApplyCheckpoint(ctx, *j.Checkpoint)
	if errors.Is(err, ErrCheckpointStale) {
		l.note(Note{What: "stale", Transaction: j.TransactionID, TurnID: j.TurnID,
			Message: fmt.Sprintf("the branch has moved, so it does not contain checkpoint %s of %s; run: drawbar govern checkpoint", j.Checkpoint.Commit, about(j))})
		return execution.Errorf(execution.CodeInvalidStateTransition, "move the branch to the checkpoint %s: %w", j.Checkpoint.Commit, err).
			WithHint("drawbar govern checkpoint"), nil
	}
	if err != nil {
		return nil, fmt.Errorf("move the ref of the checkpoint %s: %w", j.Checkpoint.Commit, err)
	}
	l.disk.crash("checkpoint")
	return nil, nil
}

// about names the subject of a transaction in messages.
func about(j *journal) string {
	if j.TurnID != "" {
		return fmt.Sprintf("%s of turn %s", j.Kind, j.TurnID)
	}
	return j.Kind
}

// append brings content to its offset. What another program wrote there since the crash moves behind it.
func (l *Ledger) append(j *journal, step appendStep, again bool) error {
	d := l.disk
	size, _, err := d.stat(step.File)
	if err != nil {
		return err
	}
	f, err := d.root.OpenFile(step.File, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return failed("open", d.at(step.File), err)
	}
	defer f.Close()
	offset := step.Offset
	fits, err := lineBegins(f, size, offset)
	if err != nil {
		return failed("read", d.at(step.File), err)
	}
	if fits && size > offset {
		if same, err := equalAt(f, offset, step.Content); err != nil || same {
			return err
		}
	}
	if again {
		// Lines before it may have been removed, so that it is elsewhere in the file.
		if there, err := contains(f, size, step.Content); err != nil || there {
			return err
		}
	}
	if !fits {
		// The file is shorter than it was: the lines belong at its end.
		l.note(Note{What: "shortened", Path: step.File, Transaction: j.TransactionID,
			Message: fmt.Sprintf("%s lost lines while a transaction was interrupted; drawbar govern verify shows the first one", step.File)})
		if err := l.mendTail(step.File); err != nil {
			return err
		}
		if size, _, err = d.stat(step.File); err != nil {
			return err
		}
		offset = size
	}
	content, err := l.displace(f, j, step, offset, size)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(content, offset); err != nil {
		return failed("append to", d.at(step.File), err)
	}
	d.crash("append " + step.File)
	if end := offset + int64(len(content)); end < size {
		if err := f.Truncate(end); err != nil {
			return failed("shorten", d.at(step.File), err)
		}
	}
	return nil
}

// displace returns what belongs at the offset of a file: the content of the step, and the whole lines that another program
// wrote there. What it wrote is also saved elsewhere.
func (l *Ledger) displace(f io.ReaderAt, j *journal, step appendStep, offset, size int64) ([]byte, error) {
	path := l.disk.at(step.File)
	if size-offset > maxLine {
		return nil, execution.Errorf(execution.CodeConfig, "%s has grown by %d bytes since the transaction %s was interrupted", path, size-offset, j.TransactionID).
			WithHint("truncate the file to %d bytes, save the rest elsewhere, and run the command again", offset)
	}
	there := make([]byte, size-offset)
	if _, err := io.ReadFull(io.NewSectionReader(f, offset, size-offset), there); err != nil {
		return nil, failed("read", path, err)
	}
	own := commonPrefix(there, step.Content) // a part of it was written
	foreign := there[bytes.LastIndexByte(there[:own], '\n')+1:]
	if !wholeLines(foreign) {
		foreign = there[own:]
	}
	if len(foreign) == 0 {
		return step.Content, nil
	}
	kept, err := l.keep(step.File, offset, foreign)
	if err != nil {
		return nil, err
	}
	content := step.Content
	message := "the file ended in an incomplete line where an interrupted transaction was to write; it was saved elsewhere"
	if wholeLines(foreign) {
		content = append(slices.Clone(content), foreign...)
		message = "lines that another program wrote during an interrupted transaction now follow it"
	}
	l.note(Note{What: "displaced", Path: step.File, Kept: kept, Transaction: j.TransactionID, Message: step.File + ": " + message})
	return content, nil
}

// lineBegins reports whether a line starts at an offset. The end of the file counts.
func lineBegins(f io.ReaderAt, size, offset int64) (bool, error) {
	if offset == 0 || size < offset {
		return offset == 0, nil
	}
	var b [1]byte
	_, err := f.ReadAt(b[:], offset-1)
	return b[0] == '\n', err
}

// contains reports whether a file contains content as complete lines.
func contains(f io.ReaderAt, size int64, content []byte) (bool, error) {
	first := content[:bytes.IndexByte(content, '\n')+1]
	lines := newLineReader(io.NewSectionReader(f, 0, size))
	for {
		rec, err := lines.next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if len(first) > 0 && bytes.Equal(rec.Data, first[:len(first)-1]) {
			if same, err := equalAt(f, rec.Offset, content); err != nil || same {
				return same, err
			}
		}
	}
}

// wholeLines reports whether the bytes look like complete lines that hold JSON objects: it checks their first and last
// bytes only.
func wholeLines(b []byte) bool {
	if len(b) == 0 || b[len(b)-1] != '\n' || bytes.IndexByte(b, 0) >= 0 {
		return false
	}
	for line := range bytes.Lines(b) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && (line[0] != '{' || line[len(line)-1] != '}') {
			return false
		}
	}
	return true
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// equalAt reports whether a file has content at an offset.
func equalAt(f io.ReaderAt, at int64, content []byte) (bool, error) {
	r := io.NewSectionReader(f, at, int64(len(content)))
	buf := make([]byte, min(len(content), 64<<10))
	for rest := content; len(rest) > 0; {
		n, err := io.ReadFull(r, buf[:min(len(buf), len(rest))])
		if !bytes.Equal(buf[:n], rest[:n]) {
			return false, nil
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		rest = rest[n:]
	}
	return true, nil
}

// replacement writes the new content of a file under another name; empty when the file has it already.
func (l *Ledger) replacement(j *journal, step fileStep) (temp string, err error) {
	now, err := l.disk.read(step.File)
	if err != nil {
		return "", err
	}
	if now != nil && bytes.Equal(now, step.Content) {
		return "", nil
	}
	if err := l.keepOther(j, step, now); err != nil {
		return "", err
	}
	if dir := path.Dir(step.File); dir != "." {
		if err := l.disk.makeDir(dir); err != nil {
			return "", err
		}
	}
	temp, f, err := l.disk.temp(step.File, step.Content)
	if err != nil {
		return "", err
	}
	return temp, f.Close()
}

// keepOther keeps the content of a file that another program has written since the transaction was prepared.
func (l *Ledger) keepOther(j *journal, step fileStep, now []byte) error {
	if now == nil || marker(now) == step.Before {
		return nil
	}
	kept, err := l.keep(step.File, 0, now)
	if err != nil {
		return err
	}
	l.note(Note{What: "displaced", Path: step.File, Kept: kept, Transaction: j.TransactionID,
		Message: fmt.Sprintf("%s was changed by another program after %s was interrupted; the transaction was completed, and the other version is kept", step.File, about(j))})
	return nil
}

// drop deletes a file. What is not a file any more stays.
func (l *Ledger) drop(j *journal, step fileStep) error {
	info, err := l.disk.root.Lstat(step.File)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	now, err := l.disk.read(step.File)
	if err != nil {
		return err
	}
	if err := l.keepOther(j, step, now); err != nil {
		return err
	}
	if err := l.disk.root.Remove(step.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed("delete", l.disk.at(step.File), err)
	}
	l.disk.crash("delete " + step.File)
	return nil
}

// keep saves displaced bytes under a name derived from their content, and returns that path.
func (l *Ledger) keep(file string, offset int64, content []byte) (string, error) {
	name := fmt.Sprintf("%s/%s.%d.%s", keptDir, path.Base(file), offset, marker(content)[:16])
	if old, err := l.disk.read(name); err == nil && bytes.Equal(old, content) {
		return name, nil
	}
	if err := l.disk.makeDir(keptDir); err != nil {
		return "", err
	}
	return name, l.disk.replace(name, content)
}

// keptDir holds displaced bytes: incomplete lines, replaced files, unreadable journals.
const keptDir = protocol.Dir + "/archive/kept"

// move moves a file or folder. Entries are merged into an existing folder; next to an existing file, the new one gets a
// numbered name.
func (l *Ledger) move(from, to string) error {
	root := l.disk.root
	info, err := root.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return failed("look at", l.disk.at(from), err)
	}
	there, err := root.Lstat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := l.disk.makeDir(path.Dir(to)); err != nil {
			return err
		}
		return l.disk.rename(from, to)
	case err != nil:
		return failed("look at", l.disk.at(to), err)
	case info.IsDir() && there.IsDir():
		names, err := l.names(from)
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := l.move(from+"/"+n, to+"/"+n); err != nil {
				return err
			}
		}
		if err := root.Remove(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed("remove", l.disk.at(from), err)
		}
		l.disk.crash("remove " + from)
		return nil
	}
	for n := 2; ; n++ {
		next := fmt.Sprintf("%s.%d", to, n)
		if _, err := root.Lstat(next); errors.Is(err, fs.ErrNotExist) {
			return l.disk.rename(from, next)
		}
	}
}

func (l *Ledger) names(dir string) ([]string, error) {
	f, err := l.disk.root.Open(dir)
	if err != nil {
		return nil, failed("read", l.disk.at(dir), err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, failed("read", l.disk.at(dir), err)
	}
	slices.Sort(names)
	return slices.DeleteFunc(names, func(n string) bool { return strings.ContainsAny(n, `/\`) }), nil
}
