//go:build unix

package workspace

import (
	"errors"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRemoteOverHTTP: a remote behind a login is reached with what the user's own configuration knows, and a moved ref is seen there too. Without a
// login nobody is asked, and no message has the password of a URL.
func TestRemoteOverHTTP(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	hub := &repo{t: t, dir: filepath.Join(root, "hub.git")}
	hub.runIn(root, nil, "init", "-q", "--bare", hub.dir)
	hub.run("config", "http.receivepack", "true")
	backend := &cgi.Handler{Path: git, Args: []string{"http-backend"}, Env: append(gitEnv(root), "GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1")}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name != "ann" || password != "s3cret-of-ann" {
			w.Header().Set("WWW-Authenticate", `Basic realm="hub"`)
			http.Error(w, "log in", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	defer s.Close()
	url := s.URL + "/hub.git"
	at := func(url, helper string) (*repo, *Remote) {
		r := newRepo(t, map[string]string{"a.txt": "a\n"})
		r.run("remote", "add", "origin", url)
		writeFile(t, filepath.Join(r.dir, "gitconfig"), "[credential]\n\thelper = "+helper+"\n")
		r.open(r.dir, "GIT_CONFIG_GLOBAL="+filepath.Join(r.dir, "gitconfig"))
		return r, r.remote()
	}
	const helper = `"!f() { echo username=ann; echo password=s3cret-of-ann; }; f"`
	r, m := at(url, helper)
	other, there := at(strings.Replace(url, "http://", "http://ann:s3cret-of-ann@", 1), "")
	const ref = "refs/x/one"
	write := func(m *Remote, message string) string {
		c, err := m.Write(t.Context(), Draft{Time: time.Unix(1e9, 0), Message: message, Files: map[string][]byte{"f": []byte(message)}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := write(m, "one\n")
	if err := m.Push(t.Context(), ref, "", first); err != nil {
		t.Fatal(err)
	}
	if err := there.Push(t.Context(), ref, "", write(there, "two\n")); !errors.Is(err, ErrRefMoved) {
		t.Errorf("%v", err)
	}
	if refs, err := there.Refs(t.Context(), "refs/x/"); err != nil || refs[ref] != first {
		t.Fatalf("%v %v", refs, err)
	}
	if err := there.Fetch(t.Context(), []string{ref}); err != nil || other.run("cat-file", "blob", first+":f") != "one" {
		t.Errorf("%v", err)
	}
	if second := write(m, "three\n"); m.Push(t.Context(), ref, first, second) != nil || r.run("ls-remote", hub.dir, ref) != second+"\t"+ref {
		t.Errorf("%s", r.run("ls-remote", hub.dir))
	}

	for name, at := range map[string]func() (*repo, *Remote){
		"nobody": func() (*repo, *Remote) { return at(url, "") },
		"wrong password": func() (*repo, *Remote) {
			return at(strings.Replace(url, "http://", "http://ann:s3cret-of-bob@", 1), "")
		},
		"no such server": func() (*repo, *Remote) { return at("http://ann:s3cret-of-bob@127.0.0.1:1/hub.git", "") },
	} {
		r, m := at()
		_, refs := m.Refs(t.Context(), "refs/x/")
		for _, err := range []error{refs, m.Fetch(t.Context(), []string{ref}), m.Push(t.Context(), ref, "", r.run("rev-parse", "HEAD"))} {
			if err == nil || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
