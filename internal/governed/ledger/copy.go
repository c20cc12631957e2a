package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// What a copy of the record consists of: these files, and everything in these folders. Locks, transactions, worktrees and displaced
// bytes belong to one machine, and prompts to the project's own files.
func copiedFiles() []string {
	return append(chained(), protocol.ChainFile, protocol.SessionFile, protocol.HookAuditFile, protocol.AnnotationsFile, protocol.NoticeAuditFile,
		protocol.SchedulesFile, protocol.TalkFile, protocol.HumanTasksFile, stateCopy, protocol.StateFile)
}

func copiedFolders() []string {
	return []string{path.Dir(protocol.DispatchDir), protocol.StagingDir, protocol.ArchiveDir, protocol.ReviewsDir, protocol.ProposedDir, protocol.IntakeDir}
}

// Copied reports whether a file is part of copies of the record.
func Copied(name string) bool {
	if path.Clean(name) != name || strings.Contains(name, `\`) {
		return false
	}
	return slices.Contains(copiedFiles(), name) || slices.ContainsFunc(copiedFolders(), func(dir string) bool { return strings.HasPrefix(name, dir+"/") })
}

// File is a file of the record.
type File struct {
	Name string
	Info fs.FileInfo
	Read func() ([]byte, error)
}

// Files calls visit for every file of a copy of the record, in order, while no command changes it.
func Files(ctx context.Context, root string, visit func(File) error) error {
	d, err := openDisk(root, nil)
	if err != nil {
		return err
	}
	defer func() { _ = d.root.Close() }() // it is only read
	if err := d.makeDir(protocol.LocksDir); err != nil {
		return err
	}
	leave, err := guard(ctx, root)
	if err != nil {
		return err
	}
	defer leave()
	v, err := read(d, root)
	if err != nil {
		return err
	}
	if v.Pending != "" {
		return execution.Errorf(execution.CodeInvalidStateTransition, "a command was interrupted while it wrote the record of %s", root).WithHint("drawbar govern resume")
	}
	all, err := d.copied()
	for _, f := range all {
		if err != nil {
			break
		}
		if f.Info.Size() > 0 || !slices.Contains(chained(), f.Name) { // else as if it were not there
			err = visit(f)
		}
	}
	return err
}

// copied lists the files of a copy, sorted.
func (d *disk) copied() ([]File, error) {
	var all []File
	add := func(name string, info fs.FileInfo) {
		all = append(all, File{name, info, func() ([]byte, error) { return d.read(name) }})
	}
	for _, name := range copiedFiles() {
		_, there, err := d.stat(name)
		if err != nil {
			return nil, err
		}
		if info, err := d.root.Lstat(name); there && err == nil {
			add(name, info)
		}
	}
	for _, dir := range copiedFolders() {
		// Names and dates only, and through no link: opening thousands of files below the root one by one takes a second.
		err := filepath.WalkDir(d.at(dir), func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if rel, no := filepath.Rel(d.root.Name(), path); err == nil && no == nil {
				add(filepath.ToSlash(rel), info)
			}
			return err
		})
		if err != nil {
			return nil, failed("read", d.at(dir), err)
		}
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Copy is a copy of the record.
type Copy struct {
	Names []string          // all its files
	Files map[string][]byte // the contents of those that differ from the record's, or of all
}

// ErrDiverged matches errors about a copy that does not continue the record.
var ErrDiverged = errors.New("it does not continue this record")

// Follows returns an error that matches ErrDiverged unless every file of lines begins with what the record has.
func (l *Ledger) Follows(c Copy) error {
	for _, file := range append(chained(), protocol.ChainFile) {
		now, err := l.disk.read(file)
		if err != nil {
			return err
		}
		then, differs := c.Files[file]
		if !differs && (len(now) == 0 || slices.Contains(c.Names, file)) {
			continue
		}
		if !bytes.HasPrefix(then, now) || len(then) > len(now) && !wholeLines(then[len(now):]) {
			return fmt.Errorf("%s: %w", file, ErrDiverged)
		}
	}
	return nil
}

// Import brings the record to where a copy of it is. A copy that does not continue it is refused, see Follows. The caller has verified the
// copy.
func (l *Ledger) Import(ctx context.Context, now time.Time, c Copy) error {
	leave, err := l.lock.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := l.finishPending(ctx); err != nil {
		return err
	}
	if err := l.Follows(c); err != nil {
		return err
	}
	j := &journal{Format: journalFormat, TransactionID: journalPrefix + randomHex(), Kind: "import", Status: journalStatus, PreparedAt: protocol.At(now)}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(c.Files)), func(name string) bool { return name == protocol.ChainFile || name == protocol.StateFile })
	for _, name := range append(names, protocol.ChainFile, protocol.StateFile) { // what the others depend on comes last
		content, ok := c.Files[name]
		if !ok {
			continue
		}
		if !Copied(name) || l.disk.local(name) != nil {
			return execution.Errorf(execution.CodeValidation, "the copy contains %q, which is no file of a record", name)
		}
		old, err := l.disk.read(name)
		if err != nil {
			return err
		}
		if err := l.keepWork(name, old, content); err != nil {
			return err
		}
		if name != protocol.ChainFile && !slices.Contains(chained(), name) {
			j.Files = append(j.Files, fileStep{File: name, Before: marker(old), Content: content})
		} else if len(content) > len(old) {
			j.Appends = append(j.Appends, appendStep{File: name, Offset: int64(len(old)), Content: content[len(old):]})
		}
	}
	if j.Remove, err = l.gone(c); err != nil {
		return err
	}
	l.tail = nil
	if err := l.carryOut(ctx, j); err != nil {
		return err
	}
	l.auditForeign, _, err = l.disk.stat(protocol.HookAuditFile)
	return err
}

// keepWork keeps a staged file that the import replaces or removes: somebody may have been at work on it.
func (l *Ledger) keepWork(name string, old, next []byte) error {
	if old == nil || !strings.HasPrefix(name, protocol.StagingDir+"/") || bytes.Equal(old, next) {
		return nil
	}
	kept, err := l.keep(name, 0, old)
	if err == nil {
		l.note(Note{What: "displaced", Path: name, Kept: kept, Message: name + " came from another clone; the one that was here is kept in " + kept})
	}
	return err
}

// gone lists what a copy no longer has, whole bundles as folders.
func (l *Ledger) gone(c Copy) ([]string, error) {
	there, err := l.disk.copied()
	if err != nil {
		return nil, err
	}
	in := map[string]bool{}
	for _, name := range c.Names {
		for ; name != "."; name = path.Dir(name) {
			in[name] = true
		}
	}
	var gone []string
	for _, f := range there {
		name := f.Name
		if in[name] {
			continue
		}
		if turn, ok := strings.CutPrefix(name, protocol.StagingDir+"/"); ok {
			old, err := l.disk.read(name)
			if err != nil {
				return nil, err
			}
			if turn, file, ok := strings.Cut(turn, "/"); ok {
				if err := l.keepWork(name, old, c.Files[protocol.ArchiveDir+"/"+turn+"/staging/"+file]); err != nil {
					return nil, err
				}
			}
		}
		for dir := path.Dir(name); !in[dir] && Copied(dir); dir = path.Dir(dir) {
			name = dir
		}
		gone = append(gone, name)
	}
	slices.Sort(gone)
	return slices.Compact(gone), nil
}

// SetAside moves the record to a folder below the archive, where it is kept, and returns that folder. The project has no record then.
func (l *Ledger) SetAside(ctx context.Context, now time.Time) (string, error) {
	leave, err := l.lock.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	if err := l.finishPending(ctx); err != nil {
		return "", err
	}
	to := fmt.Sprintf("%s/record-%s-%s", keptDir, now.UTC().Format("20060102-150405"), randomHex()[:4])
	j := &journal{Format: journalFormat, TransactionID: journalPrefix + randomHex(), Kind: "set_aside", Status: journalStatus, PreparedAt: protocol.At(now)}
	for _, name := range append(copiedFolders(), copiedFiles()...) {
		if _, err := l.disk.root.Lstat(name); err == nil {
			j.Moves = append(j.Moves, moveStep{From: name, To: to + "/" + name})
		}
	}
	l.tail = nil
	if err := l.carryOut(ctx, j); err != nil {
		return "", err
	}
	l.auditForeign = 0
	return to, l.emptyLog()
}
