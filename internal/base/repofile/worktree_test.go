package repofile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMainTree(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return filepath.Join(root, filepath.FromSlash(path)) }
	admin := "main/.git/worktrees/w/"
	write(t, at("main/.git/HEAD"), "ref: refs/heads/main\n")
	write(t, at(admin+"commondir"), "../..\n")
	write(t, at(admin+"gitdir"), at("w/.git")+"\n")
	write(t, at("w/.git"), "gitdir: "+at("main/.git/worktrees/w")+"\n")
	write(t, at("w/sub/f"), "")
	write(t, at("forged/.git"), "gitdir: "+at("main/.git/worktrees/w")+"\n") // says that it is one, and the repository does not
	write(t, at("made/.git"), "gitdir: "+at("made/admin")+"\n")
	write(t, at("made/admin/commondir"), at("main/.git")+"\n")
	write(t, at("made/admin/gitdir"), at("made/.git")+"\n")
	write(t, at("sub/.git"), "gitdir: ../main/.git/modules/sub\n")
	write(t, at("main/.git/modules/sub/HEAD"), "")
	write(t, at("odd/.git"), "no link")
	write(t, at("plain/f"), "")
	for dir, want := range map[string]string{
		"w": "main", "w/sub": "main/sub",
		"main": "", "forged": "", "made": "", "sub": "", "odd": "", "plain": "", "missing": "",
	} {
		if want != "" {
			want = at(want)
		}
		if got := MainTree(at(dir)); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
	relative := filepath.Join("..", "main", ".git", "worktrees", "w") // as worktree.useRelativePaths writes it
	write(t, at("w/.git"), "gitdir: "+relative+"\n")
	write(t, at(admin+"gitdir"), "../../../../w/.git\n")
	if got := MainTree(at("w")); got != at("main") {
		t.Errorf("with relative paths: %q", got)
	}
	if err := os.RemoveAll(at("main/.git/worktrees")); err != nil {
		t.Fatal(err)
	}
	if got := MainTree(at("w")); got != "" {
		t.Errorf("a worktree that was removed from its repository: %q", got)
	}
}
