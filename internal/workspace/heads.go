package workspace

import (
	"context"
	"strings"
)

// Heads are the heads of the record's hash chain that the checkpoints of the present branch name, newest first.
func (w *Workspace) Heads(ctx context.Context) ([]string, error) {
	if w.kind == NoGit {
		return nil, nil
	}
	h, err := w.head(ctx)
	if err != nil || h.commit == "" {
		return nil, w.wrap("read the checkpoints", err)
	}
	args := []string{"log", "-z", "--grep=^" + ChainTrailer + ": ", "--format=%(trailers:key=" + ChainTrailer + ",valueonly,separator=%x0a)", h.commit, "--"}
	if w.prefix != "" {
		args = append(args, strings.TrimSuffix(w.prefix, "/")) // other projects of the repository have records of their own
	}
	out, err := w.git(ctx, command{args: args})
	if err != nil {
		return nil, w.wrap("read the checkpoints", err)
	}
	var list []string
	for _, item := range items(out) {
		for v := range strings.FieldsSeq(item) {
			list = append(list, v)
		}
	}
	return list, nil
}

// Contains reports whether a commit is another or below it. A commit that is not there is below none.
func (w *Workspace) Contains(ctx context.Context, commit, head string) (bool, error) {
	if commit == head {
		return true, nil
	}
	if head == "" {
		return false, nil
	}
	_, code, err := w.gitCode(ctx, command{args: []string{"merge-base", "--is-ancestor", commit, head}, ok: []int{1, 128}})
	return err == nil && code == 0, err
}
