package workspace

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

func TestBaseline(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a", "b": "b", "c": "c", "s": "s", ".gitignore": "ignored\n"})
	b := r.baseline()
	if head := r.run("rev-parse", "HEAD"); b.Kind != "git_worktree" || b.HeadRef == nil || *b.HeadRef != head || b.Branch != "main" ||
		!b.Clean || b.DirtySnapshot.Len() != 0 || b.CapturedAt.IsZero() {
		t.Errorf("got %+v", b)
	}
	r.write(".agentxchain/reviews/x.md", "exempt")
	r.write(".agentxchain/history.jsonl", "operational")
	r.write("ignored", "i")
	if b := r.baseline(); !b.Clean || !cmp.Equal(b.DirtySnapshot.Keys(), []string{".agentxchain/reviews/x.md"}) {
		t.Errorf("got %+v", b)
	}
	r.write("a", "hello\n")
	r.remove("b")
	r.write("new", "")
	chmod(t, filepath.Join(r.dir, "c"), 0o755)
	symlink(t, "nowhere", filepath.Join(r.dir, "l"))
	r.write("s", "staged")
	r.run("add", "s")
	r.run("rm", "-q", "--cached", "b")
	b = r.baseline()
	line, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	var back protocol.Baseline
	if err := json.Unmarshal(line, &back); err != nil {
		t.Fatal(err)
	}
	got := maps.Collect(back.DirtySnapshot.All())
	want := map[string]string{
		".agentxchain/reviews/x.md": "sha256:" + digest("exempt"),
		"a":                         "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
		"b":                         "deleted",
		"new":                       "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"c":                         "sha256:" + digest("c"),
		"l":                         "link:sha256:" + digest("nowhere"),
		"s":                         "sha256:" + digest("staged"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if back.Clean || !cmp.Equal(back.Detail.Executable, []string{"c"}) || !cmp.Equal(back.Detail.Staged.Keys(), []string{"b", "s"}) || back.Detail.Staged.At("b") != "deleted" {
		t.Errorf("got %s", line)
	}
	r.run("stash", "-q", "-u")
	r.run("checkout", "-q", "--detach")
	if b := r.baseline(); b.Branch != "" || b.HeadRef == nil || !b.Clean {
		t.Errorf("got %+v", b)
	}
}

// A conflict of a merge is dirt like any other.
func TestBaselineInAMerge(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a\n"})
	r.run("checkout", "-q", "-b", "side")
	r.write("a", "side\n")
	r.commit("side")
	r.run("checkout", "-q", "main")
	r.write("a", "main\n")
	r.commit("main")
	c := r.runFails("merge", "side")
	if !strings.Contains(c, "CONFLICT") {
		t.Fatal(c)
	}
	b := r.baseline()
	if b.Clean || !cmp.Equal(b.DirtySnapshot.Keys(), []string{"a"}) {
		t.Errorf("got %+v", b)
	}
	if o := r.observe(b, ""); len(o.Files) != 0 {
		t.Errorf("got %q", changes(o))
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a"})
	for _, tt := range []struct {
		name string
		make func(t *testing.T) (dir string, env []string)
		want []string
	}{
		{"bare", func(t *testing.T) (string, []string) {
			dir := filepath.Join(t.TempDir(), "bare.git")
			r.run("clone", "-q", "--bare", r.dir, dir)
			return dir, nil
		}, []string{"is bare", "worktree add"}},
		{"inside .git", func(*testing.T) (string, []string) { return filepath.Join(r.dir, ".git"), nil }, []string{"inside a git directory"}},
		{"no HEAD", func(t *testing.T) (string, []string) {
			dir := t.TempDir()
			r.run("clone", "-q", r.dir, dir)
			_ = os.Remove(filepath.Join(dir, ".git/HEAD"))
			return dir, nil
		}, []string{"broken", "git -C"}},
		{"bad configuration", func(t *testing.T) (string, []string) {
			dir := t.TempDir()
			r.run("clone", "-q", r.dir, dir)
			writeFile(t, filepath.Join(dir, ".git/config"), "[core\n")
			return dir, nil
		}, []string{"bad config", "git -C"}},
		{"bad .git file", func(t *testing.T) (string, []string) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, ".git"), "gitdir: "+filepath.Join(dir, "missing")+"\n")
			return dir, nil
		}, []string{"not a git repository", "git -C"}},
		{"another user's", func(t *testing.T) (string, []string) {
			dir := t.TempDir()
			r.run("clone", "-q", r.dir, dir)
			if err := os.Chown(dir, 12345, 12345); err != nil {
				t.Skip("cannot give a folder to another user:", err)
			}
			_ = os.Chown(filepath.Join(dir, ".git"), 12345, 12345)
			return dir, nil
		}, []string{"another user", "git config --global --add safe.directory"}},
		{"missing", func(t *testing.T) (string, []string) { return filepath.Join(t.TempDir(), "missing"), nil }, []string{"missing", "agentxchain.json"}},
		{"a file", func(*testing.T) (string, []string) { return filepath.Join(r.dir, "a"), nil }, []string{"not a directory"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, env := tt.make(t)
			_, err := open(t.Context(), dir, append(gitEnv(dir), env...))
			for _, part := range tt.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("got %v, want %q in it", err, part)
				}
			}
		})
	}
}

func TestOpenWithoutGitProgram(t *testing.T) {
	r := newRepo(t, map[string]string{"a": "a"})
	t.Setenv("PATH", t.TempDir())
	if _, err := Open(t.Context(), r.dir); err == nil || !strings.Contains(err.Error(), "install git") {
		t.Errorf("got %v", err)
	}
	w, err := Open(t.Context(), t.TempDir())
	if err != nil || w.Kind() != NoGit {
		t.Errorf("got %v, %v", w, err)
	}
}

// What looks for a repository or an index in the environment does not mislead.
func TestEnvironmentIsNotInherited(t *testing.T) {
	t.Parallel()
	other := newRepo(t, map[string]string{"other": "o"})
	r := newRepo(t, map[string]string{"a": "a"})
	r.open(r.dir, "GIT_DIR="+filepath.Join(other.dir, ".git"), "GIT_WORK_TREE="+other.dir, "GIT_INDEX_FILE="+filepath.Join(other.dir, ".git/index"),
		"GIT_OBJECT_DIRECTORY="+filepath.Join(other.dir, "missing"), "GIT_NAMESPACE=x", "GIT_TRACE=1", "LC_ALL=de_DE.UTF-8", "ANTHROPIC_API_KEY=secret", "GIT_CONFIG_PARAMETERS='core.bare=true'")
	r.write("a", "x")
	if b := r.baseline(); b.Clean || *b.HeadRef != r.run("rev-parse", "HEAD") || !cmp.Equal(b.DirtySnapshot.Keys(), []string{"a"}) {
		t.Errorf("got %+v", b)
	}
	for _, v := range r.env {
		if strings.Contains(v, "secret") || strings.HasPrefix(v, "GIT_DIR=") || strings.HasPrefix(v, "LC_ALL=de") {
			t.Errorf("git gets %s", v)
		}
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("# branch.oid (initial)\x00# branch.head main\x00? new\nline\x00? nested/\x00"))
	f.Add([]byte("# branch.oid 1234\x001 .M N... 100644 100644 100644 11 22 a b\x00u UU N... 100644 100644 100644 100644 1 2 3 x\x002 R. N... 1 2 3 4 5 R100 to\x00from\x00"))
	f.Add([]byte("1 D. N... 100644 000000 000000 aa bb gone\x00? gone\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseStatus(data)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, e := range s.entries {
			if e.path == "" || seen[e.path] {
				t.Errorf("entry %+v is empty or twice", e)
			}
			seen[e.path] = true
		}
	})
}

func FuzzParseLogs(f *testing.F) {
	id := strings.Repeat("a", 40)
	f.Add([]byte("\x01" + id + "\x02subject\x00\nfile\x00\x00\x01" + id + "\x02empty\x00"))
	f.Add([]byte(":100644 000000 " + id + " " + id + " D\x00path\x00"))
	f.Add([]byte(id + " drawbar turn_1: subject\x00" + id + " commit: x\x00"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		w := &Workspace{}
		w.parseLog(data)
		_, _ = w.parseRaw(data)
		parseReflog(data)
	})
}
