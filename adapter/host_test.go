package adapter

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"
)

func TestHostName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ platform, in, want string }{
		{"linux", "/home/ann/.claude", "home/ann/.claude"},
		{"darwin", "/", "."},
		{"linux", "/a//b/../c/", "a/c"},
		{"linux", "//a", "a"},
		{"linux", "/..", "."},
		{"linux", "home", ""},
		{"linux", "", ""},
		{"windows", `C:\Users\ann\.claude`, "C:/Users/ann/.claude"},
		{"windows", `c:/Users\..\x`, "C:/x"},
		{"windows", `C:\`, "C:"},
		{"windows", `C:\..\..`, "C:"},
		{"windows", `\\server\share\a\b`, "UNC/server/share/a/b"},
		{"windows", `\\server\share`, "UNC/server/share"},
		{"windows", `\\server\share\..\..\x`, "UNC/server/share/x"},
		{"windows", `\\?\C:\x`, "C:/x"},
		{"windows", `\\?\UNC\server\share\x`, "UNC/server/share/x"},
		{"windows", `\\server`, ""},
		{"windows", `\\..\share\x`, ""},
		{"windows", `C:x`, ""},
		{"windows", `\x`, ""},
		{"windows", `x`, ""},
	} {
		got, err := Host{Platform: c.platform}.Name(c.in)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: Name(%q) = %q, %v, want %q", c.platform, c.in, got, err, c.want)
		}
	}
}

// FuzzHostName holds Name to names that an fs.FS takes.
func FuzzHostName(f *testing.F) {
	for _, s := range []string{"/a/b", `C:\a\..\b`, `\\server\share\x`, `\\?\UNC\a\b\..`, "/..//", `\\a\..\b`} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, p string, windows bool) {
		h := Host{Platform: "linux"}
		if windows {
			h.Platform = "windows"
		}
		if name, err := h.Name(p); err == nil && utf8.ValidString(p) && !fs.ValidPath(name) {
			t.Fatalf("%s: Name(%q) = %q, which is not a valid name", h.Platform, p, name)
		}
	})
}

func TestVolumeFS(t *testing.T) {
	t.Parallel()
	volumes := map[string]fstest.MapFS{
		`C:\`:             {"Users/ann/x": {Data: []byte("c")}},
		`\\server\share\`: {"y": {Data: []byte("s")}},
	}
	v := volumeFS{open: func(root string) fs.FS {
		if m, ok := volumes[root]; ok {
			return m
		}
		return emptyFS{}
	}}
	for name, want := range map[string]string{"C:/Users/ann/x": "c", "UNC/server/share/y": "s"} {
		if got, err := fs.ReadFile(v, name); err != nil || string(got) != want {
			t.Errorf("ReadFile(%s) = %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"C:", "C:/Users", "UNC/server/share"} {
		if list, err := fs.ReadDir(v, name); err != nil || len(list) != 1 {
			t.Errorf("ReadDir(%s) = %v, %v, want one entry", name, list, err)
		}
	}
	for name, want := range map[string]error{".": fs.ErrNotExist, "Users": fs.ErrNotExist, "UNC": fs.ErrNotExist, "UNC/server": fs.ErrNotExist,
		"D:/x": fs.ErrNotExist, "C:/no": fs.ErrNotExist, "C:/../x": fs.ErrInvalid, "/C:": fs.ErrInvalid, `C:/Users\ann`: fs.ErrInvalid} {
		_, err := v.Open(name)
		var pe *fs.PathError
		if !errors.Is(err, want) || !errors.As(err, &pe) || pe.Path != name {
			t.Errorf("Open(%s): %v, want %v with the name", name, err, want)
		}
	}
}

func TestOSHost(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	t.Setenv("DRAWBAR_HOST_TEST", "here")
	t.Setenv("PATH", dir)
	program := "agent"
	if runtime.GOOS == "windows" {
		program = "agent.exe"
	}
	file := filepath.Join(dir, program)
	write := func(name string, mode fs.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(program, 0o755)
	write("data", 0o644)

	h := OSHost(func(_ context.Context, c SpawnRequest) (SpawnOutcome, error) {
		return SpawnOutcome{Stdout: c.Command}, nil
	})
	if h.Home != dir || h.Platform != runtime.GOOS || h.Getenv("DRAWBAR_HOST_TEST") != "here" {
		t.Errorf("home %q, platform %q, variable %q", h.Home, h.Platform, h.Getenv("DRAWBAR_HOST_TEST"))
	}
	name, err := h.Name(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := fs.ReadFile(h.FS, name); err != nil || string(got) != "x" {
		t.Errorf("ReadFile(%s) = %q, %v", name, got, err)
	}
	if got, err := h.LookPath("agent"); err != nil || got != file {
		t.Errorf("LookPath = %q, %v, want %q", got, err, file)
	}
	if _, err := h.LookPath("absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("LookPath of nothing: %v", err)
	}
	if runtime.GOOS != "windows" {
		if _, err := h.LookPath("data"); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "chmod +x") {
			t.Errorf("LookPath of a file that is not a program: %v", err)
		}
		t.Chdir(dir)
		if got, err := h.LookPath("./agent"); err != nil || got != file {
			t.Errorf("LookPath of a relative path = %q, %v, want %q", got, err, file)
		}
		if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := h.LookPath("folder"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("LookPath of a folder: %v", err)
		}
	}
	if out, err := h.Spawn(t.Context(), SpawnRequest{Command: "c"}); err != nil || out.Stdout != "c" {
		t.Errorf("Spawn = %v, %v", out, err)
	}
	if _, err := OSHost(nil).Spawn(t.Context(), SpawnRequest{Command: "c"}); err == nil {
		t.Error("Spawn without a spawner does not fail")
	}
}

func TestHomeIsAbsolute(t *testing.T) {
	for _, value := range []string{"", "relative"} {
		t.Setenv("HOME", value)
		t.Setenv("USERPROFILE", value)
		if got := home(); !filepath.IsAbs(got) {
			t.Errorf("with HOME=%q home is %q, want an absolute path", value, got)
		}
	}
}

func TestHostComplete(t *testing.T) {
	t.Parallel()
	h := Host{}.Complete()
	if _, err := h.FS.Open("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open: %v", err)
	}
	if _, err := h.LookPath("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("LookPath: %v", err)
	}
	if _, err := h.Spawn(t.Context(), SpawnRequest{}); err == nil {
		t.Error("Spawn does not fail")
	}
	if h.Getenv("HOME") != "" || h.Platform != runtime.GOOS {
		t.Errorf("Getenv %q, platform %q", h.Getenv("HOME"), h.Platform)
	}
}
