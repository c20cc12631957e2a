//go:build unix

package project

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipesBlockNothing: a pipe in the place of a file is missing, and nobody waits for its writer.
func TestPipesBlockNothing(t *testing.T) {
	t.Parallel()
	root := sealed(t)
	for _, name := range []string{"PROMPT.md", "MANIFEST.json"} {
		os.Remove(bundlePath(root, name))
		if err := syscall.Mkfifo(bundlePath(root, name), 0o600); err != nil {
			t.Skip(err)
		}
		want := map[string]string{"PROMPT.md": "missing_file", "MANIFEST.json": "missing_manifest"}[name]
		if _, faults := VerifyBundle(root, turn); len(faults) != 1 || faults[0].Type != want {
			t.Errorf("%s: %+v", name, faults)
		}
	}
	in := turnOf(t, "qa")
	work := fullProject(t)
	os.Remove(filepath.Join(work, "src", "a.go"))
	if err := syscall.Mkfifo(filepath.Join(work, "src", "a.go"), 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Gather(work, "", &in); err != nil || in.Files["src/a.go"].Present {
		t.Errorf("%+v, %v", in.Files["src/a.go"], err)
	}
}
