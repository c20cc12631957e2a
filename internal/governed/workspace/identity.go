package workspace

import (
	"context"
	"strings"
)

// Identity returns the author of git commits here; empty without an identity or a repository.
func (w *Workspace) Identity(ctx context.Context) (name, email string) {
	if w.Kind() != Git {
		return "", ""
	}
	out, err := w.git(ctx, command{args: []string{"-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"}})
	if err != nil {
		return "", ""
	}
	name, rest, _ := strings.Cut(string(out), " <")
	email, _, _ = strings.Cut(rest, ">")
	return strings.TrimSpace(name), strings.TrimSpace(email)
}
