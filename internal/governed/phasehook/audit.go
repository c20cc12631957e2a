package phasehook

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/drawbar/drawbar/govern/protocol"
)

// audit writes an audit line and adds it to the outcome.
func (r *Runner) audit(out *Outcome, e AuditEntry) error {
	out.Entries = append(out.Entries, e)
	return AppendLine(r.Root, cmp.Or(r.Audit, protocol.HookAuditFile), e)
}

// annotate writes the hook's annotations, if any.
func (r *Runner) annotate(out *Outcome, e AuditEntry) error {
	if len(e.Annotations) == 0 {
		return nil
	}
	a := AnnotationEntry{Timestamp: e.Timestamp, RunID: e.RunID, TurnID: e.TurnID, HookPhase: e.HookPhase, HookName: e.HookName, Annotations: e.Annotations}
	out.Annotations = append(out.Annotations, a)
	if e.HookPhase != protocol.HookAfterAcceptance {
		return nil // the file contains annotations of accepted turns; the audit contains all
	}
	return AppendLine(r.Root, cmp.Or(r.Notes, protocol.AnnotationsFile), a)
}

// AppendLine appends one JSON line to a file of the project at root, after a newline if the last line was cut off.
func AppendLine(projectRoot, file string, v any) error {
	fail := func(err error) error { return fmt.Errorf("write %s: %w", file, err) }
	line, err := protocol.Marshal(v)
	if err != nil {
		return fail(err)
	}
	root, err := os.OpenRoot(projectRoot)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = root.Close() }()
	name := filepath.FromSlash(file)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fail(err)
	}
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], size-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err = f.Write(append(line, '\n')); err != nil {
		return fail(err)
	}
	if err := f.Sync(); err != nil {
		return fail(err)
	}
	return nil
}
