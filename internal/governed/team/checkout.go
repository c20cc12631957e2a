package team

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// Checkout writes the record of a ref, a commit or a run into a folder. It returns the project's commit that the run had reached.
func Checkout(ctx context.Context, w *workspace.Workspace, name, dir string) (code string, err error) {
	commit, err := w.Commit(ctx, name)
	if err == nil && commit == "" {
		commit, err = w.Commit(ctx, tracking+name)
	}
	if err != nil {
		return "", err
	}
	if commit == "" {
		return "", execution.Errorf(execution.CodeSessionNotFound, "there is no ref, commit or run %q here", name).
			WithHint("git fetch origin '%s*:%s*'", tracking, tracking)
	}
	s, err := (&Team{}).load(ctx, w, commit)
	if err != nil {
		return "", err
	}
	names := slices.Sorted(maps.Keys(s.files))
	contents, err := w.Contents(ctx, blobsOf(s.files, names))
	for i, name := range names {
		if err != nil {
			break
		}
		if !ledger.Copied(name) {
			return "", strange(name, commit)
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err = os.MkdirAll(filepath.Dir(to), 0o700); err == nil {
			err = os.WriteFile(to, contents[i], 0o600)
		}
	}
	return s.meta.Code, err
}

// strange is the error about a record that contains other files.
func strange(name, where string) error {
	return execution.Errorf(execution.CodeValidation, "the record of %s contains %q, which is no file of a record", where, name)
}
