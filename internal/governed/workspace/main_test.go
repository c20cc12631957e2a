package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/testenv"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	pipePatience, settledAfter = 300*time.Millisecond, 10*time.Millisecond
	testenv.Setup(0)
	goleak.VerifyTestMain(m)
}

// repo is a repository with the workspace at its root.
type repo struct {
	*Workspace
	t   testing.TB
	dir string
}

// gitEnv is an environment in which no configuration of this machine counts.
func gitEnv(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com",
		"GIT_ALLOW_PROTOCOL=file"}
}

// newRepo makes a repository with one commit of the given files; without files it has no commit.
func newRepo(t testing.TB, files map[string]string, options ...string) *repo {
	t.Helper()
	r := &repo{t: t, dir: t.TempDir()}
	r.run(append([]string{"init", "-q", "-b", "main"}, options...)...)
	if len(files) > 0 {
		r.writeAll(files)
		r.commit("start")
	}
	r.open(r.dir)
	return r
}

func (r *repo) open(dir string, env ...string) {
	r.t.Helper()
	w, err := open(r.t.Context(), dir, append(gitEnv(r.dir), env...))
	if err != nil {
		r.t.Fatal(err)
	}
	r.Workspace = w
}

// run runs git as a person would.
func (r *repo) run(args ...string) string { return r.runIn(r.dir, nil, args...) }

func (r *repo) runIn(dir string, env []string, args ...string) string {
	r.t.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = dir, append(gitEnv(r.dir), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) commit(message string) string {
	r.t.Helper()
	r.run("add", "-A")
	r.run("commit", "-q", "--allow-empty", "-m", message)
	return r.run("rev-parse", "HEAD")
}

func (r *repo) write(name, content string) {
	r.t.Helper()
	writeFile(r.t, filepath.Join(r.dir, name), content)
}

func (r *repo) writeAll(files map[string]string) {
	r.t.Helper()
	for name, content := range files {
		r.write(name, content)
	}
}

func (r *repo) read(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return string(data)
}

func (r *repo) remove(name string) {
	r.t.Helper()
	if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) baseline() protocol.Baseline {
	r.t.Helper()
	b, err := r.Baseline(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

func (r *repo) observe(b protocol.Baseline, dir string) Observation {
	r.t.Helper()
	o, err := r.Observe(r.t.Context(), b, dir)
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

// status is what git tells a person, short.
func (r *repo) short() string {
	r.t.Helper()
	c := exec.Command("git", "status", "--short", "-uall")
	c.Dir, c.Env = r.dir, gitEnv(r.dir)
	out, err := c.Output()
	if err != nil {
		r.t.Fatal(err)
	}
	return string(out)
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func chmod(t testing.TB, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func symlink(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skip("links cannot be made here:", err)
	}
}

// runFails runs git where it must fail and returns what it says.
func (r *repo) runFails(args ...string) string {
	r.t.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = r.dir, gitEnv(r.dir)
	out, err := c.CombinedOutput()
	if err == nil {
		r.t.Fatalf("git %s did not fail", strings.Join(args, " "))
	}
	return string(out)
}

func prepare(r *repo, c CheckpointRequest) Prepared {
	r.t.Helper()
	p, err := r.Prepare(r.t.Context(), c)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

func apply(r *repo, p Prepared) {
	r.t.Helper()
	if err := r.Apply(r.t.Context(), p); err != nil {
		r.t.Fatal(err)
	}
}

// filtered vouches for the filters that are configured now.
func (r *repo) filtered() {
	r.t.Helper()
	w, err := r.WithFilters(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.Workspace = w
}
