package adapter

import (
	"errors"
	"io/fs"
	"runtime"
	"testing"
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
