package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// repair repairs the record of a project after any crash, and reads it.
func (l *Ledger) repair(ctx context.Context) error {
	leave, err := l.lock.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := l.folders(); err != nil {
		return err
	}
	if err := l.disk.root.RemoveAll(tempDir); err != nil {
		return failed("clear", l.disk.at(tempDir), err)
	}
	if err := l.finish(ctx); err != nil {
		return err
	}
	l.staleErr = nil // returned as a note
	for _, file := range append(chained(), protocol.ChainFile) {
		if err := l.mendTail(file); err != nil {
			return err
		}
	}
	if l.view, err = read(l.disk, l.root); err != nil {
		if l.view, err = l.unreadable(err); err != nil {
			return err
		}
	}
	if err := l.checkState(); err != nil {
		return err
	}
	if err := l.displaceForeign(); err != nil {
		return err
	}
	return l.replayOriginals(ctx)
}

// folders creates the folders that journals need, so that their names are durable from the first transaction on.
func (l *Ledger) folders() error {
	if _, err := l.disk.root.Lstat(protocol.TransactionsDir); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return failed("look at", l.disk.at(protocol.TransactionsDir), err)
	}
	if err := l.disk.makeDir(protocol.TransactionsDir); err != nil {
		return err
	}
	for dir := path.Dir(protocol.TransactionsDir); ; dir = path.Dir(dir) {
		if err := l.disk.syncDir(dir); err != nil || dir == "." {
			return err
		}
	}
}

// finish carries out what the log says that a crash has interrupted. Journals of the original that cannot be read are kept aside.
func (l *Ledger) finish(ctx context.Context) error {
	names, err := journalNames(l.disk)
	if err != nil {
		return err
	}
	all, err := journals(l.disk, names)
	if err != nil {
		return err
	}
	for _, f := range all {
		var newer *newerJournal
		switch {
		case errors.As(f.err, &newer):
			return execution.Errorf(execution.CodeConfig, "%s was left by another version of drawbar: %w", l.disk.at(f.file), f.err).
				WithHint("run the command with that version to finish the interrupted transaction")
		case f.err != nil:
			if err := l.setAside(f); err != nil {
				return err
			}
		}
	}
	if err := l.recoverRedo(); err != nil {
		return err
	}
	if err := l.finishPending(ctx); err != nil || len(l.redo.lost) == 0 {
		return err
	}
	return l.emptyLog()
}

// finishPending carries out the transaction that the log ends with, if that is not done.
func (l *Ledger) finishPending(ctx context.Context) error {
	j := l.redo.pending
	if j == nil {
		return nil
	}
	l.tail = nil
	err := l.apply(ctx, j, true)
	if errors.Is(err, ErrCheckpointStale) {
		l.staleErr, err = err, nil
	}
	if err != nil {
		return fmt.Errorf("finish the interrupted transaction %s (%s): %w", j.TransactionID, about(j), err)
	}
	l.note(Note{What: "finished", Transaction: j.TransactionID, TurnID: j.TurnID,
		Message: fmt.Sprintf("finished %s, which was interrupted at %s", about(j), j.PreparedAt)})
	l.view, err = read(l.disk, l.root)
	return err
}

// setAside moves a journal that cannot be read where it is kept. The original does not flush its journals.
func (l *Ledger) setAside(f found) error {
	kept := keptDir + "/" + path.Base(f.file)
	if err := l.move(f.file, kept); err != nil {
		return err
	}
	l.note(Note{What: "dropped", Path: f.file, Kept: kept, Message: fmt.Sprintf("%s is not a valid journal (%s) and was saved elsewhere", f.file, f.err)})
	return nil
}

// mendTail completes a file whose last line has no newline. A complete object gets its newline; anything else is set
// aside.
func (l *Ledger) mendTail(file string) error {
	d := l.disk
	size, there, err := d.stat(file)
	if err != nil || !there || size == 0 {
		return err
	}
	f, err := d.root.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return failed("open", d.at(file), err)
	}
	defer f.Close()
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil {
		return failed("read", d.at(file), err)
	}
	if last[0] == '\n' {
		return nil
	}
	begin, err := lastLine(f, size)
	if err != nil {
		return failed("read", d.at(file), err)
	}
	if size-begin > maxLine {
		return execution.Errorf(execution.CodeParse, "the last line of %s is incomplete and has %d bytes", d.at(file), size-begin).
			WithHint("truncate the file to %d bytes and save the rest elsewhere", begin)
	}
	torn := make([]byte, size-begin)
	if _, err := io.ReadFull(io.NewSectionReader(f, begin, size-begin), torn); err != nil {
		return failed("read", d.at(file), err)
	}
	if json.Valid(torn) && protocol.Kind(torn) == "object" {
		if _, err := f.WriteAt([]byte{'\n'}, size); err != nil {
			return failed("append to", d.at(file), err)
		}
		l.note(Note{What: "completed", Path: file, Message: "the last line of " + file + " had no newline; it was added"})
	} else {
		kept, err := l.keep(file, begin, torn)
		if err != nil {
			return err
		}
		if err := f.Truncate(begin); err != nil {
			return failed("shorten", d.at(file), err)
		}
		l.note(Note{What: "torn", Path: file, Kept: kept, Message: fmt.Sprintf("the last line of %s was incomplete (%d bytes); it was moved to %s", file, len(torn), kept)})
	}
	d.crash("mend " + file)
	if err := d.sync(f); err != nil {
		return failed("flush", d.at(file), err)
	}
	return nil
}

// lastLine finds the offset of the last line of a file.
func lastLine(f io.ReaderAt, size int64) (int64, error) {
	block := int64(1 << 10) // most lines are short
	for at := size; at > 0; block = min(4*block, 64<<10) {
		n := min(at, block)
		buf := make([]byte, n)
		if _, err := f.ReadAt(buf, at-n); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		at -= n
		if i := bytes.LastIndexByte(buf, '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
	}
	return 0, nil
}
