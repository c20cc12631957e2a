package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// A copy of the record consists of these files and everything in these folders. Locks, transactions, worktrees and kept files belong to one
// machine, and prompts to the project.
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
		if f.Info.Size() > 0 || !slices.Contains(chained(), f.Name) { // an empty one counts as missing
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
		// This follows no links below dir. Walking the os.Root would open every parent again for each file, a second for 500 turns.
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

// WriteFiles writes files below a folder, by path with slashes. The caller has checked the paths.
func WriteFiles(dir string, files map[string][]byte) error {
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return failed("make the folder", filepath.Dir(file), err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return failed("write", file, err)
		}
	}
	return nil
}

// Copy is a copy of the record.
type Copy struct {
	Names  []string          // all its files
	Files  map[string][]byte // the contents of those that differ from the record's, or of all
	Remove []string          // files of Loose that it no longer has
}

// Loose reports whether a file of the record is outside the hash chain, and may change without a transaction.
func Loose(name string) bool {
	switch name {
	case protocol.NoticeAuditFile, protocol.SchedulesFile, protocol.AnnotationsFile:
		return true
	}
	return strings.HasPrefix(name, protocol.StagingDir+"/") || strings.HasPrefix(name, protocol.IntakeDir+"/")
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

// Import appends and replaces what a copy has more than the record. The copy must continue the record (see Follows), and the caller has
// verified it.
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
	for _, name := range append(names, protocol.ChainFile, protocol.StateFile) { // these two depend on the others
		content, ok := c.Files[name]
		if !ok {
			continue
		}
		if !Copied(name) || l.disk.local(name) != nil {
			return execution.Errorf(execution.CodeValidation, "the copy contains %q, which does not belong to a record", name)
		}
		old, err := l.disk.read(name)
		if err != nil {
			return err
		}
		if err := l.keepReplaced(name, old, content); err != nil {
			return err
		}
		if name != protocol.ChainFile && !slices.Contains(chained(), name) {
			j.Files = append(j.Files, fileStep{File: name, Before: marker(old), Content: content})
		} else if len(content) > len(old) {
			j.Appends = append(j.Appends, appendStep{File: name, Offset: int64(len(old)), Content: content[len(old):]})
		}
	}
	if i := slices.IndexFunc(c.Remove, func(name string) bool { return !Loose(name) || !Copied(name) }); i >= 0 {
		return execution.Errorf(execution.CodeInternal, "%s is part of the record and is not removed", c.Remove[i])
	}
	if j.Remove, err = l.obsolete(c); err != nil {
		return err
	}
	l.tail = nil
	if err := l.carryOut(ctx, j); err != nil {
		return err
	}
	l.auditForeign, _, err = l.disk.stat(protocol.HookAuditFile)
	return err
}

// keepReplaced keeps a file that no transaction wrote and that the import replaces or removes: somebody may be working on it.
func (l *Ledger) keepReplaced(name string, old, next []byte) error {
	if old == nil || bytes.Equal(old, next) || !strings.HasPrefix(name, protocol.StagingDir+"/") && !strings.HasPrefix(name, protocol.IntakeDir+"/") {
		return nil
	}
	kept, err := l.keep(name, 0, old)
	if err == nil {
		l.note(Note{What: "displaced", Path: name, Kept: kept, Message: name + " was replaced by the version of another clone; the previous one is kept in " + kept})
	}
	return err
}

// obsolete returns the bundles and staged files here of turns that the copy has archived.
func (l *Ledger) obsolete(c Copy) ([]string, error) {
	var list []string
	for _, name := range c.Names {
		rest, ok := strings.CutPrefix(name, protocol.ArchiveDir+"/")
		turn, _, inTurn := strings.Cut(rest, "/")
		if !ok || !inTurn || !ValidTurn(turn) || len(list) > 1 && list[len(list)-2] == protocol.BundleDir(turn) {
			continue
		}
		list = append(list, protocol.BundleDir(turn), path.Dir(protocol.StagedFile(turn)))
	}
	list = slices.DeleteFunc(list, func(dir string) bool {
		_, err := l.disk.root.Lstat(dir)
		return err != nil || slices.ContainsFunc(c.Names, func(name string) bool { return strings.HasPrefix(name, dir+"/") })
	})
	for _, dir := range list {
		turn, staged := strings.CutPrefix(dir, protocol.StagingDir+"/")
		if !staged {
			continue
		}
		files, err := l.names(dir)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			old, err := l.disk.read(dir + "/" + file)
			if err == nil {
				err = l.keepReplaced(dir+"/"+file, old, c.Files[protocol.ArchiveDir+"/"+turn+"/staging/"+file])
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return append(list, c.Remove...), nil
}

// SetAside moves the record to a folder in the archive and returns that folder. Afterwards the project has no record.
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
