package team

import (
	"context"
	"maps"
	"slices"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// Checkout writes the record of a ref, commit or run into a folder and returns the project's commit that the run had reached.
func Checkout(ctx context.Context, w *workspace.Workspace, name, dir string) (code string, err error) {
	var commit string
	for _, ref := range []string{name, runRefs + name, seen + name} {
		if commit, err = w.Commit(ctx, ref); err != nil || commit != "" {
			break
		}
	}
	if err != nil {
		return "", err
	}
	if commit == "" {
		return "", execution.Errorf(execution.CodeSessionNotFound, "there is no ref, commit or run %q here", name).
			WithHint("git fetch origin '%s*:%s*'", runRefs, runRefs)
	}
	s, err := load(ctx, w, commit)
	if err != nil {
		return "", err
	}
	names := slices.Sorted(maps.Keys(s.files))
	contents, err := w.Contents(ctx, blobsOf(s.files, names))
	files := map[string][]byte{}
	for i, content := range contents {
		if !ledger.Copied(names[i]) {
			return "", foreignFile(names[i], commit)
		}
		files[names[i]] = content
	}
	if err == nil {
		err = ledger.WriteFiles(dir, files)
	}
	return s.meta.Code, err
}

// foreignFile returns the error about a file that does not belong to a record.
func foreignFile(name, where string) error {
	return execution.Errorf(execution.CodeValidation, "the record of %s contains %q, which does not belong to a record", where, name)
}
