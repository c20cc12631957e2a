package lookpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	unix := search{path: "/usr/bin::.:rel/bin:/opt/bin/:/last"}
	windows := search{windows: true, path: `C:\bin;"D:\my tools";rel;\drive;\\srv\share`, extensions: ".EXE;;cmd"}
	for _, c := range []struct {
		name string
		l    search
		have map[string]error
		ask  string
		want string
		err  error
	}{
		{"found", unix, map[string]error{"/opt/bin/x": nil}, "x", "/opt/bin/x", nil},
		{"first wins", unix, map[string]error{"/usr/bin/x": nil, "/last/x": nil}, "x", "/usr/bin/x", nil},
		{"not executable, then executable", unix, map[string]error{"/usr/bin/x": fs.ErrPermission, "/last/x": nil}, "x", "/last/x", nil},
		{"not executable", unix, map[string]error{"/usr/bin/x": fs.ErrPermission}, "x", "", fs.ErrPermission},
		{"relative elements passed over", unix, map[string]error{"x": nil, "./x": nil, "rel/bin/x": nil}, "x", "", fs.ErrNotExist},
		{"path given", unix, map[string]error{"./x": nil}, "./x", "./x", nil},
		{"path given, missing", unix, nil, "/a/x", "", fs.ErrNotExist},
		{"path given, not executable", unix, map[string]error{"/a/x": fs.ErrPermission}, "/a/x", "", fs.ErrPermission},
		{"empty", unix, nil, "", "", fs.ErrInvalid},
		{"NUL", unix, nil, "a\x00b", "", fs.ErrInvalid},
		{"no PATH", search{}, map[string]error{"x": nil, "/x": nil}, "x", "", fs.ErrNotExist},
		{"windows extension", windows, map[string]error{`D:\my tools\x.cmd`: nil}, "x", `D:\my tools\x.cmd`, nil},
		{"windows extension given", windows, map[string]error{`C:\bin\x.Exe`: nil}, "x.Exe", `C:\bin\x.Exe`, nil},
		{"windows share", windows, map[string]error{`\\srv\share\x.exe`: nil}, "x", `\\srv\share\x.exe`, nil},
		{"windows without extension", windows, map[string]error{`C:\bin\x`: nil}, "x", "", fs.ErrNotExist},
		{"windows relative", windows, map[string]error{`rel\x.exe`: nil, `\drive\x.exe`: nil}, "x", "", fs.ErrNotExist},
		{"windows path given", windows, map[string]error{`.\x.exe`: nil}, `.\x`, `.\x.exe`, nil},
		{"where an installer put it", search{path: "/usr/bin", home: "/home/ann"}, map[string]error{"/home/ann/.x/local/x": nil}, "x", "/home/ann/.x/local/x", nil},
		{"PATH before it", search{path: "/usr/bin", home: "/home/ann"}, map[string]error{"/home/ann/.local/bin/x": nil, "/usr/bin/x": nil}, "x", "/usr/bin/x", nil},
		{"relative home", search{path: "/usr/bin", home: "ann"}, map[string]error{"ann/.local/bin/x": nil}, "x", "", fs.ErrNotExist},
		{"windows, where an installer put it", search{windows: true, home: `C:\Users\ann`, extensions: ".exe"},
			map[string]error{`C:\Users\ann\.local\bin\x.exe`: nil}, "x", `C:\Users\ann\.local\bin\x.exe`, nil},
		{"windows default extensions", search{windows: true, path: `C:\bin`}, map[string]error{`C:\bin\x.bat`: nil}, "x", `C:\bin\x.bat`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.l.check = func(file string) error {
				if err, ok := c.have[file]; ok {
					return err
				}
				return fs.ErrNotExist
			}
			got, err := c.l.find(c.ask)
			if got != c.want || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("find(%q) = %q, %v, want %q, %v", c.ask, got, err, c.want, c.err)
			}
		})
	}
}

// TestPrefixed: programs are found in the order of PATH, sorted within a folder, without those that cannot run.
func TestPrefixed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		l    search
		have map[string][]string // names by folder
		want string
	}{
		{"order", search{path: "/b:/a/:/none"}, map[string][]string{"/b/": {"p-z", "p-a", "q"}, "/a/": {"p-b"}}, "p-a=/b/p-a p-z=/b/p-z p-b=/a/p-b"},
		{"relative elements", search{path: "rel::.:/a"}, map[string][]string{"rel/": {"p-x"}, "": {"p-y"}, "./": {"p-w"}, "/a/": {"p-b"}}, "p-b=/a/p-b"},
		{"not executable", search{path: "/a"}, map[string][]string{"/a/": {"p-b.text", "p-c"}}, "p-c=/a/p-c"},
		{"windows", search{windows: true, path: `C:\bin`, extensions: ".EXE;.cmd"}, map[string][]string{`C:\bin\`: {"p-a.exe", "p-b.txt", "p-c.CMD", "p-d"}},
			`p-a=C:\bin\p-a.exe p-c=C:\bin\p-c.CMD`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.l.check = func(file string) error {
				if strings.HasSuffix(file, ".text") {
					return fs.ErrPermission
				}
				return nil
			}
			var got []string
			for _, p := range c.l.prefixed("p-", func(dir string) []string { return c.have[dir] }) {
				got = append(got, p.Name+"="+p.Path)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestIn(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes decide here, names there")
	}
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"a/tool": 0o600, "b/tool": 0o700, "b/dir/x": 0o700, "c/only": 0o600} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	join := func(parts ...string) string { return strings.Join(parts, string(filepath.ListSeparator)) }
	a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(cwd, b)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, command, path, dir, want string
		err                            error
	}{
		{name: "passes by what it may not run", command: "tool", path: join(a, b), want: filepath.Join(b, "tool")},
		{name: "nothing it may run", command: "only", path: join(a, c), err: fs.ErrPermission},
		{name: "a directory", command: "dir", path: b, err: fs.ErrNotExist},
		{name: "not there", command: "nothing", path: join(a, b, filepath.Join(dir, "nowhere")), err: fs.ErrNotExist},
		{name: "no relative entries", command: "tool", path: join("", ".", relative), dir: b, err: fs.ErrNotExist},
		{name: "empty path", command: "tool", err: fs.ErrNotExist},
		{name: "absolute", command: filepath.Join(b, "tool"), path: "/x", want: filepath.Join(b, "tool")},
		{name: "relative to the working directory", command: "./tool", dir: b, want: filepath.Join(b, "tool")},
		{name: "absolute but missing", command: filepath.Join(b, "tool", "x"), err: fs.ErrNotExist},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := In([]string{"PATH=/never", "PATH=" + tt.path}, tt.dir, tt.command)
			if tt.err != nil {
				if !errors.Is(err, tt.err) && !(tt.err == fs.ErrNotExist && IsNotExist(err)) {
					t.Errorf("got %q, %v, want %v", got, err, tt.err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
