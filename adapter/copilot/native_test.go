package copilot

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// tree makes files, those below bin as links to what they name.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestNative: the script that npm installs passes no signal on, so what it would start is started itself.
func TestNative(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: links need a privilege on Windows")
	}
	const script = "lib/node_modules/@github/copilot/npm-loader.js"
	for _, tc := range []struct {
		name, goos, arch string
		files            []string
		found, want      string
	}{
		{"beside", "linux", "amd64", []string{script, "lib/node_modules/@github/copilot-linux-x64/copilot"}, "link", "lib/node_modules/@github/copilot-linux-x64/copilot"},
		{"inside", "darwin", "arm64", []string{script, "lib/node_modules/@github/copilot/node_modules/@github/copilot-darwin-arm64/copilot"}, "link",
			"lib/node_modules/@github/copilot/node_modules/@github/copilot-darwin-arm64/copilot"},
		{"musl", "linux", "amd64", []string{script, "lib/node_modules/@github/copilot-linuxmusl-x64/copilot"}, "link", "lib/node_modules/@github/copilot-linuxmusl-x64/copilot"},
		{"both libraries: the script knows", "linux", "amd64", []string{script, "lib/node_modules/@github/copilot-linux-x64/copilot", "lib/node_modules/@github/copilot-linuxmusl-x64/copilot"}, "link", "link"},
		{"another architecture", "linux", "arm64", []string{script, "lib/node_modules/@github/copilot-linux-x64/copilot"}, "link", "link"},
		{"no package", "linux", "amd64", []string{script}, "link", "link"},
		{"native already", "linux", "amd64", []string{"bin/copilot"}, "bin/copilot", "bin/copilot"},
		{"windows", "windows", "amd64", []string{"copilot.cmd", "node_modules/@github/copilot/npm-loader.js", "node_modules/@github/copilot-win32-x64/copilot.exe"}, "copilot.cmd", "node_modules/@github/copilot-win32-x64/copilot.exe"},
		{"windows, local", "windows", "amd64", []string{"node_modules/.bin/copilot.cmd", "node_modules/@github/copilot/npm-loader.js", "node_modules/@github/copilot-win32-x64/copilot.exe"}, "node_modules/.bin/copilot.cmd", "node_modules/@github/copilot-win32-x64/copilot.exe"},
		{"windows, native already", "windows", "amd64", []string{"copilot.exe"}, "copilot.exe", "copilot.exe"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			root := tree(t, tc.files...)
			if tc.found == "link" {
				if err := os.Symlink(filepath.Join(root, script), filepath.Join(root, "link")); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := nativeFor(filepath.Join(root, tc.found), tc.goos, tc.arch), filepath.Join(root, tc.want); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	root := tree(t, script, "lib/node_modules/@github/copilot-linux-x64/copilot")
	if err := os.Chmod(filepath.Join(root, "lib/node_modules/@github/copilot-linux-x64/copilot"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := nativeFor(filepath.Join(root, script), "linux", "amd64"); got != filepath.Join(root, script) {
		t.Errorf("a file that cannot be executed was taken: %s", got)
	}
}
