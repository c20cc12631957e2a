package oshost

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

	"github.com/drawbar/drawbar/adapter"
)

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
		return fstest.MapFS{}
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

func TestNew(t *testing.T) {
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

	h := New(func(_ context.Context, c adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
		return adapter.SpawnOutcome{Stdout: c.Command}, nil
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
	if out, err := h.Spawn(t.Context(), adapter.SpawnRequest{Command: "c"}); err != nil || out.Stdout != "c" {
		t.Errorf("Spawn = %v, %v", out, err)
	}
	if _, err := New(nil).Spawn(t.Context(), adapter.SpawnRequest{Command: "c"}); err == nil {
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
