package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

func request(b *protocol.Baseline, paths ...string) CheckpointRequest {
	return CheckpointRequest{Paths: paths, Baseline: b, Message: Subject("turn_1", "dev", "implementation", "local-dev"),
		Trailers: [][2]string{{"Drawbar-Turn", "turn_1"}, {ChainTrailer, "abc123"}}}
}

// roundTrip is what is left of a prepared checkpoint after a crash: its JSON.
func roundTrip(t testing.TB, p Prepared) Prepared {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var q Prepared
	if err := json.Unmarshal(data, &q); err != nil {
		t.Fatal(err)
	}
	return q
}

func TestCheckpoint(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a", "b": "b", "mode.sh": "m", "dir/c": "c", "f": "f", ".gitignore": ".agentxchain/\n"})
	b := r.baseline()
	r.write("a", "turn")
	r.write("new\nname é", "turn")
	r.write("c:d", "no drive")
	r.remove("b")
	chmod(t, filepath.Join(r.dir, "mode.sh"), 0o755)
	symlink(t, "a", filepath.Join(r.dir, "link"))
	r.remove("f")
	r.write("f/g", "g")
	r.write("unclaimed", "not the turn's")
	killed := filepath.Join(r.dir, ".git/drawbar-index-2147483646-1")
	if err := errors.Join(os.Mkdir(killed, 0o700), os.Chtimes(killed, time.Time{}, time.Now().Add(-2*time.Hour))); err != nil {
		t.Fatal(err)
	}
	r.write(".agentxchain/reviews/r.md", "review")
	start := r.run("rev-parse", "HEAD")
	c := request(&b, "a", "b", "mode.sh", "link", "new\nname é", "c:d", "f", "f/g", ".agentxchain/reviews/r.md")
	c.Files = map[string][]byte{".agentxchain/chain.jsonl": []byte("{\"head\":\"abc123\"}\n")}
	before := r.short()
	p := prepare(r, c)
	if r.run("rev-parse", "HEAD") != start || r.short() != before {
		t.Errorf("preparing moved something:\n%s", r.short())
	}
	if p.Parent != start || p.Ref != "refs/heads/main" || len(p.Paths) != 10 {
		t.Errorf("got %+v", p)
	}
	apply(r, roundTrip(t, p))
	if got := r.run("log", "--format=%H %P %an <%ae>%n%B"); !strings.HasPrefix(got, p.Commit+" "+start+" Ann <ann@example.com>\n"+
		"checkpoint: turn_1 (role=dev, phase=implementation, runtime=local-dev)\n\nDrawbar-Turn: turn_1\nDrawbar-Chain-Head: abc123\n") {
		t.Errorf("got %s", got)
	}
	want := ":100644 100644 A .agentxchain/chain.jsonl|A .agentxchain/reviews/r.md|M a|D b|A c:d|D f|A f/g|A link|M mode.sh|A \"new\\nname \\303\\251\""
	got := strings.ReplaceAll(strings.ReplaceAll(r.run("diff-tree", "-r", "--name-status", "--no-commit-id", "HEAD"), "\t", " "), "\n", "|")
	if ":100644 100644 "+got != want {
		t.Errorf("got %s", got)
	}
	if got := r.run("show", "HEAD:.agentxchain/chain.jsonl"); got != `{"head":"abc123"}` {
		t.Errorf("got %s", got)
	}
	if exists(filepath.Join(r.dir, ".agentxchain/chain.jsonl")) {
		t.Error("the given content was written to the work tree")
	}
	r.write(".agentxchain/chain.jsonl", "{\"head\":\"abc123\"}\n") // as the ledger does
	if got := r.short(); got != "?? unclaimed\n" {
		t.Errorf("got status\n%s", got)
	}
	if got := r.run("reflog", "-1", "--format=%gs"); got != "checkpoint: turn_1 (role=dev, phase=implementation, runtime=local-dev)" {
		t.Errorf("got reflog %q", got)
	}
	// Again, and again after more commits.
	apply(r, p)
	r.write("later", "l")
	later := r.commit("later")
	apply(r, p)
	if r.run("rev-parse", "HEAD") != later || r.short() != "" {
		t.Errorf("applying again changed something:\n%s", r.short())
	}
	r.write("a", "later")
	r.run("commit", "-q", "-m", "later", "a")
	r.write("a", "staged")
	r.run("add", "a")
	if apply(r, p); r.run("show", ":a") != "staged" {
		t.Error("applying again took what is staged")
	}
	heads, err := r.Heads(t.Context())
	if err != nil || !cmp.Equal(heads, []string{"abc123"}) {
		t.Errorf("got %q, %v", heads, err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.dir, ".git/drawbar-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A checkpoint takes nothing from a person: not what is staged, not what is uncommitted, not the rest of the index.
func TestCheckpointKeepsAPersonsWork(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a", "mine": "m", "both": "1\n", "agent": "1"})
	r.write("mine", "staged")
	r.run("add", "mine")
	r.write("mine", "uncommitted")
	r.write("fresh", "staged anew")
	r.run("add", "fresh")
	r.write("both", "staged by a person\n")
	r.run("add", "both")
	b := r.baseline()
	r.write("a", "turn")
	r.write("both", "staged by a person\nturn\n")
	r.write("agent", "2")
	r.run("add", "agent") // agents stage what they like
	r.write("agent", "3")
	apply(r, prepare(r, request(&b, "a", "both", "agent")))
	if got := r.short(); got != "MM both\nA  fresh\nMM mine\n" {
		t.Errorf("got status\n%s", got)
	}
	for path, want := range map[string]string{":mine": "staged", ":fresh": "staged anew", ":both": "staged by a person", "HEAD:both": "staged by a person\nturn",
		"HEAD:mine": "m", "HEAD:agent": "3", ":agent": "3", ":a": "turn"} {
		if got := r.run("show", path); got != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	if r.read("mine") != "uncommitted" {
		t.Errorf("got %q", r.read("mine"))
	}
	// Without a baseline whatever is staged stays.
	r.write("a", "again")
	r.run("add", "a")
	r.write("a", "and again")
	apply(r, prepare(r, request(nil, "a")))
	if got := r.run("show", ":a"); got != "again" {
		t.Errorf("got %q", got)
	}
}

func TestCheckpointRunsNothingOfAPerson(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a"})
	fired := filepath.Join(t.TempDir(), "fired")
	for _, hook := range []string{"pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change", "prepare-commit-msg", "post-checkout"} {
		r.write(".git/hooks/"+hook, "#!/bin/sh\necho "+hook+" >>"+fired+"\nexit 1\n")
		chmod(t, filepath.Join(r.dir, ".git/hooks", hook), 0o755)
	}
	r.write("monitor", "#!/bin/sh\necho fsmonitor >>"+fired+"\n")
	chmod(t, filepath.Join(r.dir, "monitor"), 0o755)
	r.run("config", "core.fsmonitor", filepath.Join(r.dir, "monitor"))
	r.run("config", "commit.gpgsign", "true")
	r.run("config", "gpg.program", filepath.Join(t.TempDir(), "missing"))
	b := r.baseline()
	r.write("a", "turn")
	r.observe(b, "")
	apply(r, prepare(r, request(&b, "a")))
	if _, _, _, err := r.Worktree(t.Context(), "turn_2"); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(fired); err == nil {
		t.Errorf("ran: %s", data)
	}
}

func TestCheckpointIdentity(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a"})
	var err error
	bare := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}
	if r.Workspace, err = open(t.Context(), r.dir, bare); err != nil {
		t.Fatal(err)
	}
	r.write("a", "1")
	apply(r, prepare(r, request(nil, "a")))
	if got := r.run("log", "-1", "--format=%an %ae %cn"); got != "Drawbar drawbar@localhost Drawbar" {
		t.Errorf("got %s", got)
	}
	r.run("config", "user.name", "Configured")
	r.run("config", "user.email", "c@example.com")
	r.write("a", "2")
	apply(r, prepare(r, request(nil, "a")))
	if got := r.run("log", "-1", "--format=%an %ae"); got != "Configured c@example.com" {
		t.Errorf("got %s", got)
	}
}

func TestCheckpointElsewhere(t *testing.T) {
	t.Parallel()
	t.Run("detached", func(t *testing.T) {
		t.Parallel()
		r := newRepo(t, map[string]string{"a": "a"})
		start := r.run("rev-parse", "HEAD")
		r.run("checkout", "-q", "--detach")
		b := r.baseline()
		r.write("a", "turn")
		p := prepare(r, request(&b, "a"))
		if p.Ref != "HEAD" {
			t.Errorf("got %s", p.Ref)
		}
		apply(r, p)
		apply(r, p)
		if r.run("rev-parse", "HEAD") != p.Commit || r.run("rev-parse", "main") != start || r.short() != "" {
			t.Errorf("got %s", r.short())
		}
		r.write("a", "more")
		p = prepare(r, request(&b, "a"))
		r.run("checkout", "-q", "-B", "other")
		if err := r.Apply(t.Context(), p); !errors.Is(err, ErrMoved) {
			t.Errorf("got %v", err)
		}
		if got := r.run("symbolic-ref", "HEAD"); got != "refs/heads/other" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("no commit yet", func(t *testing.T) {
		t.Parallel()
		r := newRepo(t, nil)
		r.write("mine", "m")
		r.run("add", "mine")
		b := r.baseline()
		r.write("a", "turn")
		p := prepare(r, request(&b, "a"))
		if p.Parent != "" || p.Ref != "refs/heads/main" {
			t.Errorf("got %+v", p)
		}
		apply(r, roundTrip(t, p))
		apply(r, p)
		if got := r.run("ls-tree", "-r", "--name-only", "HEAD"); got != "a" || r.short() != "A  mine\n" {
			t.Errorf("got %s, %s", got, r.short())
		}
	})
	t.Run("no commit yet, and then one", func(t *testing.T) {
		t.Parallel()
		r := newRepo(t, nil, "--object-format=sha256")
		r.write("a", "turn")
		p := prepare(r, request(nil, "a"))
		r.write("op", "o")
		r.run("add", "op")
		r.run("commit", "-q", "-m", "first")
		if err := r.Apply(t.Context(), p); !errors.Is(err, ErrMoved) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("below the top", func(t *testing.T) {
		t.Parallel()
		r := newRepo(t, map[string]string{"a": "top", "app/a": "app"})
		r.open(filepath.Join(r.dir, "app"))
		b := r.baseline()
		r.write("app/a", "turn")
		r.write("a", "not the turn's")
		c := request(&b, "a")
		c.Files = map[string][]byte{"forced": []byte("f")}
		apply(r, prepare(r, c))
		if got := r.run("diff-tree", "-r", "--name-only", "--no-commit-id", "HEAD"); got != "app/a\napp/forced" || r.short() != " M a\n D app/forced\n" {
			t.Errorf("got %s\n%s", got, r.short())
		}
	})
	t.Run("another branch is checked out meanwhile", func(t *testing.T) {
		t.Parallel()
		r := newRepo(t, map[string]string{"a": "a"})
		r.write("a", "turn")
		p := prepare(r, request(nil, "a"))
		start := r.run("rev-parse", "HEAD")
		r.run("checkout", "-q", "-b", "other")
		apply(r, p)
		if r.run("rev-parse", "main") != p.Commit || r.run("rev-parse", "other") != start || r.short() != " M a\n" {
			t.Errorf("got %s", r.short())
		}
	})
	t.Run("without git", func(t *testing.T) {
		t.Parallel()
		w, err := open(t.Context(), t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Prepare(t.Context(), request(nil)); !errors.Is(err, ErrNoGit) || !strings.Contains(err.Error(), "git -C") {
			t.Errorf("got %v", err)
		}
		if heads, err := w.Heads(t.Context()); heads != nil || err != nil {
			t.Errorf("got %v, %v", heads, err)
		}
	})
}

func TestCheckpointRefuses(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a"})
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "secret"), "s")
	symlink(t, outside, filepath.Join(r.dir, "out"))
	r.write("nested/x", "x")
	r.runIn(filepath.Join(r.dir, "nested"), nil, "init", "-q")
	r.runIn(filepath.Join(r.dir, "nested"), nil, "commit", "-q", "--allow-empty", "-m", "nested")
	head, before := r.run("rev-parse", "HEAD"), r.short()
	for _, path := range []string{"../x", "/etc/passwd", "", "a/../../x", ".git/config", "a\x00b", "out/secret", "nested", ".GIT/x"} {
		if _, err := r.Prepare(t.Context(), request(nil, path)); err == nil {
			t.Errorf("%q is taken", path)
		}
	}
	for path := range map[string]bool{"../x": true, ".git/hooks/x": true} {
		c := request(nil)
		c.Files = map[string][]byte{path: nil}
		if _, err := r.Prepare(t.Context(), c); !errors.Is(err, ErrEscapes) {
			t.Errorf("%q: got %v", path, err)
		}
	}
	if err := r.Apply(t.Context(), Prepared{Commit: "--help", Ref: "refs/heads/main"}); err == nil {
		t.Error("a checkpoint that is none is applied")
	}
	if r.run("rev-parse", "HEAD") != head || r.short() != before {
		t.Error("something changed")
	}
}

// Somebody commits between Prepare and Apply.
func TestCheckpointRebases(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a", "both": "1"})
	b := r.baseline()
	r.write("a", "turn")
	r.write("both", "turn")
	r.write("new", "turn")
	p := prepare(r, request(&b, "a", "both", "new"))
	r.write("both", "turn, and the operator")
	r.write("op", "o")
	r.run("add", "op", "both")
	r.run("commit", "-q", "-m", "by hand")
	operator := r.run("rev-parse", "HEAD")
	err := r.Apply(t.Context(), p)
	if !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), "drawbar govern checkpoint") {
		t.Fatalf("got %v", err)
	}
	if r.run("rev-parse", "HEAD") != operator {
		t.Fatal("the branch was moved all the same")
	}
	q, err := r.Rebase(t.Context(), roundTrip(t, p))
	if err != nil {
		t.Fatal(err)
	}
	apply(r, q)
	if got := r.run("log", "--format=%s"); got != "checkpoint: turn_1 (role=dev, phase=implementation, runtime=local-dev)\nby hand\nstart" {
		t.Errorf("got %s", got)
	}
	if got := r.run("log", "-1", "--format=%(trailers)"); got != "Drawbar-Turn: turn_1\nDrawbar-Chain-Head: abc123\nDrawbar-Rebased-From: "+p.Commit {
		t.Errorf("got %s", got)
	}
	for path, want := range map[string]string{"a": "turn", "both": "turn, and the operator", "new": "turn", "op": "o"} {
		if got := r.run("show", "HEAD:"+path); got != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	if r.short() != "" {
		t.Errorf("got %s", r.short())
	}
	// Everything was committed by hand: the checkpoint is still made, for its trailers.
	r.write("a", "2")
	p = prepare(r, request(&b, "a"))
	r.commit("by hand again")
	if q, err = r.Rebase(t.Context(), p); err != nil || q.Parent != r.run("rev-parse", "HEAD") {
		t.Fatalf("got %+v, %v", q, err)
	}
	apply(r, q)
	if heads, err := r.Heads(t.Context()); err != nil || len(heads) != 2 {
		t.Errorf("got %q, %v", heads, err)
	}
}

// After a kill at any point the same Apply ends what was begun.
func TestCheckpointCrash(t *testing.T) {
	t.Parallel()
	type crash string
	for _, at := range []string{"prepared", "moved", "locked index"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, map[string]string{"a": "a", "gone": "g", "mine": "m"})
			r.write("mine", "staged")
			r.run("add", "mine")
			b := r.baseline()
			r.write("a", "turn")
			r.remove("gone")
			p := prepare(r, request(&b, "a", "gone"))
			func() {
				defer func() {
					if v := recover(); v != nil && v != crash(at) {
						panic(v)
					}
				}()
				if at == "prepared" {
					panic(crash(at))
				}
				_ = r.apply(t.Context(), p, func(point string) {
					if point == at || at == "locked index" {
						panic(crash(at))
					}
				})
			}()
			if at == "locked index" {
				// Another git holds the index: its lock is of a later moment than the wait for it.
				lock := filepath.Join(r.dir, ".git/index.lock")
				writeFile(t, lock, "")
				later := time.Now().Add(time.Minute)
				if err := os.Chtimes(lock, later, later); err != nil {
					t.Fatal(err)
				}
				if err := r.Apply(t.Context(), p); err == nil || !strings.Contains(err.Error(), "rm "+lock) {
					t.Errorf("got %v", err)
				}
				r.remove(".git/index.lock")
			}
			p = roundTrip(t, p)
			apply(r, p)
			apply(r, p)
			if r.run("rev-parse", "HEAD") != p.Commit || r.short() != "M  mine\n" || r.run("rev-list", "--count", "HEAD") != "2" {
				t.Errorf("got %s", r.short())
			}
		})
	}
}

// Line endings and filters are those that a person's git add would apply.
func TestCheckpointFilters(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a.txt": "a\n", ".gitattributes": "*.txt text eol=crlf\n*.up filter=up\n"})
	r.run("config", "filter.up.clean", "tr a-z A-Z")
	b := r.baseline()
	r.write("a.txt", "one\r\ntwo\r\n")
	r.write("x.up", "shout\n")
	r.filtered()
	apply(r, prepare(r, request(&b, "a.txt", "x.up")))
	if got := r.run("cat-file", "blob", "HEAD:a.txt"); got != "one\ntwo" {
		t.Errorf("got %q", got)
	}
	if got := r.run("cat-file", "blob", "HEAD:x.up"); got != "SHOUT" || r.short() != "" {
		t.Errorf("got %q, %s", got, r.short())
	}
}

func TestCheckpointOfManyFiles(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a", "gone": "g"})
	var paths []string
	for i := range 1200 {
		p := "many/" + strings.Repeat("long-name-", 8) + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		r.write(p, p)
		paths = append(paths, p)
	}
	r.remove("gone")
	b := r.baseline()
	apply(r, prepare(r, request(&b, append(paths, "gone")...)))
	if r.short() != "" || r.run("rev-list", "--count", "HEAD") != "2" {
		t.Errorf("got %s", r.short())
	}
}

func TestIndexesOfKilledProcessesAreCleared(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "1"})
	mine := filepath.Join(r.dir, ".git", fmt.Sprintf("%s%d-1", indexPrefix, os.Getppid()))
	dead := filepath.Join(r.dir, ".git", indexPrefix+"2147483647-1")
	for _, dir := range []string{mine, dead} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Open(t.Context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	_, done, err := w.privateIndex()
	if err != nil {
		t.Fatal(err)
	}
	done()
	if exists(dead) || !exists(mine) {
		t.Errorf("of a dead process: %t, of a living one: %t", exists(dead), exists(mine))
	}
}

func TestABrokenIndexIsExplained(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a"})
	r.write(".git/index", "no index")
	_, err := r.Baseline(t.Context())
	if err == nil || !strings.Contains(err.Error(), "rm "+filepath.Join(r.root, ".git/index")+" && git -C") {
		t.Errorf("got %v", err)
	}
}

// Another git that holds a lock for a moment is waited for.
func TestLocksAreWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a"})
	b := r.baseline()
	r.write("a", "turn")
	p := prepare(r, request(&b, "a"))
	lock := filepath.Join(r.dir, ".git/index.lock")
	writeFile(t, lock, "")
	free := time.AfterFunc(200*time.Millisecond, func() { _ = os.Remove(lock) })
	defer free.Stop()
	if apply(r, p); r.short() != "" {
		t.Errorf("got %s", r.short())
	}
}
