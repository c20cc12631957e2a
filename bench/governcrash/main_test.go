package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestFiftyKills is the bench in small, with moments that are the same every time as far as a machine allows.
func TestFiftyKills(t *testing.T) {
	if runtime.GOOS == "windows" || testing.Short() {
		t.Skip("SKIPPED: needs a shell and some ten seconds")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not there")
	}
	dir := t.TempDir()
	drawbar := filepath.Join(dir, "drawbar")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", drawbar, "../../cmd/drawbar")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	got, err := run(t.Context(), options{drawbar: drawbar, kills: 50, every: 25, seed: 20, dir: filepath.Join(dir, "projects"), out: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	if got.running < 25 || got.resume == 0 || got.accepted < 50 {
		t.Errorf("the kills hit nothing: %s", got)
	}
}
