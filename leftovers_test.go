package drawbar_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// TestRemoveLeftovers: private folders of ended runs go, those of others and of unknown runs stay.
func TestRemoveLeftovers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	state := t.TempDir()
	c := client(t, drawbar.Options{StateDir: state, DefaultAgent: "echo"})
	run, err := c.Run(t.Context(), execution.Request{Message: execution.Message{Text: "hello"}}, drawbar.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = client(t, drawbar.Options{StateDir: state})
	folder := func(name string) string {
		dir := filepath.Join(os.TempDir(), name)
		if err := os.MkdirAll(filepath.Join(dir, "in"), 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	dead := folder("drawbar-" + string(run.ID()) + "-0123456789abcdef")
	stay := []string{folder("drawbar-" + string(agent.NewRunID()) + "-0123456789abcdef"), folder("drawbar-" + string(run.ID())), folder("other"),
		folder("drawbar-" + string(run.ID()) + "-short")}
	removed, err := c.RemoveLeftovers()
	if err != nil || len(removed.Dirs) != 1 || removed.Dirs[0] != dead || len(removed.Ended) != 0 {
		t.Errorf("removed %v, %v", removed, err)
	}
	if _, err := os.Lstat(dead); !os.IsNotExist(err) {
		t.Error("the folder is left")
	}
	for _, dir := range stay {
		if _, err := os.Lstat(dir); err != nil {
			t.Error(err)
		}
	}
}

// TestRunIDIsUsedOnce: the id of a run on record is refused, before anything starts.
func TestRunIDIsUsedOnce(t *testing.T) {
	c := client(t, drawbar.Options{DefaultAgent: "echo"})
	req := execution.Request{Message: execution.Message{Text: "hello"}, Run: execution.RunOptions{RunID: agent.NewRunID()}}
	if c.Recorded(req.Run.RunID) {
		t.Error("a run that never was is recorded")
	}
	run, err := c.Run(t.Context(), req, drawbar.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Result(t.Context()); err != nil || !c.Recorded(run.ID()) {
		t.Error("not recorded", err)
	}
	if _, err := c.Run(t.Context(), req, drawbar.RunOptions{}); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("got %v", err)
	}
}
