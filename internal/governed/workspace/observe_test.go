package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

func changes(o Observation) []string {
	var list []string
	for _, f := range o.Files {
		s := f.Action + " " + f.Path
		if f.From != "" {
			s += " < " + f.From
		}
		list = append(list, s)
	}
	return list
}

func TestObserve(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.txt": "a\n", "b.txt": "b\n", "dir/c.txt": "c\n", "run.sh": "#!/bin/sh\n", ".gitignore": "*.log\n"}
	for _, tt := range []struct {
		name      string
		before    func(r *repo) // a person's work before the baseline
		during    func(r *repo)
		want      []string
		committed []string
		commits   []string // subjects of operator commits
		turns     []string // subjects of the turn's commits
	}{
		{name: "nothing", during: func(*repo) {}},
		{name: "tracked, untracked, deleted", during: func(r *repo) {
			r.write("a.txt", "changed\n")
			r.write("new/deep/file.txt", "n\n")
			r.remove("b.txt")
		}, want: []string{"modified a.txt", "deleted b.txt", "created new/deep/file.txt"}},
		{name: "staged counts as well", during: func(r *repo) {
			r.write("a.txt", "changed\n")
			r.write("n.txt", "n\n")
			r.run("add", "-A")
			r.write("n.txt", "again\n")
		}, want: []string{"modified a.txt", "created n.txt"}},
		{name: "staged and taken back is no change", during: func(r *repo) {
			r.write("a.txt", "changed\n")
			r.run("add", "-A")
			r.write("a.txt", "a\n")
			r.run("rm", "-q", "--cached", "b.txt")
		}},
		{name: "renamed", during: func(r *repo) {
			if err := os.Rename(filepath.Join(r.dir, "dir/c.txt"), filepath.Join(r.dir, "moved.txt")); err != nil {
				r.t.Fatal(err)
			}
		}, want: []string{"deleted dir/c.txt", "renamed moved.txt < dir/c.txt"}},
		{name: "renamed by git", during: func(r *repo) { r.run("mv", "dir/c.txt", "moved.txt") },
			want: []string{"deleted dir/c.txt", "renamed moved.txt < dir/c.txt"}},
		{name: "mode", during: func(r *repo) { chmod(r.t, filepath.Join(r.dir, "run.sh"), 0o755) }, want: []string{"mode run.sh"}},
		{name: "a file becomes a link", during: func(r *repo) {
			r.remove("a.txt")
			symlink(r.t, "b.txt", filepath.Join(r.dir, "a.txt"))
		}, want: []string{"modified a.txt"}},
		{name: "a file becomes a folder", during: func(r *repo) {
			r.remove("a.txt")
			r.write("a.txt/x", "x")
		}, want: []string{"deleted a.txt", "created a.txt/x"}},
		{name: "ignored files do not count", during: func(r *repo) { r.write("x.log", "l\n") }},
		{name: "operational files do not count", during: func(r *repo) {
			r.write(".agentxchain/state.json", "{}")
			r.write(".agentxchain/staging/turn_1/turn-result.json", "{}")
			r.write(".agentxchain/worktrees/turn_2/x", "")
			r.write("TALK.md", "talk")
			r.write(".agentxchain/reviews/turn_1-qa-review.md", "review")
		}, want: []string{"created .agentxchain/reviews/turn_1-qa-review.md"}},
		{name: "odd names", during: func(r *repo) {
			r.write("größe 日本.txt", "x")
			r.write("new\nline \"q\".txt", "x")
			r.write(" lead", "x")
			r.write("tab\there", "x")
		}, want: []string{"created  lead", "created größe 日本.txt", "created new\nline \"q\".txt", "created tab\there"}},
		{name: "a person's work that stays is not the turn's", before: func(r *repo) {
			r.write("a.txt", "mine\n")
			r.write("mine.txt", "mine\n")
			r.remove("b.txt")
			r.write("dir/c.txt", "staged\n")
			r.run("add", "dir/c.txt")
		}, during: func(r *repo) { r.write("turn.txt", "t\n") }, want: []string{"created turn.txt"}},
		{name: "a person's work that changes is the turn's", before: func(r *repo) {
			r.write("a.txt", "mine\n")
			r.write("mine.txt", "mine\n")
			r.write("other.txt", "mine\n")
			r.remove("b.txt")
			r.write("run.sh", "mine\n")
		}, during: func(r *repo) {
			r.write("a.txt", "a\n") // as in the head again: a person's change is lost
			r.write("mine.txt", "theirs\n")
			r.remove("other.txt")
			r.write("b.txt", "b\n")
			chmod(r.t, filepath.Join(r.dir, "run.sh"), 0o755)
		}, want: []string{"modified a.txt", "created b.txt", "modified mine.txt", "deleted other.txt", "mode run.sh"}},
		{name: "a person's untracked file that is ignored later", before: func(r *repo) { r.write("mine.tmp", "mine\n") },
			during: func(r *repo) { r.write(".gitignore", "*.log\n*.tmp\n") }, want: []string{"modified .gitignore"}},
		{name: "a commit of the operator", during: func(r *repo) {
			r.write("op.txt", "o\n")
			r.write("a.txt", "o\n")
			r.commit("by hand: one")
			r.write("turn.txt", "t\n")
		}, want: []string{"created turn.txt"}, committed: []string{"a.txt", "op.txt"}, commits: []string{"by hand: one"}},
		{name: "the operator commits their own uncommitted work", before: func(r *repo) {
			r.write("a.txt", "mine\n")
			r.write("mine.txt", "mine\n")
		}, during: func(r *repo) {
			r.write("mine.txt", "more\n")
			r.commit("mine")
			r.write("turn.txt", "t\n")
		}, want: []string{"created turn.txt"}, committed: []string{"mine.txt"}, commits: []string{"mine"}},
		{name: "the turn goes on with a file of the operator's commit", during: func(r *repo) {
			r.write("op.txt", "o\n")
			r.commit("by hand")
			r.write("op.txt", "turn\n")
		}, want: []string{"created op.txt"}, commits: []string{"by hand"}},
		{name: "a commit of the agent", during: func(r *repo) {
			r.write("turn.txt", "t\n")
			r.write("a.txt", "t\n")
			r.run("add", "-A")
			r.runIn(r.dir, TurnEnv("turn_1"), "commit", "-q", "-m", "agent: work")
			r.write("b.txt", "t\n")
		}, want: []string{"modified a.txt", "modified b.txt", "created turn.txt"}, turns: []string{"agent: work"}},
		{name: "an agent changes and commits a person's work", before: func(r *repo) { r.write("mine.txt", "mine\n") }, during: func(r *repo) {
			r.write("mine.txt", "theirs\n")
			r.run("add", "-A")
			r.runIn(r.dir, TurnEnv("turn_1"), "commit", "-q", "-m", "agent")
		}, want: []string{"modified mine.txt"}, turns: []string{"agent"}},
		{name: "agent and operator in turns", during: func(r *repo) {
			r.write("a.txt", "t\n")
			r.run("add", "-A")
			r.runIn(r.dir, TurnEnv("turn_1"), "commit", "-q", "-m", "agent")
			r.write("op.txt", "o\n")
			r.commit("operator")
		}, want: []string{"modified a.txt"}, committed: []string{"op.txt"}, turns: []string{"agent"}, commits: []string{"operator"}},
		{name: "the operator amends", during: func(r *repo) {
			r.write("b.txt", "amended\n")
			r.run("commit", "-q", "-a", "--amend", "-m", "start again")
			r.write("turn.txt", "t\n")
		}, want: []string{"created turn.txt"}, committed: []string{"b.txt"}, commits: []string{"start again"}},
		{name: "the operator takes a commit back", before: func(r *repo) {
			r.write("a.txt", "second\n")
			r.commit("second")
		}, during: func(r *repo) {
			r.run("reset", "-q", "--mixed", "HEAD~1")
			r.write("turn.txt", "t\n")
		}, want: []string{"created turn.txt"}},
		{name: "the operator changes the branch", before: func(r *repo) {
			r.run("checkout", "-q", "-b", "other")
			r.write("other.txt", "o\n")
			r.commit("other")
			r.run("checkout", "-q", "main")
		}, during: func(r *repo) {
			r.run("checkout", "-q", "other")
			r.write("turn.txt", "t\n")
		}, want: []string{"created turn.txt"}, committed: []string{"other.txt"}, commits: []string{"other"}},
		{name: "the operator merges", before: func(r *repo) {
			r.run("checkout", "-q", "-b", "side")
			r.write("side.txt", "s\n")
			r.commit("side")
			r.run("checkout", "-q", "main")
			r.write("a.txt", "main\n")
			r.commit("main")
		}, during: func(r *repo) { r.run("merge", "-q", "--no-edit", "side") },
			committed: []string{"side.txt"}, commits: []string{"Merge branch 'side'"}},
		{name: "a repository within", during: func(r *repo) {
			r.write("nested/x", "x")
			r.runIn(filepath.Join(r.dir, "nested"), nil, "init", "-q")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files)
			if tt.before != nil {
				tt.before(r)
			}
			b := r.baseline()
			tt.during(r)
			before := r.run("status", "--porcelain=v2")
			o := r.observe(b, "")
			if diff := cmp.Diff(tt.want, changes(o)); diff != "" {
				t.Errorf("files (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.committed, o.Committed); diff != "" {
				t.Errorf("committed (-want +got)\n%s", diff)
			}
			subjects := func(list []Commit) (s []string) {
				for _, c := range list {
					s = append(s, c.Subject)
				}
				return s
			}
			if diff := cmp.Diff(tt.commits, subjects(o.OperatorCommits)); diff != "" {
				t.Errorf("operator commits (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.turns, subjects(o.TurnCommits)); diff != "" {
				t.Errorf("turn commits (-want +got)\n%s", diff)
			}
			if !o.Available || o.HeadRef != r.run("rev-parse", "HEAD") {
				t.Errorf("got available %t, head %s", o.Available, o.HeadRef)
			}
			if after := r.run("status", "--porcelain=v2"); after != before {
				t.Errorf("the observation changed the repository:\n%s\n%s", before, after)
			}
			if tt.name == "a repository within" && (len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], "nested is a git repository")) {
				t.Errorf("got warnings %q", o.Warnings)
			}
		})
	}
}

func TestObserveCommitsKnowFilesAndTurn(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a"})
	b := r.baseline()
	r.write("new\nline", "x")
	r.write("é", "x")
	r.run("add", "-A")
	r.runIn(r.dir, TurnEnv("turn_0123456789abcdef"), "commit", "-q", "-m", "work")
	o := r.observe(b, "")
	if len(o.TurnCommits) != 1 || o.TurnCommits[0].Turn != "turn_0123456789abcdef" || len(o.TurnCommits[0].SHA) != 40 {
		t.Fatalf("got %+v", o.TurnCommits)
	}
	if diff := cmp.Diff([]string{"new\nline", "é"}, o.TurnCommits[0].Files); diff != "" {
		t.Error(diff)
	}
	if got := o.Markers(); got.At("é") != "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" {
		t.Errorf("got %v", got)
	}
	want := "2 files changed\ncreated  \"new\\nline\"\ncreated  é"
	if o.DiffSummary != want {
		t.Errorf("got %q", o.DiffSummary)
	}
}

func TestObserveWithoutCommits(t *testing.T) {
	t.Parallel()
	r := newRepo(t, nil)
	r.write("mine.txt", "m")
	b := r.baseline()
	if b.HeadRef != nil || b.Branch != "main" || b.Clean || b.DirtySnapshot.Len() != 1 {
		t.Errorf("got %+v", b)
	}
	r.write("turn.txt", "t")
	if got := changes(r.observe(b, "")); !cmp.Equal(got, []string{"created turn.txt"}) {
		t.Errorf("got %q", got)
	}
	r.run("add", "mine.txt")
	r.run("commit", "-q", "-m", "first")
	o := r.observe(b, "")
	if got := changes(o); !cmp.Equal(got, []string{"created turn.txt"}) || len(o.OperatorCommits) != 1 {
		t.Errorf("got %q, %+v", got, o.OperatorCommits)
	}
}

func TestObserveSHA256(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a", "b": "b"}, "--object-format=sha256")
	b := r.baseline()
	r.write("a", "x")
	r.run("add", "-A")
	r.write("a", "a")
	r.write("c", "c")
	if got := changes(r.observe(b, "")); !cmp.Equal(got, []string{"created c"}) {
		t.Errorf("got %q", got)
	}
	r.commit("op")
	if o := r.observe(b, ""); len(o.OperatorCommits) != 1 || len(o.Files) != 0 {
		t.Errorf("got %+v", o)
	}
}

func TestObserveLostBaseline(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a"})
	b := r.baseline()
	gone := strings.Repeat("12", 20)
	b.HeadRef = &gone
	r.write("turn.txt", "t")
	o := r.observe(b, "")
	if got := changes(o); !cmp.Equal(got, []string{"created turn.txt"}) || len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], gone) {
		t.Errorf("got %q, %q", got, o.Warnings)
	}
}

func TestObserveBelowTheTop(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"README": "r", "app/agentxchain.json": "{}", "app/x.txt": "x"})
	r.open(filepath.Join(r.dir, "app"))
	r.write("README", "a person's, elsewhere")
	b := r.baseline()
	if !b.Clean || b.DirtySnapshot.Len() != 0 {
		t.Errorf("got %+v", b)
	}
	r.write("app/x.txt", "turn")
	r.write("app/new.txt", "turn")
	r.write("README", "again")
	r.write("app/.agentxchain/state.json", "{}")
	if got := changes(r.observe(b, "")); !cmp.Equal(got, []string{"created new.txt", "modified x.txt"}) {
		t.Errorf("got %q", got)
	}
	r.run("add", "README")
	r.run("commit", "-q", "-m", "elsewhere")
	o := r.observe(b, "")
	if got := changes(o); !cmp.Equal(got, []string{"created new.txt", "modified x.txt"}) || len(o.Committed) != 0 || len(o.OperatorCommits) != 1 {
		t.Errorf("got %q, %+v", got, o)
	}
}

func TestObserveSubmodule(t *testing.T) {
	t.Parallel()
	lib := newRepo(t, map[string]string{"lib.txt": "l"})
	r := newRepo(t, map[string]string{"a": "a"})
	r.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.dir, "lib")
	r.commit("with a submodule")
	sub := filepath.Join(r.dir, "lib")
	b := r.baseline()
	if !b.Clean {
		t.Errorf("got %+v", b)
	}
	writeFile(t, filepath.Join(sub, "lib.txt"), "changed")
	o := r.observe(b, "")
	if got := changes(o); !cmp.Equal(got, []string{"modified lib"}) || len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], "submodule lib") {
		t.Errorf("got %q, %q", got, o.Warnings)
	}
	r.runIn(sub, nil, "commit", "-q", "-a", "-m", "in the submodule")
	o = r.observe(b, "")
	if got := changes(o); !cmp.Equal(got, []string{"modified lib"}) || len(o.Warnings) != 0 {
		t.Errorf("got %q, %q", got, o.Warnings)
	}
	// The same state as a person's own.
	if o := r.observe(r.baseline(), ""); len(o.Files) != 0 {
		t.Errorf("got %q", changes(o))
	}
	p := prepare(r, CheckpointRequest{Paths: []string{"lib"}, Message: "checkpoint"})
	apply(r, p)
	if got := r.run("ls-tree", "HEAD", "lib"); !strings.Contains(got, "160000 commit "+r.runIn(sub, nil, "rev-parse", "HEAD")) {
		t.Errorf("got %s", got)
	}
}

func TestObserveWithoutGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"a": "a", "b": "b", "c": "c", "node_modules/x": "x", ".agentxchain/state.json": "{}"} {
		writeFile(t, filepath.Join(dir, name), content)
	}
	w, err := open(t.Context(), dir, gitEnv(dir))
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.Baseline(t.Context())
	if err != nil || w.Kind() != NoGit || b.Kind != "no_git" || b.HeadRef != nil || !b.Clean {
		t.Fatalf("got %+v, %v", b, err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, b.DirtySnapshot.Keys()); diff != "" {
		t.Error(diff)
	}
	writeFile(t, filepath.Join(dir, "a"), "x")
	writeFile(t, filepath.Join(dir, "new"), "x")
	_ = os.Remove(filepath.Join(dir, "c"))
	o, err := w.Observe(t.Context(), b, "")
	if err != nil || o.Available || len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], "git init") {
		t.Fatalf("got %+v, %v", o, err)
	}
	if got := changes(o); !cmp.Equal(got, []string{"modified a", "deleted c", "created new"}) {
		t.Errorf("got %q", got)
	}
	// A baseline of the reference has no markers without git.
	if o, err := w.Observe(t.Context(), protocol.Baseline{Kind: "no_git"}, ""); err != nil || len(o.Files) != 0 || o.Available {
		t.Errorf("got %+v, %v", o, err)
	}
	for i := range walkFiles + 1 {
		writeFile(t, filepath.Join(dir, "many", strings.Repeat("x", i%50+1), string(rune('a'+i%26))+strings.Repeat("y", i/26)), "")
	}
	if b, err := w.Baseline(t.Context()); err != nil || b.Detail.Walked || b.DirtySnapshot.Len() != 0 {
		t.Errorf("got %d files, %v", b.DirtySnapshot.Len(), err)
	}
}

// A turn that was assigned by the reference has a baseline without Drawbar's own fields.
func TestObserveForeignBaseline(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a"})
	r.write("mine.sh", "m")
	chmod(t, filepath.Join(r.dir, "mine.sh"), 0o755)
	b := r.baseline()
	b.Detail = nil
	r.write("turn", "t")
	if got := changes(r.observe(b, "")); !cmp.Equal(got, []string{"created turn"}) {
		t.Errorf("got %q", got)
	}
}
