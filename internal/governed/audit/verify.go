package audit

import (
	"context"
	"fmt"

	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// Report is the result of Verify.
type Report struct {
	ledger.Report
	Git History `json:"git"`
}

// Why names the first line that differs, of a record that is broken.
func (r Report) Why() string {
	b := r.Broken
	if b == nil {
		if f := r.Git.Broken(); f != nil {
			return f.Message + " (" + f.Kind + ")"
		}
		return "the record does not match its chain"
	}
	where := b.File
	if b.Line > 0 {
		where += fmt.Sprintf(" line %d", b.Line)
	}
	return fmt.Sprintf("%s: %s (%s)", where, b.Message, b.Kind)
}

// Verify compares a project's record with its chain, its repository, and the proposals and reviews of its turns. OK says
// that none is broken.
func Verify(ctx context.Context, root string) (Report, error) {
	w, err := workspace.Open(ctx, root)
	if err != nil {
		return Report{}, err
	}
	return VerifyAt(ctx, w, root)
}

// VerifyAt is Verify of the record in a folder, against a repository that may be elsewhere.
func VerifyAt(ctx context.Context, w *workspace.Workspace, root string) (r Report, err error) {
	v, err := ledger.Read(root)
	var h History
	if err == nil {
		h, err = Git(ctx, w, v)
	}
	if err == nil {
		var more []Finding
		more, err = derived(root, v)
		h.Findings = append(h.Findings, more...)
	}
	if err != nil {
		// The chain names an unreadable line; without a chain, the error is the only information.
		heads, herr := w.Heads(ctx)
		if herr != nil {
			return r, herr
		}
		if r.Report, herr = ledger.Verify(ctx, root, heads); herr != nil || r.OK {
			return r, err
		}
		return r, nil
	}
	r.Git = h
	if r.Report, err = ledger.Verify(ctx, root, h.Heads); err != nil {
		return r, err
	}
	r.OK = r.OK && h.Broken() == nil
	return r, nil
}
