package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	for _, name := range []string{"src/a.go", "README.md", "real/x", ".git/config"} {
		writeFile(t, filepath.Join(root, name), "x")
	}
	symlink(t, outside, filepath.Join(root, "out"))
	symlink(t, "real", filepath.Join(root, "in"))
	symlink(t, strings.Repeat("../", 20)+"etc/passwd", filepath.Join(root, "passwd"))
	symlink(t, "nowhere", filepath.Join(root, "broken"))
	symlink(t, ".git", filepath.Join(root, "dotgit"))
	for _, tt := range []struct {
		rel, want string
		err       error
	}{
		{"src/a.go", "src/a.go", nil},
		{"src/new/deep.go", "src/new/deep.go", nil},
		{"./src//b.go", "src/b.go", nil},
		{"in/x", "real/x", nil},
		{"in/new", "real/new", nil},
		{".gitignore", ".gitignore", nil},
		{"a..b/c", "a..b/c", nil},
		{"", "", ErrEscapes},
		{".", "", ErrEscapes},
		{"..", "", ErrEscapes},
		{"../x", "", ErrEscapes},
		{"src/../../x", "", ErrEscapes},
		{"/etc/passwd", "", ErrEscapes},
		{`C:\x`, "", ErrEscapes},
		{"c:x", "", ErrEscapes},
		{`src\..\..\x`, "", ErrEscapes},
		{"a\x00b", "", ErrEscapes},
		{"out/x", "", ErrEscapes},
		{"out", "", ErrEscapes},
		{"passwd", "", ErrEscapes},
		{".git/config", "", ErrEscapes},
		{".GIT/hooks/x", "", ErrEscapes},
		{"sub/.git/x", "", ErrEscapes},
		{"git~1/x", "", ErrEscapes},
		{".git./x", "", ErrEscapes},
		{"dotgit/config", "", ErrEscapes},
		{"SRC/a.go", "", ErrCollision},
		{"src/A.go", "", ErrCollision},
		{"readme.md", "", ErrCollision},
		{"broken", "", errSome},
		{"README.md/x", "", errSome},
	} {
		got, err := Resolve(root, tt.rel)
		switch {
		case tt.err == nil:
			if want := filepath.Join(root, tt.want); err != nil || got != want {
				t.Errorf("%q: got %s, %v; want %s", tt.rel, got, err, want)
			}
		case err == nil || tt.err != errSome && !errors.Is(err, tt.err):
			t.Errorf("%q: got %s, %v; want %v", tt.rel, got, err, tt.err)
		case !strings.Contains(err.Error(), ";"):
			t.Errorf("%q: no hint in %v", tt.rel, err)
		}
	}
}

var errSome = errors.New("any error")

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"a/b", "../x", "out/x", ".git/x", "in/../x", "\x00", "in/in/x"} {
		f.Add(s)
	}
	root, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	_ = os.Symlink(f.TempDir(), filepath.Join(root, "out"))
	_ = os.Symlink(".", filepath.Join(root, "in"))
	f.Fuzz(func(t *testing.T, rel string) {
		got, err := Resolve(root, rel)
		if err == nil && !strings.HasPrefix(got, root+string(filepath.Separator)) {
			t.Errorf("%q leads to %s", rel, got)
		}
	})
}
