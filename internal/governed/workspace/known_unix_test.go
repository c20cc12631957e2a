//go:build unix

package workspace

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// counted puts a git before git that notes each call, and counts the calls with a text in them.
func counted(t *testing.T, w *Workspace, text string) (asked func() int) {
	t.Helper()
	dir := t.TempDir()
	log, program := filepath.Join(dir, "log"), filepath.Join(dir, "bin", "git")
	writeFile(t, program, "#!/bin/sh\necho \"$*\" >> '"+log+"'\nexec '"+w.program+"' \"$@\"\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	w.program = program
	return func() int {
		data, _ := os.ReadFile(log)
		return strings.Count(string(data), text)
	}
}

// settle waits until a change of a file that comes now would show in its times.
func settle() { time.Sleep(2 * settledAfter) }

// TestKnownSettings: git is asked for its settings once, and again after every change of what it reads for them.
func TestKnownSettings(t *testing.T) {
	t.Parallel()
	sameTime := func(r *repo, name string, change func()) {
		path := filepath.Join(r.dir, name)
		info, err := os.Stat(path)
		if err != nil {
			r.t.Fatal(err)
		}
		change()
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			r.t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		before, change func(r *repo)
		same           bool
		value          string
	}{
		"nothing":              {same: true},
		"files of the project": {change: func(r *repo) { r.write("a", "2"); r.commit("more") }, same: true},
		"a value":              {change: func(r *repo) { r.run("config", "color.test", "2") }},
		"a value as long, time kept": {change: func(r *repo) {
			sameTime(r, ".git/config", func() { r.write(".git/config", strings.Replace(r.read(".git/config"), "test = 1", "test = 2", 1)) })
		}},
		"another file in its place": {change: func(r *repo) {
			sameTime(r, ".git/config", func() {
				r.write(".git/other", strings.Replace(r.read(".git/config"), "test = 1", "test = 2", 1))
				if err := os.Rename(filepath.Join(r.dir, ".git/other"), filepath.Join(r.dir, ".git/config")); err != nil {
					r.t.Fatal(err)
				}
			})
		}},
		"the user's settings appear": {change: func(r *repo) { r.write("home/git/config", "[color]\n\tother = 2\n") }, value: "1"},
		"an included file appears": {before: func(r *repo) { r.run("config", "include.path", "more") },
			change: func(r *repo) { r.write(".git/more", "[color]\n\ttest = 2\n") }},
		"an included file below the home": {before: func(r *repo) { r.run("config", "include.path", "~/more") },
			change: func(r *repo) { r.write("more", "[color]\n\ttest = 2\n") }},
		"another branch": {before: func(r *repo) {
			r.write(".git/more", "[color]\n\ttest = 2\n")
			r.run("config", "includeIf.onbranch:side.path", "more")
		},
			change: func(r *repo) { r.run("checkout", "-q", "-b", "side") }},
		"settings of the work tree": {before: func(r *repo) { r.run("config", "extensions.worktreeConfig", "true") },
			change: func(r *repo) { r.run("config", "--worktree", "color.test", "2") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, map[string]string{"a": "1"})
			r.run("config", "color.test", "1")
			if c.before != nil {
				c.before(r)
			}
			r.env = append(environment(gitEnv(r.dir)), "GIT_CONFIG_GLOBAL=", "XDG_CONFIG_HOME="+filepath.Join(r.dir, "home"))
			asked := counted(t, r.Workspace, "config --list")
			settle()
			look := func() string {
				all, err := r.configured(t.Context(), r.root)
				if err != nil {
					t.Fatal(err)
				}
				value := ""
				for _, s := range all {
					if s.key == "color.test" {
						value = s.value
					}
				}
				return value
			}
			if one, again := look(), look(); one != "1" || again != "1" || asked() != 1 {
				t.Fatalf("%q and %q, asked %d times", one, again, asked())
			}
			if c.change != nil {
				c.change(r)
			}
			want, times := cmp.Or(c.value, "2"), 2
			if c.same {
				want, times = "1", 1
			}
			if got := look(); got != want || asked() != times {
				t.Errorf("%q, asked %d times; want %q, %d times", got, asked(), want, times)
			}
		})
	}
}

// TestYoungSettingsAreNotKept: of a file that changed just now, the next change might have the same times.
func TestYoungSettingsAreNotKept(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "1"})
	files := []string{filepath.Join(r.dir, ".git", "config"), filepath.Join(r.dir, "none")}
	one := []setting{{key: "a.b"}}
	for name, c := range map[string]struct {
		begun time.Time
		kept  bool
	}{"young": {time.Now(), false}, "of the future": {time.Now().Add(-time.Hour), false}, "old": {time.Now().Add(time.Hour), true}} {
		var k knownSettings
		r.write(".git/config", r.read(".git/config"))
		k.put(r.dir, one, files, c.begun)
		if got := k.get(r.dir) != nil; got != c.kept {
			t.Errorf("%s: kept %v", name, got)
		}
	}
}

// TestPlainRepository: what is found without git is what git finds, and what is not plain is left to git.
func TestPlainRepository(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(r *repo)
		below  string
		plain  bool
	}{
		"as it was made":      {plain: true},
		"from a folder in it": {below: "sub/deeper", plain: true},
		"a known extension": {change: func(r *repo) {
			r.run("config", "core.repositoryFormatVersion", "1")
			r.run("config", "extensions.preciousObjects", "true")
		}, plain: true},
		"another work tree": {change: func(r *repo) {
			writeFile(r.t, filepath.Join(r.t.TempDir(), "x"), "")
			r.run("config", "core.worktree", filepath.Join(r.dir, "sub"))
		}, below: "sub"},
		"bare": {change: func(r *repo) { r.run("config", "core.bare", "true") }},
		"an unknown extension": {change: func(r *repo) {
			r.run("config", "core.repositoryFormatVersion", "1")
			r.run("config", "extensions.unknown", "1")
		}},
		"a later format":               {change: func(r *repo) { r.run("config", "core.repositoryFormatVersion", "2") }},
		"settings that cannot be read": {change: func(r *repo) { r.write(".git/config", "[core\n") }},
		"no HEAD":                      {change: func(r *repo) { r.remove(".git/HEAD") }},
		"another HEAD":                 {change: func(r *repo) { r.write(".git/HEAD", "nothing") }},
		"kept elsewhere": {change: func(r *repo) {
			if err := os.Rename(filepath.Join(r.dir, ".git"), filepath.Join(r.dir, "kept")); err != nil {
				r.t.Fatal(err)
			}
			if err := os.Symlink("kept", filepath.Join(r.dir, ".git")); err != nil {
				r.t.Fatal(err)
			}
		}},
		"of a work tree": {change: func(r *repo) { r.write(".git/commondir", ".") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, map[string]string{"a": "1", "sub/deeper/b": "2"})
			if c.change != nil {
				c.change(r)
			}
			root, err := filepath.EvalSymlinks(filepath.Join(r.dir, c.below))
			if err != nil {
				t.Fatal(err)
			}
			mark := findRepository(root)
			w := &Workspace{root: root, program: r.program, env: r.env, known: &knownSettings{}, index: &knownIndex{}}
			got := w.plain(t.Context(), mark)
			if (got != nil) != c.plain {
				t.Fatalf("plain: %v", got != nil)
			}
			if got == nil {
				return
			}
			if err := w.locate(t.Context(), mark); err != nil {
				t.Fatal(err)
			}
			if got.top != w.top || got.prefix != w.prefix || got.gitDir != w.gitDir || got.common != w.common || got.kind != w.kind || got.mark != w.mark {
				t.Errorf("found %+v\ngit says %+v", got, w)
			}
			all, err := w.configured(t.Context(), root)
			if err != nil {
				t.Fatal(err)
			}
			common, hooks, err := w.places(t.Context(), all)
			if want, _ := w.gitPath(t.Context(), "--git-path", "hooks"); err != nil || hooks != want || common != w.common {
				t.Errorf("%s, %s, %v", common, hooks, err)
			}
		})
	}
}

// TestProcessesOfATurn: the usual turn, which changes a file of an ordinary repository, costs five processes of git after the one that asks
// for the settings.
func TestProcessesOfATurn(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "1"})
	started := counted(t, r.Workspace, "\n")
	settle()
	if _, err := r.Binding(t.Context(), ""); err != nil { // asks for the settings, unless the first look at them was late enough
		t.Fatal(err)
	}
	asked := started()
	turn := func(content string) {
		if _, err := r.Binding(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		b := r.baseline()
		r.write("a", content)
		if _, err := r.Binding(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		r.observe(b, "")
		apply(r, prepare(r, request(&b, "a")))
	}
	turn("2")
	if n := started() - asked; n != 5 {
		t.Errorf("%d processes for the first turn", n)
	}
	turn("3")
	if n := started() - asked; n != 10 {
		t.Errorf("%d processes for two turns", n)
	}
}

// TestSettled: how long a change can hide depends on how fine the times of the file system are.
func TestSettled(t *testing.T) {
	// Not parallel: it needs the limit that other tests shorten.
	defer func(was time.Duration) { settledAfter = was }(settledAfter)
	settledAfter = 3 * time.Second
	coarse, fine := time.Unix(1000, 0), time.Unix(1000, 123456)
	for _, tc := range []struct {
		stamp fileStamp
		after time.Duration
		want  bool
	}{
		{fileStamp{there: true, changed: coarse}, settledAfter - 1, false},
		{fileStamp{there: true, changed: coarse}, settledAfter, true},
		{fileStamp{there: true, changed: fine}, settledFine - 1, false},
		{fileStamp{there: true, changed: fine}, settledFine, true},
		{fileStamp{}, 0, true},
	} {
		if got := tc.stamp.settled(tc.stamp.changed.Add(tc.after)); got != tc.want {
			t.Errorf("%+v after %v: %v", tc.stamp, tc.after, got)
		}
	}
}
