package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func worktree(r *repo, turn string) string {
	r.t.Helper()
	path, base, _, err := r.Worktree(r.t.Context(), turn)
	if err != nil {
		r.t.Fatal(err)
	}
	if !base.Clean || base.HeadRef == nil || base.Kind != "git_worktree" {
		r.t.Errorf("got %+v", base)
	}
	return path
}

func TestWorktree(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a", "b": "b"})
	r.write("a", "a person's")
	path, base, _, err := r.Worktree(t.Context(), "turn_1")
	if err != nil || path != filepath.Join(r.root, ".agentxchain/worktrees/turn_1") || *base.HeadRef != r.run("rev-parse", "HEAD") {
		t.Fatalf("got %s, %+v, %v", path, base, err)
	}
	if got := r.short(); got != " M a\n" {
		t.Errorf("the worktree shows in the status:\n%s", got)
	}
	if b := r.baseline(); b.DirtySnapshot.Len() != 1 {
		t.Errorf("got %+v", b.DirtySnapshot)
	}
	if data, _ := os.ReadFile(filepath.Join(path, "a")); string(data) != "a" {
		t.Errorf("got %q", data)
	}
	writeFile(t, filepath.Join(path, "new"), "turn")
	writeFile(t, filepath.Join(path, ".agentxchain/staging/turn_1/turn-result.json"), "{}")
	writeFile(t, filepath.Join(path, "b"), "committed by the agent")
	r.runIn(path, nil, "commit", "-q", "-a", "-m", "the agent commits as it likes")
	writeFile(t, filepath.Join(path, "a"), "turn")
	r.write("op", "o")
	r.run("add", "op")
	r.run("commit", "-q", "-m", "by hand")
	o := r.observe(base, path)
	if diff := cmp.Diff([]string{"modified a", "modified b", "created new"}, changes(o)); diff != "" || len(o.TurnCommits) != 1 || len(o.OperatorCommits) != 0 || len(o.Committed) != 0 {
		t.Errorf("%s%+v", diff, o)
	}
	// A second call continues: the base stays that of the first.
	again, base2, _, err := r.Worktree(t.Context(), "turn_1")
	if err != nil || again != path || *base2.HeadRef != *base.HeadRef {
		t.Errorf("got %s, %s, %v", again, *base2.HeadRef, err)
	}
	if got := r.lookTree(path); !got.whole || got.turn != "turn_1" || got.path != path || got.base != *base.HeadRef {
		t.Errorf("got %+v", got)
	}
	// What a tool made read-only goes as well.
	writeFile(t, filepath.Join(path, "cache/deep/x"), "x")
	chmod(t, filepath.Join(path, "cache/deep"), 0o500)
	for range 2 {
		if err := r.Drop(t.Context(), "turn_1"); err != nil {
			t.Fatal(err)
		}
	}
	if exists(path) || strings.Contains(r.run("worktree", "list"), "turn_1") || r.run("branch", "--list") != "* main" {
		t.Errorf("left behind: %s", r.run("worktree", "list"))
	}
}

// What a killed process left is found, dropped, and not in the way.
// TestSubmoduleOfATurn: what a turn commits in a submodule of its worktree is in the project's repository of the submodule afterwards.
func TestSubmoduleOfATurn(t *testing.T) {
	t.Parallel()
	lib := newRepo(t, map[string]string{"lib.txt": "l"})
	r := newRepo(t, map[string]string{"a": "a"})
	r.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.dir, "lib")
	r.commit("with a submodule")
	path := worktree(r, "turn_1")
	if got, err := os.ReadFile(filepath.Join(path, "lib", "lib.txt")); string(got) != "l" {
		t.Fatalf("the submodule is not checked out: %q %v", got, err)
	}
	if got := r.runIn(filepath.Join(path, "lib"), nil, "remote", "get-url", "origin"); strings.TrimSpace(got) != lib.dir {
		t.Errorf("its remote is %q", got)
	}
	sub := filepath.Join(path, "lib")
	writeFile(t, filepath.Join(sub, "new.txt"), "n")
	r.runIn(sub, nil, "add", "-A")
	r.runIn(sub, nil, "commit", "-q", "-m", "of the turn")
	commit := r.runIn(sub, nil, "rev-parse", "HEAD")
	if err := r.Drop(t.Context(), "turn_1"); err != nil || exists(path) || exists(filepath.Join(r.dir, ".git/worktrees")) {
		t.Fatalf("got %v", err)
	}
	if got := r.runIn(filepath.Join(r.dir, "lib"), nil, "rev-parse", "refs/drawbar/turns/turn_1/HEAD"); got != commit {
		t.Errorf("got %q, want %q", got, commit)
	}
	if got := r.runIn(filepath.Join(r.dir, "lib"), nil, "show", "--format=", "--name-only", strings.TrimSpace(commit)); !strings.Contains(got, "new.txt") {
		t.Errorf("got %q", got)
	}
	// Without the submodule in the project, the worktree stays.
	path = worktree(r, "turn_2")
	writeFile(t, filepath.Join(path, "lib", "new.txt"), "n")
	r.runIn(filepath.Join(path, "lib"), nil, "add", "-A")
	r.runIn(filepath.Join(path, "lib"), nil, "commit", "-q", "-m", "of the turn")
	if err := os.Rename(filepath.Join(r.dir, ".git/modules/lib"), filepath.Join(r.dir, ".git/away")); err != nil {
		t.Fatal(err)
	}
	if err := r.Drop(t.Context(), "turn_2"); err == nil || !strings.Contains(err.Error(), "the submodule lib has commits of the turn") || !exists(filepath.Join(path, "lib/new.txt")) {
		t.Errorf("got %v", err)
	}
	// Another worktree is made without its files, and says so.
	if path, _, without, err := r.Worktree(t.Context(), "turn_3"); err != nil || !slices.Equal(without, []string{"lib"}) || exists(filepath.Join(path, "lib/lib.txt")) {
		t.Errorf("%v %v", without, err)
	}
}

func TestWorktreeLeftovers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		kill func(r *repo, path string)
	}{
		{"without the note of its base", func(r *repo, path string) { r.remove(".git/worktrees/turn_1/drawbar-base") }},
		{"folder gone", func(r *repo, path string) { _ = os.RemoveAll(path) }},
		{"git's notes gone", func(r *repo, path string) { _ = os.RemoveAll(filepath.Join(r.dir, ".git/worktrees/turn_1")) }},
		{"half a folder", func(r *repo, path string) { _ = os.Remove(filepath.Join(path, ".git")) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, map[string]string{"a": "a"})
			path := worktree(r, "turn_1")
			tt.kill(r, path)
			if got := r.lookTree(path); got.whole || got.base != "" {
				t.Errorf("got %+v", got)
			}
			if _, err := r.Merge(t.Context(), "turn_1", []string{"a"}); err == nil || !strings.Contains(err.Error(), "drawbar govern reissue") {
				t.Errorf("got %v", err)
			}
			if got := worktree(r, "turn_1"); got != path || !exists(filepath.Join(path, "a")) {
				t.Errorf("got %s", got)
			}
			if err := r.Drop(t.Context(), "turn_1"); err != nil || exists(path) || strings.Contains(r.run("worktree", "list"), "turn_1") {
				t.Errorf("got %v, %s", err, r.run("worktree", "list"))
			}
		})
	}
}

func TestWorktreeRefuses(t *testing.T) {
	t.Parallel()
	r := newRepo(t, nil)
	if _, _, _, err := r.Worktree(t.Context(), "turn_1"); err == nil || !strings.Contains(err.Error(), "commit the project first") {
		t.Errorf("got %v", err)
	}
	r.write("a", "a")
	r.commit("first")
	for _, turn := range []string{"", "..", "a/b", "../../x", "a b"} {
		if _, _, _, err := r.Worktree(t.Context(), turn); err == nil {
			t.Errorf("%q is taken", turn)
		}
		if err := r.Drop(t.Context(), turn); err == nil {
			t.Errorf("%q is dropped", turn)
		}
	}
	// A link in the place of the folder does not lead the removal elsewhere.
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "turn_1/precious"), "p")
	if err := os.MkdirAll(filepath.Join(r.dir, ".agentxchain"), 0o755); err != nil {
		t.Fatal(err)
	}
	symlink(t, outside, filepath.Join(r.dir, ".agentxchain/worktrees"))
	if _, _, _, err := r.Worktree(t.Context(), "turn_1"); err == nil {
		t.Error("a worktree was made outside")
	}
	if err := r.Drop(t.Context(), "turn_1"); err == nil || !exists(filepath.Join(outside, "turn_1/precious")) {
		t.Errorf("got %v", err)
	}
}

// An agent that points its .git file elsewhere is not believed.
func TestWorktreeWithAnotherGitFile(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a"})
	path, base, _, err := r.Worktree(t.Context(), "turn_1")
	if err != nil {
		t.Fatal(err)
	}
	worktree(r, "turn_2")
	for _, content := range []string{"gitdir: " + filepath.Join(r.root, ".git"), "gitdir: " + filepath.Join(r.root, ".git/worktrees/turn_2"), ""} {
		writeFile(t, filepath.Join(path, ".git"), content)
		if _, err := r.Observe(t.Context(), base, path); err == nil || !strings.Contains(err.Error(), "drawbar govern reissue") {
			t.Errorf("%q: got %v", content, err)
		}
	}
	if _, err := r.Observe(t.Context(), base, filepath.Join(r.dir, "nowhere")); err == nil || !strings.Contains(err.Error(), "drawbar govern reissue") {
		t.Errorf("got %v", err)
	}
}

func TestWorktreeBelowTheTop(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"top": "t", "app/a": "a"})
	r.open(filepath.Join(r.dir, "app"))
	path, base, _, err := r.Worktree(t.Context(), "turn_1")
	if err != nil || path != filepath.Join(r.root, ".agentxchain/worktrees/turn_1/app") {
		t.Fatalf("got %s, %v", path, err)
	}
	writeFile(t, filepath.Join(path, "a"), "turn")
	writeFile(t, filepath.Join(path, "n/x"), "turn")
	o := r.observe(base, path)
	if got := changes(o); !cmp.Equal(got, []string{"modified a", "created n/x"}) {
		t.Errorf("got %q", got)
	}
	if conflicts, err := r.Merge(t.Context(), "turn_1", o.Paths()); err != nil || len(conflicts) != 0 {
		t.Fatalf("got %q, %v", conflicts, err)
	}
	if r.read("app/a") != "turn" || r.read("app/n/x") != "turn" {
		t.Error("not merged")
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	lines := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	files := map[string]string{"a": "a", "b": "b", "text": lines, "run": "r\n", "bin": "\x00\x01", "gone": "g", "dir/x": "x", ".gitignore": "*.ign\n"}
	for _, tt := range []struct {
		name      string
		turn      func(r *repo, path string) // what the turn does in its worktree
		main      func(r *repo)              // what happens at the root meanwhile
		paths     []string                   // nil: what is observed
		conflicts []string
		want      map[string]string
	}{
		{name: "taken as it is", turn: func(r *repo, path string) {
			writeFile(t, filepath.Join(path, "a"), "turn")
			writeFile(t, filepath.Join(path, "deep/new"), "turn")
			_ = os.Remove(filepath.Join(path, "gone"))
			_ = os.Remove(filepath.Join(path, "dir/x"))
			chmod(t, filepath.Join(path, "run"), 0o755)
			symlink(t, "a", filepath.Join(path, "link"))
		}, want: map[string]string{"a": "turn", "deep/new": "turn", "gone": "", "dir": "", "run": "+r\n", "link": ">a", "b": "b"}},
		{name: "a person's other work stays", turn: func(r *repo, path string) { writeFile(t, filepath.Join(path, "a"), "turn") },
			main: func(r *repo) { r.write("b", "mine"); r.write("mine", "mine") },
			want: map[string]string{"a": "turn", "b": "mine", "mine": "mine"}},
		{name: "a person's uncommitted work is not overwritten", turn: func(r *repo, path string) {
			writeFile(t, filepath.Join(path, "a"), "turn")
			writeFile(t, filepath.Join(path, "b"), "turn")
			writeFile(t, filepath.Join(path, "new"), "turn")
			writeFile(t, filepath.Join(path, "text"), "turn")
			_ = os.Remove(filepath.Join(path, "gone"))
		}, main: func(r *repo) {
			r.write("a", "mine")
			r.write("new", "mine")
			r.write("gone", "mine")
			r.remove("text")
		}, conflicts: []string{"a", "gone", "new", "text"}, want: map[string]string{"a": "mine", "new": "mine", "gone": "mine", "b": "b", "text": ""}},
		{name: "an ignored file is not overwritten", turn: func(r *repo, path string) { writeFile(t, filepath.Join(path, "x.ign"), "turn") },
			main: func(r *repo) { r.write("x.ign", "mine") }, paths: []string{"x.ign"}, conflicts: []string{"x.ign"}, want: map[string]string{"x.ign": "mine"}},
		{name: "the same change twice", turn: func(r *repo, path string) { writeFile(t, filepath.Join(path, "a"), "same") },
			main: func(r *repo) { r.write("a", "same") }, want: map[string]string{"a": "same"}},
		{name: "merged by lines", turn: func(r *repo, path string) {
			writeFile(t, filepath.Join(path, "text"), strings.Replace(lines, "1\n", "turn\n", 1))
			chmod(t, filepath.Join(path, "text"), 0o755)
		}, main: func(r *repo) { r.write("text", strings.Replace(lines, "9\n", "op\n", 1)); r.commit("op") },
			want: map[string]string{"text": "+turn\n2\n3\n4\n5\n6\n7\n8\nop\n"}},
		{name: "the head moved on with other files", turn: func(r *repo, path string) { writeFile(t, filepath.Join(path, "a"), "turn") },
			main: func(r *repo) { r.write("b", "op"); r.write("op", "op"); r.commit("op") }, want: map[string]string{"a": "turn", "b": "op", "op": "op"}},
		{name: "lines in conflict", turn: func(r *repo, path string) {
			writeFile(t, filepath.Join(path, "text"), strings.Replace(lines, "5\n", "turn\n", 1))
			writeFile(t, filepath.Join(path, "a"), "turn")
		}, main: func(r *repo) { r.write("text", strings.Replace(lines, "5\n", "op\n", 1)); r.commit("op") },
			conflicts: []string{"text"}, want: map[string]string{"text": strings.Replace(lines, "5\n", "op\n", 1), "a": "a"}},
		{name: "binary, deleted and made twice", turn: func(r *repo, path string) {
			writeFile(t, filepath.Join(path, "bin"), "\x00turn")
			writeFile(t, filepath.Join(path, "a"), "turn")
			_ = os.Remove(filepath.Join(path, "b"))
			writeFile(t, filepath.Join(path, "twice"), "turn")
		}, main: func(r *repo) {
			r.write("bin", "\x00op")
			r.remove("a")
			r.write("b", "op")
			r.write("twice", "op")
			r.commit("op")
		}, conflicts: []string{"a", "b", "bin", "twice"}, want: map[string]string{"bin": "\x00op", "a": "", "b": "op", "twice": "op"}},
		{name: "both deleted, and one left alone", turn: func(r *repo, path string) { _ = os.Remove(filepath.Join(path, "gone")) },
			main: func(r *repo) { r.remove("gone"); r.write("a", "op"); r.commit("op") }, paths: []string{"gone", "a"},
			want: map[string]string{"gone": "", "a": "op"}},
		{name: "a file becomes a folder", turn: func(r *repo, path string) {
			_ = os.Remove(filepath.Join(path, "a"))
			writeFile(t, filepath.Join(path, "a/x"), "turn")
		}, want: map[string]string{"a/x": "turn"}},
		{name: "a folder that is a file at the root", turn: func(r *repo, path string) { writeFile(t, filepath.Join(path, "mine/x"), "turn") },
			main: func(r *repo) { r.write("mine", "m") }, conflicts: []string{"mine/x"}, want: map[string]string{"mine": "m"}},
		{name: "nothing through a link that leads out", turn: func(r *repo, path string) { writeFile(t, filepath.Join(path, "out/x"), "turn") },
			main: func(r *repo) { symlink(t, t.TempDir(), filepath.Join(r.dir, "out")) }, conflicts: []string{"out/x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepo(t, files)
			path, base, _, err := r.Worktree(t.Context(), "turn_1")
			if err != nil {
				t.Fatal(err)
			}
			tt.turn(r, path)
			if tt.main != nil {
				tt.main(r)
			}
			if tt.paths == nil {
				tt.paths = r.observe(base, path).Paths()
			}
			before := r.short()
			for range 2 { // merging again is harmless
				conflicts, err := r.Merge(t.Context(), "turn_1", tt.paths)
				if err != nil || !cmp.Equal(conflicts, tt.conflicts) {
					t.Fatalf("got %q, %v; want %q", conflicts, err, tt.conflicts)
				}
			}
			if len(tt.conflicts) > 0 && r.short() != before {
				t.Errorf("a conflict changed the work tree:\n%s", r.short())
			}
			for name, want := range tt.want {
				if got := show(filepath.Join(r.dir, name)); got != want {
					t.Errorf("%s holds %q, want %q", name, got, want)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(r.dir, ".agentxchain/worktrees/.merge*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// show is what is at a path: "" for nothing, ">" and the target of a link, "+" and the content of what may be executed.
func show(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, _ := os.Readlink(path)
		return ">" + target
	}
	data, _ := os.ReadFile(path)
	if info.Mode()&0o100 != 0 {
		return "+" + string(data)
	}
	return string(data)
}

// A merge that was killed at any point can be undone, and is finished by the next; then it can be committed.
func TestMergeCrash(t *testing.T) {
	t.Parallel()
	lines := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	for _, at := range []string{"noted", "wrote gone", "wrote a", "wrote text"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, map[string]string{"a": "a", "gone": "g", "text": lines, "z": "z"})
			b := r.baseline()
			path, base, _, err := r.Worktree(t.Context(), "turn_1")
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(path, "a"), "turn")
			writeFile(t, filepath.Join(path, "z"), "turn")
			writeFile(t, filepath.Join(path, "text"), strings.Replace(lines, "1\n", "turn\n", 1))
			_ = os.Remove(filepath.Join(path, "gone"))
			r.write("text", strings.Replace(lines, "9\n", "op\n", 1))
			r.commit("op")
			paths := r.observe(base, path).Paths()
			func() {
				defer func() {
					if v := recover(); v != at {
						t.Errorf("got %v", v)
					}
				}()
				_, _ = r.merge(t.Context(), "turn_1", paths, func(point string) {
					if point == at {
						panic(at)
					}
				})
			}()
			if undone, err := r.UndoMerges(t.Context()); err != nil || undone != (at != "noted") || r.short() != "" {
				t.Errorf("undone %t, %v: %s", undone, err, r.short())
			}
			conflicts, err := r.Merge(t.Context(), "turn_1", paths)
			if err != nil || len(conflicts) > 0 {
				t.Fatalf("got %q, %v", conflicts, err)
			}
			apply(r, prepare(r, request(&b, paths...)))
			if r.read("text") != "turn\n2\n3\n4\n5\n6\n7\n8\nop\n" || r.read("a") != "turn" || r.read("z") != "turn" || r.short() != "" {
				t.Errorf("got %s", r.short())
			}
		})
	}
}

// What a person changed after an interrupted merge stays as they left it.
func TestUndoMergesKeepsWork(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a", "gone": "g"})
	path, base, _, err := r.Worktree(t.Context(), "turn_1")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(path, "a"), "turn")
	writeFile(t, filepath.Join(path, "new"), "turn")
	_ = os.Remove(filepath.Join(path, "gone"))
	if conflicts, err := r.Merge(t.Context(), "turn_1", r.observe(base, path).Paths()); err != nil || len(conflicts) > 0 {
		t.Fatalf("got %q, %v", conflicts, err)
	}
	r.write("new", "mine")
	r.write("gone", "mine")
	if undone, err := r.UndoMerges(t.Context()); err != nil || !undone || r.read("a") != "a" || r.read("new") != "mine" || r.read("gone") != "mine" {
		t.Errorf("undone %t, %v: %s", undone, err, r.short())
	}
}
