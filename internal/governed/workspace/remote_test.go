package workspace

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func (r *repo) remote(env ...string) *Remote {
	r.t.Helper()
	m, err := r.OpenRemote(r.t.Context(), "origin", filepath.Join(r.dir, "remote.git"), env)
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// A commit that no work tree made arrives as it was written, in repositories of both kinds, whatever the files are called.
func TestRemote(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		hub := &repo{t: t, dir: t.TempDir()}
		hub.run("init", "-q", "--bare", "--object-format="+format)
		r := newRepo(t, map[string]string{"a.txt": "a\n"}, "--object-format="+format)
		r.run("remote", "add", "origin", hub.dir)
		r.open(r.dir)
		m := r.remote()
		files := map[string][]byte{"x/y.json": []byte("{}"), "empty": {}, "ä \"q\" \\ n": []byte("odd\n"), "crlf": []byte("a\r\n\x00b")}
		head, _ := r.Head(t.Context())
		first, err := m.Write(t.Context(), Draft{Also: []string{head}, Time: time.Unix(1e9, 0), Name: "Ann <x>\n", Message: "one\n", Files: files})
		if err != nil {
			t.Fatal(err)
		}
		second, err := m.Write(t.Context(), Draft{From: first, Time: time.Unix(1e9, 0), Message: "two\n", Files: map[string][]byte{"crlf": nil, "empty": []byte("no")}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.run("log", "--format=%an %ae %at %s", second, "--"); got != "Drawbar "+fallbackEmail+" 1000000000 two\nAnn x "+fallbackEmail+" 1000000000 one\n"+r.run("log", "-1", "--format=%an %ae %at %s", head) {
			t.Errorf("%s", got)
		}
		tree, err := r.Tree(t.Context(), first)
		names := slices.Sorted(maps.Keys(files))
		if err != nil || !slices.Equal(slices.Sorted(maps.Keys(tree)), names) {
			t.Fatalf("%v %v", tree, err)
		}
		var ids []string
		for _, name := range names {
			ids = append(ids, tree[name])
		}
		contents, err := r.Contents(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			if string(contents[i]) != string(files[name]) {
				t.Errorf("%s: %q", name, contents[i])
			}
		}
		if tree, err := r.Tree(t.Context(), second); err != nil || len(tree) != 3 || tree["crlf"] != "" {
			t.Errorf("%v %v", tree, err)
		}

		const ref = "refs/x/one"
		if err := m.Push(t.Context(), ref, "", first); err != nil {
			t.Fatal(err)
		}
		for old, commit := range map[string]string{"": second, second: second} { // there is one; it is another one
			if err := m.Push(t.Context(), ref, old, commit); !errors.Is(err, ErrRefMoved) {
				t.Errorf("from %q: %v", old, err)
			}
		}
		if err := m.Push(t.Context(), ref, first, second); err != nil {
			t.Error(err)
		}
		if err := m.Push(t.Context(), ref, first, second); err != nil {
			t.Errorf("what has arrived already: %v", err)
		}
		other := newRepo(t, map[string]string{"b.txt": "b\n"}, "--object-format="+format)
		other.run("remote", "add", "origin", hub.dir)
		other.open(other.dir)
		there := other.remote()
		if refs, err := there.Refs(t.Context(), "refs/x/"); err != nil || len(refs) != 1 || refs[ref] != second {
			t.Errorf("%v %v", refs, err)
		}
		if err := there.Fetch(t.Context(), []string{ref}); err != nil {
			t.Fatal(err)
		}
		if got := other.run("cat-file", "blob", second+":empty"); got != "no" {
			t.Errorf("%q", got)
		}
		if err := there.Close(); err != nil || exists(there.dir) {
			t.Errorf("left behind: %v", err)
		}
		if other.run("for-each-ref", "refs/x") != "" || other.run("status", "--short") != "" {
			t.Error("a fetch shows in the repository")
		}
	}
}

// What an agent may write, the repository's configuration and hooks, does not say what runs when a remote is reached.
func TestRemoteRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	hub := &repo{t: t, dir: t.TempDir()}
	hub.run("init", "-q", "--bare")
	r := newRepo(t, map[string]string{"a.txt": "a\n"})
	evil := filepath.Join(r.dir, "evil")
	script := "sh -c 'touch " + evil + "; exit 1' "
	r.run("remote", "add", "origin", hub.dir)
	hooks := filepath.Join(r.dir, "hooks")
	for _, name := range []string{"pre-push", "reference-transaction", "post-merge"} {
		writeFile(t, filepath.Join(hooks, name), "#!/bin/sh\ntouch "+evil+"\n")
		if err := os.Chmod(filepath.Join(hooks, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range map[string]string{"core.hooksPath": hooks, "core.sshCommand": script, "credential.helper": "!" + script, "core.askPass": script,
		"remote.origin.uploadpack": script, "remote.origin.receivepack": script, "remote.origin.vcs": "evil", "core.gitProxy": script,
		"url." + "ext::" + script + ".insteadOf": hub.dir, "protocol.ext.allow": "always", "core.fsmonitor": script, "push.gpgSign": "true"} {
		r.run("config", key, value)
	}
	r.open(r.dir)
	m := r.remote()
	head, _ := r.Head(t.Context())
	if err := m.Push(t.Context(), "refs/x/one", "", head); err != nil {
		t.Errorf("push: %v", err)
	}
	if refs, err := m.Refs(t.Context(), "refs/x/"); err != nil || len(refs) != 1 {
		t.Errorf("%v %v", refs, err)
	}
	if err := m.Fetch(t.Context(), []string{"refs/x/one"}); err != nil {
		t.Errorf("fetch: %v", err)
	}
	if exists(evil) {
		t.Error("a program of the repository ran")
	}
	// A URL that is a program is refused; the user's own ssh is used.
	r.run("config", "remote.origin.url", "ext::"+script)
	r.open(r.dir)
	if _, err := r.remote().Refs(t.Context(), "refs/x/"); err == nil || !strings.Contains(err.Error(), "not allowed") {
		t.Errorf("%v", err)
	}
	mine := filepath.Join(r.dir, "mine")
	r.run("config", "remote.origin.url", "ssh://localhost/nothing")
	r.open(r.dir)
	if _, err := r.remote("GIT_SSH_COMMAND=touch "+mine+"; false").Refs(t.Context(), "refs/x/"); err == nil || !exists(mine) || exists(evil) {
		t.Errorf("%v", err)
	}
	r.run("config", "remote.origin.url", "--upload-pack="+script)
	r.open(r.dir)
	if _, err := r.remote().Refs(t.Context(), "refs/x/"); err == nil || exists(evil) {
		t.Errorf("%v", err)
	}
}

// A remote that is not there, and a repository without commits.
func TestRemoteRefuses(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a.txt": "a\n"})
	if _, err := r.OpenRemote(t.Context(), "origin", filepath.Join(r.dir, "remote.git"), nil); err == nil || !strings.Contains(err.Error(), `no remote "origin"`) {
		t.Errorf("%v", err)
	}
	empty := newRepo(t, nil)
	empty.run("remote", "add", "origin", r.dir)
	empty.open(empty.dir)
	if _, err := empty.OpenRemote(t.Context(), "origin", filepath.Join(empty.dir, "remote.git"), nil); err == nil || !strings.Contains(err.Error(), "no commit yet") {
		t.Errorf("%v", err)
	}
	if _, err := r.Contents(t.Context(), []string{strings.Repeat("0", 40)}); err == nil {
		t.Error("an object that is not there is read")
	}
	if got, err := r.Commit(t.Context(), "nothing"); got != "" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}
