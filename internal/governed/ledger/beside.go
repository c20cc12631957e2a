package ledger

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

// coverBeside adds entries for files other than the lines of the record: the audit of hooks, files that a transaction
// replaces, and files that it archives. Changes that another program made to them are marked as adopted.
func (l *Ledger) coverBeside(b *batch, tx *Tx, session []byte) error {
	if err := l.coverAudit(b.tail, &b.chain); err != nil {
		return err
	}
	if now := l.view.stateMark; b.tail.state != "" && b.tail.state != now {
		var err error
		if b.chain, err = b.tail.add(b.chain, entry{Kind: entryAdopted, File: protocol.StateFile, SHA256: now}); err != nil {
			return err
		}
	}
	for _, file := range whole() {
		content, writes := tx.Files[file]
		if file == protocol.SessionFile {
			content, writes = session, session != nil
		}
		was, known := b.tail.whole[file]
		if !writes && !known {
			continue
		}
		old, err := l.disk.read(file)
		if err != nil {
			return err
		}
		if now := marker(old); known && was != now {
			if err := l.disk.flush([]string{file}); err != nil {
				return err
			}
			if b.chain, err = b.tail.add(b.chain, entry{Kind: entryAdopted, File: file, Length: int64(len(old)), SHA256: now}); err != nil {
				return err
			}
			b.tail.whole[file] = now
		}
		if !writes {
			continue
		}
		sum := marker(content)
		if b.chain, err = b.tail.add(b.chain, entry{Kind: entryFile, File: file, Length: int64(len(content)), SHA256: sum}); err != nil {
			return err
		}
		b.tail.whole[file] = sum
	}
	for _, turn := range tx.Archive {
		if err := archivable(turn); err != nil {
			return err
		}
		files, err := l.archived(turn, tx)
		if err != nil {
			return err
		}
		if b.chain, err = b.tail.add(b.chain, entry{Kind: entryArchive, File: protocol.ArchiveDir + "/" + turn, Files: files}); err != nil {
			return err
		}
	}
	return nil
}

// coverAudit covers what was appended to the audit of hooks.
func (l *Ledger) coverAudit(t *chainTail, chain *[]byte) error {
	const file = protocol.HookAuditFile
	size, _, err := l.disk.stat(file)
	if err != nil || size == t.ends[file] {
		return err
	}
	if err := l.disk.flush([]string{file}); err != nil {
		return err
	}
	e := entry{Kind: entryFile, File: file, Offset: t.ends[file], Length: size - t.ends[file]}
	switch {
	case size < e.Offset:
		l.note(Note{What: "shortened", Path: file, Message: file + " is shorter than before; drawbar govern verify shows where"})
		e.Offset, e.Length = 0, size // verify finds the cut
	case l.auditForeign > e.Offset:
		// Lines up to auditForeign were there before this command began.
		add := e
		add.Kind, add.Length = entryAdopted, min(l.auditForeign, size)-e.Offset
		if err := l.coverStretch(t, chain, add); err != nil {
			return err
		}
		if e.Offset, e.Length = e.Offset+add.Length, e.Length-add.Length; e.Length == 0 {
			return nil
		}
	}
	return l.coverStretch(t, chain, e)
}

func (l *Ledger) coverStretch(t *chainTail, chain *[]byte, e entry) error {
	f, err := l.disk.root.Open(e.File)
	if errors.Is(err, fs.ErrNotExist) && e.Length == 0 {
		t.ends[e.File] = 0
		*chain, err = t.add(*chain, e)
		return err
	}
	if err != nil {
		return failed("read", l.disk.at(e.File), err)
	}
	defer f.Close()
	if e.SHA256, e.Lines, err = digest(io.NewSectionReader(f, e.Offset, e.Length), e.Length); err != nil {
		return failed("read", l.disk.at(e.File), err)
	}
	*chain, err = t.add(*chain, e)
	t.ends[e.File] = e.Offset + e.Length
	return err
}

// closeAudit covers hook audits written after this command's last transaction. Without it, the next command could not
// distinguish them from lines that another program added.
func (l *Ledger) closeAudit() error {
	size, there, err := l.disk.stat(protocol.HookAuditFile)
	if err != nil || !there {
		return err
	}
	tail, err := l.end()
	if err != nil || tail.seq == 0 || size == tail.ends[protocol.HookAuditFile] || size == l.auditForeign {
		return err
	}
	var chain []byte
	if err := l.coverAudit(tail.clone(), &chain); err != nil {
		return err
	}
	at, _, err := l.disk.stat(protocol.ChainFile)
	if err != nil {
		return err
	}
	j := &journal{Format: journalFormat, TransactionID: journalPrefix + randomHex(), Kind: "audit", Status: journalStatus,
		PreparedAt: protocol.At(time.Now()), Appends: []appendStep{{File: protocol.ChainFile, Offset: at, Content: chain}}}
	return l.carryOut(context.Background(), j)
}

// archived returns the files of a turn with their paths in the archive, sorted.
func (l *Ledger) archived(turn string, tx *Tx) ([]span, error) {
	var list []span
	add := func(from, to string) error {
		if slices.ContainsFunc(tx.Remove, func(gone string) bool { return from == gone || strings.HasPrefix(from, gone+"/") }) {
			return nil
		}
		if content, ok := tx.Files[from]; ok {
			list = append(list, span{File: to, Length: int64(len(content)), SHA256: marker(content)})
			return nil
		}
		s, err := l.disk.span(from, to)
		if err == nil {
			list = append(list, s)
		}
		return err
	}
	for dir, prefix := range map[string]string{protocol.BundleDir(turn): "", path.Dir(protocol.StagedFile(turn)): "staging/"} {
		names, err := l.disk.under(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if err := add(dir+"/"+name, prefix+name); err != nil {
				return nil, err
			}
		}
	}
	if l.flatStagedOf(turn) {
		if err := add(flatStaged, "staging/turn-result.flat.json"); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b span) int { return strings.Compare(a.File, b.File) })
	return list, nil
}

// under returns the regular files below a folder, with paths relative to it. The folder may be missing.
func (d *disk) under(dir string) (names []string, err error) {
	err = fs.WalkDir(d.root.FS(), dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			names = append(names, strings.TrimPrefix(name, dir+"/"))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, failed("read", d.at(dir), err)
	}
	return names, nil
}

func (d *disk) span(from, name string) (span, error) {
	f, err := d.root.Open(from)
	if err != nil {
		return span{}, failed("read", d.at(from), err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return span{}, failed("read", d.at(from), err)
	}
	s := span{File: name, Length: info.Size()}
	if s.SHA256, _, err = digest(f, s.Length); err != nil {
		return span{}, failed("read", d.at(from), err)
	}
	return s, nil
}
