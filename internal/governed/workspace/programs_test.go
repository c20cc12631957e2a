package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// TestNoProgramOfATurnRuns lets a turn name programs in every place in which git looks for some. Whatever Drawbar asks git then, none
// runs, and the change is found.
func TestNoProgramOfATurnRuns(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the programs of the attacks are shell scripts")
	}
	const attributes = "printf '*.txt filter=x diff=x\\n' > .gitattributes; "
	for _, tt := range []struct {
		name, before, attack string
		says                 string // of what is found; empty where nothing but files of the project changed
	}{
		{"a clean filter", "", attributes + `git config filter.x.clean "$RUN"`, "git config filter.x.clean: was not set"},
		{"a smudge filter", "", attributes + `git config filter.x.smudge "$RUN"`, "git config filter.x.smudge"},
		{"a process filter", "", attributes + `git config filter.x.process "$RUN"; git config filter.x.required true`, "git config filter.x.process"},
		{"a byte order mark", "", attributes + `{ printf '\357\273\277[filter "x"]\n clean = "%s"\n' "$RUN"; cat .git/config; } > c; mv c .git/config`, "filter.x.clean"},
		{"two sections on a line", "", attributes + `printf '[foo] [filter "x"] clean = "%s"\n' "$RUN" >> .git/config`, "filter.x.clean"},
		{"a continued line", "", attributes + `printf '[filter\t"x"]\n\tcl\\\nean = "%s"\n[filter "x"] clean = \\\n "%s"\n' "$RUN" "$RUN" >> .git/config || true; printf '[filter "x"]\nclean=\\\n"%s"\n' "$RUN" > .git/more; git config -f .git/more -l >/dev/null && { git config --unset-all include.path .; true; }; cp .git/start .git/config; cat .git/more >> .git/config`, "filter.x.clean"},
		{"the work tree's configuration", "git config extensions.worktreeConfig true", attributes + `git config --worktree filter.x.clean "$RUN"`, ".git/config.worktree"},
		{"the user's configuration", "", attributes + `git config --global filter.x.clean "$RUN"`, "filter.x.clean"},
		{"the user's other configuration", "", attributes + `mkdir -p "$HOME/.config/git"; git config -f "$HOME/.config/git/config" filter.x.clean "$RUN"`, "filter.x.clean"},
		{"a file that the user includes", `touch "$HOME/more"; git config --global include.path more`, attributes + `git config -f "$HOME/more" filter.x.clean "$RUN"`, "filter.x.clean"},
		{"a file that is included on a branch", "", attributes + `git config includeIf.onbranch:main.path more; git config -f .git/more filter.x.clean "$RUN"`, "includeif.onbranch:main.path"},
		{"another command of a known filter", `git config --global filter.x.clean cat`, attributes + `git config filter.x.clean "$RUN"`, "filter.x.clean"},
		{"a filter with a name of its own", "", `printf '*.txt filter=a.b\n' > .gitattributes; git config filter.a.b.clean "$RUN"; printf '[filter "c]\\"d"]\n clean = x\n[FILTER ""]\n clean = "%s"\n' "$RUN" >> .git/config`, "filter.a.b.clean"},
		{"the program of a known filter", `printf 'cat\n' > clean.sh; git config filter.x.clean 'sh ./clean.sh %f'; git add clean.sh; git commit -qm clean`,
			attributes + `printf '%s\n' "$RUN" > clean.sh`, "program of a git filter clean.sh changed"},
		{"a program of a known filter elsewhere", `mkdir "$HOME/bin"; printf '#!/bin/sh\ncat\n' > "$HOME/bin/clean"; chmod +x "$HOME/bin/clean"; git config --global filter.x.clean '~/bin/clean %f'`,
			attributes + `printf '#!/bin/sh\n%s\n' "$RUN" > "$HOME/bin/clean"`, "bin/clean changed"},
		{"attributes of the repository", `git config filter.x.clean cat`, `git config filter.x.clean "$RUN"; printf '*.txt filter=x\n' > .git/info/attributes`, ".git/info/attributes is new"},
		{"attributes of the user", "", `mkdir -p "$HOME/.config/git"; printf '*.txt filter=x\n' > "$HOME/.config/git/attributes"; git config filter.x.clean "$RUN"`, "git attributes file"},
		{"ignored files of the user", "", `mkdir -p "$HOME/.config/git"; echo hidden > "$HOME/.config/git/ignore"; echo x > hidden`, "git ignore file"},
		{"a watcher of files", "", `git config core.fsmonitor "$RUN"`, "git config core.fsmonitor"},
		{"a hook", "", `for h in post-checkout post-index-change reference-transaction pre-commit; do printf '#!/bin/sh\n%s\n' "$RUN" > .git/hooks/$h; chmod +x .git/hooks/$h; done`, "git hook .git/hooks/post-checkout is new"},
		{"a folder of hooks", "", `mkdir h; for h in post-checkout post-index-change reference-transaction; do printf '#!/bin/sh\n%s\n' "$RUN" > h/$h; chmod +x h/$h; done; git config core.hooksPath "$PWD/h"`, "git config core.hookspath"},
		{"hooks of a folder that is named already", `mkdir .git/h; git config core.hooksPath .git/h`, `printf '#!/bin/sh\n%s\n' "$RUN" > .git/h/post-checkout; chmod +x .git/h/post-checkout`, "git hook .git/h/post-checkout is new"},
		{"drivers of differences", "", attributes + `git config diff.x.textconv "$RUN"; git config diff.x.command "$RUN"; git config diff.external "$RUN"; git config log.showSignature true; git config gpg.program "$RUN"`, "git config diff.external"},
		{"a remote that is a program", "", `git config protocol.ext.allow always; git config remote.r.url "ext::sh -c $RUN"; git config remote.r.promisor true; git config extensions.partialClone r; git config remote.r.uploadpack "$RUN"; rm .git/objects/$(git rev-parse HEAD:a.txt | sed 's|^..|&/|')`, "git config remote.r.url"},
		{"what a person's git runs", "", `git config alias.st "!$RUN"; git config core.sshCommand "$RUN"; git config credential.helper "!$RUN"; git config core.editor "$RUN"; git config core.pager "$RUN"; git config sequence.editor "$RUN"`, "git config alias.st"},
		{"where a person's git sends", `git remote add origin https://example.com/a`, `git config url.https://evil.example/.pushInsteadOf https://example.com/`, "git config url.https://evil.example/.pushinsteadof"},
		{"objects of another repository", "", `git init -q --bare ../other; echo "$PWD/../other/objects" > .git/objects/info/alternates`, ".git/objects/info/alternates is new"},
		{"a gitlink", "", `git init -q sub; cd sub; echo s > s.txt; git add -A; git commit -qm s; cd ..; git add sub; cd sub; printf '*.txt filter=x\n' > .gitattributes; git config filter.x.clean "$RUN"; git config core.fsmonitor "$RUN"; touch s.txt; echo t > s.txt`, ""},
		{"a gitlink that says it is a submodule", "", `git init -q sub; cd sub; echo s > s.txt; git add -A; git commit -qm s; cd ..; git add sub; printf '[submodule "sub"]\n path = sub\n url = x\n' > .gitmodules; cd sub; printf '*.txt filter=x\n' > .gitattributes; git config filter.x.clean "$RUN"; git config core.fsmonitor "$RUN"; echo t > s.txt`, ""},
		{"a submodule of the project", `git init -q ../lib; cd ../lib; echo s > s.txt; git add -A; git commit -qm s; cd "$OLDPWD"; git -c protocol.file.allow=always submodule --quiet add ../lib sub; git commit -qm sub`,
			`cd sub; printf '*.txt filter=x\n' > .gitattributes; git config filter.x.clean "$RUN"; git config core.fsmonitor "$RUN"; echo t > s.txt`, ""},
		{"how a submodule is updated", `git init -q ../lib; cd ../lib; echo s > s.txt; git add -A; git commit -qm s; cd "$OLDPWD"; git -c protocol.file.allow=always submodule --quiet add ../lib sub; git commit -qm sub`,
			`git config submodule.sub.update "!$RUN"; git -C sub config uploadpack.packObjectsHook "$RUN"; git -C sub config core.sshCommand "$RUN"; git config submodule.sub.url "ext::sh -c $RUN"; for h in post-checkout reference-transaction; do printf '#!/bin/sh\n%s\n' "$RUN" > .git/modules/sub/hooks/$h; chmod +x .git/modules/sub/hooks/$h; done`, "submodule.sub.u"},
		{"another work tree", "", `mkdir ../else; git config core.worktree ../../else`, "git config core.worktree"},
		{"a pointer to a clone", "", `git clone -q . ../clone; cd ../clone; git config filter.x.clean "$RUN"; cd "$OLDPWD"; mv .git ../stolen; echo "gitdir: $(cd ../clone; pwd -P)/.git" > .git; ` + attributes, "git keeps its history in"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			root, home, ran := filepath.Join(dir, "project"), filepath.Join(dir, "home"), filepath.Join(dir, "ran")
			for _, d := range []string{root, home} {
				if err := os.Mkdir(d, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "RUN=touch " + ran + "; cat", "GIT_ALLOW_PROTOCOL=file"}
			sh := func(script string) {
				t.Helper()
				c := exec.Command("sh", "-ec", script)
				c.Dir, c.Env = root, env
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", script, err, out)
				}
			}
			sh(`git config --global user.name Ann; git config --global user.email ann@example.com
				git init -q -b main; echo a > a.txt; echo b > b.txt; git add -A; git commit -qm start; cp .git/config .git/start
				` + tt.before)
			_ = os.Remove(ran)
			w, err := open(t.Context(), root, env)
			if err != nil {
				t.Fatal(err)
			}
			vouched, err := w.WithFilters(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			base, err := w.Baseline(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			before, err := w.Binding(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			sh(tt.attack)
			sh("echo changed > a.txt; touch b.txt; echo new > new.txt")
			_ = os.Remove(ran)                                          // what the attack itself has run
			if fresh, err := open(t.Context(), root, env); err == nil { // else the one from before is what a command has
				w = fresh
			}
			now, err := w.Binding(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			found := false
			var all []string
			for _, r := range Rebounds(before, now) {
				found = found || strings.Contains(r.Text, tt.says) && r.Effect != Harmless
				all = append(all, r.Text)
			}
			if tt.says != "" && !found {
				t.Errorf("found %q, want %s", all, tt.says)
			}
			own := *vouched
			own.gitDir, own.common = w.gitDir, w.common
			for _, w := range []*Workspace{w, &own} {
				everything(t, w, base)
				if _, err := os.Stat(ran); err == nil && (w != &own || !strings.Contains(tt.name, "program of a known filter")) { // Binding is asked before it is vouched for
					t.Fatal("a program of the turn ran")
				}
			}
		})
	}
}

// everything asks git all that a governed run asks it. What fails for an attack fails.
func everything(t *testing.T, w *Workspace, base protocol.Baseline) {
	t.Helper()
	ctx := t.Context()
	_, err := w.Baseline(ctx)
	for _, f := range []func() error{
		func() error { _, err := w.Observe(ctx, base, ""); return err },
		func() error { _, err := w.Binding(ctx, ""); return err },
		func() error { _, err := w.Heads(ctx); return err },
		func() error { _, err := w.Diff(ctx, "", *base.HeadRef, false); return err },
		func() error { _, _, err := w.DiffFrom(ctx, *base.HeadRef, "", false); return err },
		func() error {
			p, err := w.Prepare(ctx, CheckpointRequest{Paths: []string{"a.txt", "new.txt"}, Message: "checkpoint", Baseline: &base})
			if err == nil {
				err = w.Apply(ctx, p)
			}
			return err
		},
		func() error {
			if _, _, _, err := w.Worktree(ctx, "turn_1"); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(w.worktreeDir("turn_1"), "b.txt"), []byte("theirs"), 0o600); err != nil {
				return err
			}
			_, err := w.Merge(ctx, "turn_1", []string{"b.txt"})
			return err
		},
		func() error { return w.Drop(ctx, "turn_1") },
		func() error { _, err := w.Discard(ctx, base, "", []string{"b.txt", "new.txt"}); return err },
	} {
		if e := f(); e != nil {
			err = e
		}
	}
	if err != nil {
		t.Log(err)
	}
}

// TestHarmlessSettingsAreNotHeld: what agents set every day stays a thing to tell.
func TestHarmlessSettingsAreNotHeld(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a": "a"})
	bind := func() protocol.Ordered[string] {
		t.Helper()
		b, err := r.Binding(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	before := bind()
	for _, set := range [][]string{{"user.name", "Bot"}, {"branch.topic.remote", "origin"}, {"branch.topic.merge", "refs/heads/topic"}, {"pull.rebase", "true"}, {"lfs.repositoryformatversion", "0"}} {
		r.run("config", set[0], set[1])
	}
	r.run("remote", "add", "fork", "https://ann:hunter2hunter2@example.com/x.git")
	now := bind()
	list := Rebounds(before, now)
	text := ""
	for _, c := range list {
		text += c.Text + "\n"
		if c.Effect != Harmless {
			t.Errorf("held: %s", c.Text)
		}
	}
	if len(list) != 7 || !strings.Contains(text, `git config user.name: was not set, and is "Bot" in .git/config`) {
		t.Errorf("got %d:\n%s", len(list), text)
	}
	for name, value := range now.All() {
		if strings.Contains(name+value, "hunter2") {
			t.Errorf("%s is %s", name, value)
		}
	}
	// The same secret, changed, is another value; a comment is none.
	r.run("config", "remote.fork.url", "https://ann:other-other@example.com/x.git")
	if list := Rebounds(now, bind()); len(list) != 1 || list[0].Effect != Rules || strings.Contains(list[0].Text, "other") || strings.Contains(list[0].Text, "#") {
		t.Errorf("got %+v", list)
	}
	now = bind()
	r.write(".git/config", "# a remark\n"+r.read(".git/config"))
	if list := Rebounds(now, bind()); len(list) != 1 || list[0].Effect != Harmless {
		t.Errorf("got %+v", list)
	}
}

// TestUsersFilterRuns: a filter that was there before the turn works as it did, for files that the turn makes.
func TestUsersFilterRuns(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{".gitattributes": "*.up filter=up\n", "a": "a"})
	r.run("config", "filter.up.clean", "tr a-z A-Z")
	r.run("config", "filter.up.smudge", "tr A-Z a-z")
	r.filtered()
	b := r.baseline()
	r.write(".gitattributes", "*.up filter=up\n*.loud filter=up\n") // as git lfs track does
	r.write("x.loud", "shout\n")
	apply(r, prepare(r, request(&b, ".gitattributes", "x.loud")))
	if got := r.run("cat-file", "blob", "HEAD:x.loud"); got != "SHOUT" {
		t.Errorf("got %q", got)
	}
	r.run("config", "filter.up.clean", "rev")
	if o := r.observe(r.baseline(), ""); len(o.Files) != 0 {
		t.Errorf("got %q", changes(o))
	}
}
